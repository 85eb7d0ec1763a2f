"""The first events of a trace, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from converter.errors.terminal import printable
from converter.ir.columns import value
from converter.ir.display.text import json_fields, text_of_fields
from converter.ir.events import Batch, EventClass, class_label
from converter.ir.trace import ClockDomain, Thread, Trace


def first_events(trace: Trace, count: int) -> Iterator[Event]:
    """Yield the first `count` events; batches after theirs are not read.

    Raises:
        TraceError: as `Trace.batches` does.

    """
    if count == 0:
        return
    for batch in trace.batches():
        describe = trace.describe(batch) if trace.describe is not None else None
        for position in range(min(count, len(batch))):
            yield Event(trace, batch, position, describe)
        count -= len(batch)
        if count <= 0:
            return


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a batch. `describe` returns the text that its source has for it."""

    trace: Trace
    batch: Batch
    position: int
    describe: Callable[[int], str | None] | None

    def line(self) -> str:
        """Return time, CPU, thread or track, class and text, on one line."""
        cpu = self._cpu
        return (
            f"{self._time():>16} [{'---' if cpu is None else f'{cpu:03}'}] "
            f"{printable(self._track_or_thread()):<20} {printable(class_label(self._class))}: {self._text()}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON; None for what the event does not have."""
        thread = self._thread
        return {
            "ts": self._ts,
            "cpu": self._cpu,
            "pid": None if thread is None else self.trace.processes[thread.process].pid,
            "tid": None if thread is None else thread.tid,
            "comm": None if thread is None else self._comm(thread),
            "track": self._track,
            "class": class_label(self._class),
            "kind": self._class.kind.name.lower(),
            "fields": json_fields(self._class.fields, self._values()),
            "text": self._text(),
        }

    @property
    def _class(self) -> EventClass:
        return self.trace.event_classes[int(self.batch.class_id[self.position])]

    @property
    def _ts(self) -> int | None:
        return int(self.batch.ts[self.position]) if self._class.timed else None

    @property
    def _cpu(self) -> int | None:
        number = int(self.batch.cpu[self.position])
        return number if number >= 0 else None

    @property
    def _thread(self) -> Thread | None:
        number = int(self.batch.thread[self.position])
        return self.trace.threads[number] if number >= 0 else None

    @property
    def _track(self) -> str | None:
        number = int(self.batch.track[self.position])
        return self.trace.tracks[number].name if number >= 0 else None

    def _time(self) -> str:
        return "-" if self._ts is None else seconds(self._ts, self.trace.clock)

    def _track_or_thread(self) -> str:
        thread = self._thread
        if thread is None:
            return self._track or "-"
        return f"{self._comm(thread) or '<...>'}-{thread.tid}"

    def _comm(self, thread: Thread) -> str:
        return thread.name or self.trace.processes[thread.process].name

    def _text(self) -> str:
        own = None if self.describe is None else self.describe(self.position)
        if own is not None:
            return printable(own)
        return text_of_fields(self._class.fields, self._values(), self.trace.symbols)

    def _values(self) -> list[Any]:
        table = self.batch.tables[int(self.batch.class_id[self.position])]
        row = int(self.batch.row[self.position])
        return [
            value(table.column(index), field.type, row, self.trace.strings)
            for index, field in enumerate(self._class.fields)
        ]


def seconds(ts: int, clock: ClockDomain) -> str:
    """Format a time in seconds with nanoseconds, truncated; in ticks if their length is unknown."""
    rate = clock.ticks_per_second
    if rate is None:
        return str(ts)
    nanoseconds = abs(ts) * 10**9 * rate.denominator // rate.numerator
    sign = "-" if ts < 0 else ""
    return f"{sign}{nanoseconds // 10**9}.{nanoseconds % 10**9:09}"
