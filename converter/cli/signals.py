"""Signals that end the command: interrupt, terminate and hang-up remove what is temporary, and set the exit status."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

#: The shell's convention for a process that a signal ended: this plus its number.
SIGNALLED = 128

#: Whether one has come: a second one does not wait for what the first one has begun.
_ending = False


def end(number: int, _frame: FrameType | None) -> NoReturn:
    """Handle a signal: an exception, so that what is open is closed on the way out.

    Raises:
        KeyboardInterrupt: it is SIGINT.
        SystemExit: any other, with its exit status.

    """
    global _ending  # noqa: PLW0603 - of the process, as signals are
    if _ending:
        from converter.storage.writing.placing import remove_temporary

        remove_temporary()
        os._exit(SIGNALLED + number)
    _ending = True
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(SIGNALLED + number)


def end_quietly() -> None:
    """Have an interrupt that comes outside of `handled` end the process without a traceback, as other signals do."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def handled() -> Iterator[None]:
    """Have `end` handle them meanwhile, where that is possible: in the main thread.

    What is ignored stays ignored, as `nohup` and shells without job control have it.
    """
    global _ending  # noqa: PLW0603
    _ending = False
    previous = {}
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
