"""Progress on a terminal, for work that takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Protocol, Self

from converter.ir.events import Batch
from converter.ir.trace import Trace

#: Shorter work is done before anybody wonders.
_PATIENCE = 1.0


class Progress:
    """Counts the batches that pass through a trace; shows them on standard error if that is a terminal.

    A context manager; the display is gone when it is left.
    """

    def __init__(self, *, shown: bool) -> None:
        self.events = 0
        self._shown = shown and sys.stderr.isatty()
        self._started = time.monotonic()
        self._stack = ExitStack()
        self._display: _Display | None = None

    def watch(self, trace: Trace) -> None:
        """Count the batches of this trace from now on."""
        make_batches, is_as_read = trace.make_batches, trace.is_as_read

        def counted() -> Iterator[Batch]:
            self.events = 0
            for batch in make_batches():
                yield batch
                # Only now is the batch written.
                self.events += len(batch)
                if self._shown and self.seconds > _PATIENCE:
                    self._show(trace)

        # In place, since a reader may change its trace while it reads.
        trace.make_batches = counted
        if is_as_read:
            trace.source_batches = counted

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._started

    def _show(self, trace: Trace) -> None:
        if self._display is None:
            self._display = self._stack.enter_context(_display())
        done, total = trace.progress() if trace.progress is not None else (0, 0)
        self._display.update(done, total, self.events, self.seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._shown = False
        self._stack.close()


class _Display(Protocol):
    def update(self, done: int, total: int, events: int, seconds: float) -> None:
        """Show `done` of `total` bytes (0: unknown) and how many events that was."""


def _display() -> AbstractContextManager[_Display]:
    # Imported only when there is something to show: it takes longer than many a conversion.
    from converter.cli.display import Display

    return Display()
