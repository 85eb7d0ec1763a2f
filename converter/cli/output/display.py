"""A progress bar, drawn by rich."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)


class Display:
    """Progress on standard error: fraction of the input, events, events per second, time left. A context manager."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[events]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("converting", total=None, events="")

    def update(self, done: int, total: int, events: int, seconds: float) -> None:
        """Show `done` of `total` bytes (0: unknown) and the number of events so far."""
        text = f"{events:,} events, {events / seconds:,.0f}/s"
        self._progress.update(
            self._task,
            description="converting",
            completed=done,
            total=total or None,
            events=text,
        )

    def fetched(self, size: int) -> None:
        """Show that `size` bytes of an input have arrived, and that it cannot be read yet."""
        self._progress.update(self._task, description="fetching", events=f"{size:,} bytes")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
