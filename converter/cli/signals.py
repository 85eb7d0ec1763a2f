"""Signals that end the command: interrupt, terminate and hang-up remove temporary files, and set the exit status."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

from converter.storage.interrupts import begin, is_done, stream_is_ended, wait

#: The shell's convention for a process that a signal ended: this plus its number.
SIGNALLED = 128

#: Seconds after which a signal is sent again.
_LATER = 0.005

#: True once a signal has arrived: a second one does not wait for what the first one has started.
_ending = False


def end(number: int, _frame: FrameType | None) -> None:
    """Handle a signal by an exception, so that open files are closed on the way out.

    While an output gets its name, the handler waits; after the last one has it, the process ends with success. The
    first interrupt ends an input that is still being written, and what was read of it is converted.

    Raises:
        KeyboardInterrupt: it is SIGINT.
        SystemExit: any other, with its exit status.

    """
    global _ending  # noqa: PLW0603 - signals are per process
    if wait(partial(end, number, None)) or (number == signal.SIGINT and stream_is_ended()):
        return
    if _ending or is_done():
        from converter.storage.writing.placing import remove_temporary

        remove_temporary()
        os._exit(0 if is_done() else SIGNALLED + number)
    _ending = True
    if number == signal.SIGINT:
        raise Interrupted(number)
    raise Ended(number)


class Interrupted(KeyboardInterrupt):
    """SIGINT, as an exception."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class Ended(SystemExit):
    """Any other signal, as an exception."""

    def __init__(self, number: int) -> None:
        super().__init__(SIGNALLED + number)
        self.number = number


def _send_again(
    hook: Callable[[sys.UnraisableHookArgs], object], unraised: sys.UnraisableHookArgs
) -> None:
    """Send a signal again whose exception Python ignores, as it was raised where an object is finalized."""
    global _ending  # noqa: PLW0603
    error = unraised.exc_value
    if not isinstance(error, Interrupted | Ended):
        hook(unraised)
        return
    # Not from here, where the exception would be ignored, too. `Thread.start` would wait, and be interrupted.
    _thread.start_new_thread(_send, (error.number,))
    _ending = False


def _send(number: int) -> None:
    time.sleep(_LATER)
    os.kill(os.getpid(), number)


def end_quietly() -> None:
    """Make an interrupt outside of `handled` end the process without a traceback, as other signals do."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def handled() -> Iterator[None]:
    """Handle signals with `end` in this context, where that is possible: in the main thread.

    Ignored signals stay ignored, as `nohup` and shells without job control set them.
    """
    global _ending  # noqa: PLW0603
    _ending = False
    begin()
    previous = {}
    hook = sys.unraisablehook
    sys.unraisablehook = partial(_send_again, hook)
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is None or signal.getsignal(number) == signal.SIG_IGN:
            continue
        try:
            previous[number] = signal.signal(number, end)
        except ValueError:
            break
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
