"""The commit point of outputs: a signal never comes between an output getting its name and the report that it has.

The command handles signals by exceptions, which only its main thread raises. What must not be undone by one runs in
`uninterrupted`; the signal's handler leaves itself to `wait` then, and is called when that is over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final


class _State:
    """The blocks that the main thread is in, and the handler that waits for their end."""

    blocks = 0
    waiting: Callable[[], object] | None = None
    #: Ends the stream that is read while it is being written.
    end_stream: Callable[[], bool] | None = None
    #: True if the next output that gets its name is the last of the process, and once it has it.
    expects_last = False
    is_done = False


_state: Final = _State()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let handlers of signals wait until the block ends, if this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _state.blocks += 1
    try:
        yield
    finally:
        _state.blocks -= 1
        if not _state.blocks:
            handler, _state.waiting = _state.waiting, None
            if handler is not None:
                handler()


def wait(handler: Callable[[], object]) -> bool:
    """Have a handler called when the main thread may be interrupted; return False if that is now."""
    if not _state.blocks:
        return False
    _state.waiting = handler
    return True


def ends_with_stream(end: Callable[[], bool]) -> None:
    """Have the next interrupt end a stream; `end` returns False if it has ended."""
    _state.end_stream = end


def stream_is_ended() -> bool:
    """End the stream that is being read; return False if there is none."""
    end, _state.end_stream = _state.end_stream, None
    return end is not None and end()


def expect_last() -> None:
    """Announce that the process has done its work once the next output has its name."""
    _state.expects_last, _state.is_done = True, False


def placed() -> None:
    """Report that an output has its name."""
    _state.is_done = _state.expects_last


def is_done() -> bool:
    """Return True if the last output has its name: a signal is no failure any more."""
    return _state.is_done


def begin() -> None:
    """Forget what earlier work of this process has announced."""
    _state.expects_last = _state.is_done = False
    _state.end_stream = None
