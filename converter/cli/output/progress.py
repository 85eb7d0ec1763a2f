"""Progress on a terminal, for work that takes longer than a second."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Protocol, Self

from converter.cli.output import messages
from converter.ir.trace import Trace

#: Shorter work needs no display.
_PATIENCE = 1.0


class Progress:
    """Counts the batches of a trace that pass through; shows progress on standard error if that is a terminal.

    A context manager; the display is removed when it is left.
    """

    def __init__(self, *, shown: bool) -> None:
        self.events = 0
        #: True once a pass over the batches has started: files that are copied are not read.
        self.is_counted = False
        self._reported = shown
        self._shown = shown and sys.stderr is not None and sys.stderr.isatty()
        self._started = time.monotonic()
        self._stack = ExitStack()
        self._display: _Display | None = None
        self._watched: Trace | None = None

    def look_through(self, trace: Trace) -> None:
        """Show the progress of the prescan of an input, before batches are counted."""

        def passed(events: int) -> None:
            if events and self._watched is None:
                self._show_late(trace, events)

        trace.watch(passed)

    def watch(self, trace: Trace) -> None:
        """Count the batches of this trace from now on."""
        self._watched = trace

        def passed(events: int) -> None:
            self.events = events
            self.is_counted = True
            if events:
                self._show_late(trace, events)

        trace.watch(passed)

    def watch_transfers(self) -> None:
        """Show, and report at the end, that inputs are fetched completely."""
        from converter.storage.transfers import watched  # not needed for local inputs

        self._stack.enter_context(watched(self._fetched))

    def _fetched(self, name: str, size: int, complete: bool) -> None:
        if complete and self._reported:
            messages.note(f"{name}: given only as a whole: {size:,} bytes were fetched first")
        if self._shown and self.seconds > _PATIENCE:
            self._display = self._display or self._stack.enter_context(_display())
            self._display.fetched(size)

    @property
    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self._started

    def _show_late(self, trace: Trace, events: int) -> None:
        if self._shown and self.seconds > _PATIENCE:
            self._show(trace, events)

    def _show(self, trace: Trace, events: int) -> None:
        if self._display is None:
            self._display = self._stack.enter_context(_display())
        done, total = trace.progress() if trace.progress is not None else (0, 0)
        self._display.update(done, total, events, self.seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._shown = False
        # A terminal that has gone does not change the result.
        with suppress(OSError):
            self._stack.close()


class _Display(Protocol):
    def update(self, done: int, total: int, events: int, seconds: float) -> None:
        """Show `done` of `total` bytes (0: unknown) and the number of events so far."""

    def fetched(self, size: int) -> None:
        """Show that `size` bytes of an input have arrived, and that it cannot be read yet."""


def _display() -> AbstractContextManager[_Display]:
    # Imported only when there is something to show: importing takes longer than many conversions.
    from converter.cli.output.display import Display

    return Display()
