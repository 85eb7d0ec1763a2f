"""Events one by one, for scripts."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from itertools import repeat
from typing import Any, Final

from converter.analysis.columns.collecting import masked_column
from converter.analysis.columns.named import Fields, named
from converter.analysis.columns.resolved import plain, resolved
from converter.ir.display.text import utf8_text
from converter.ir.display.trace_event import ClassNames, Place, TraceEvent
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import ArrayClass, OptionalClass, StructureClass, VariantClass
from converter.ir.trace import Trace


def iter_events(
    trace: Trace, events: Iterable[str | Iterable[str]], fields: Collection[str] | None
) -> Iterator[TraceEvent]:
    """Yield the events that are wanted, one by one; see `Trace.iter_events`."""
    part = named(trace, events)
    wanted = Fields(part, fields)
    reader = _Reader(part, wanted)
    for batch in part.batches():
        yield from reader.events(batch)
    wanted.warn()


#: Field classes whose values hold others.
_NESTED: Final = (ArrayClass, StructureClass, VariantClass, OptionalClass)


class _Reader:
    """Makes events of batches."""

    def __init__(self, trace: Trace, wanted: Container[str]) -> None:
        self._trace = trace
        self._wanted = wanted
        self._classes: dict[int, ClassNames] = {}

    def events(self, batch: Batch) -> Iterator[TraceEvent]:
        """Yield the events of a batch."""
        rows = {number: self._rows(batch, number) for number in batch.tables}
        classes, places, tracks = self._classes, self._places(), self._tracks()
        columns = (
            batch.ts.tolist(),
            masked_column(batch.cpu, batch.cpu >= 0).tolist(),
            batch.track.tolist(),
            batch.thread.tolist(),
            batch.class_id.tolist(),
            batch.row.tolist(),
        )
        for ts, cpu, track, thread, number, row in zip(*columns, strict=True):
            values = rows[number][row]
            yield TraceEvent(values, ts, cpu, tracks[track], places[thread], classes[number])

    def _rows(self, batch: Batch, number: int) -> list[tuple[Any, ...]]:
        """Return the values of each row of a class, and its name after them."""
        made = self._classes.get(number)
        event_class, table = self._trace.event_classes[number], batch.tables[number]
        if made is None:
            made = self._classes[number] = ClassNames(event_class, self._wanted)
        names: Iterable[str] = repeat(made.name, len(table))
        if made.named_by is not None:
            names = map(str, self._values(event_class, table, made.named_by))
        columns = [self._values(event_class, table, index) for index in made.numbers]
        return list(zip(*columns, names, strict=True))

    def _values(self, event_class: EventClass, table: Table, index: int) -> list[Any]:
        """Return the values of a field as Python's own."""
        held = event_class.fields[index].type
        values: list[Any] = resolved(held, table.column(index), self._trace.strings).tolist()
        return [plain(one) for one in values] if isinstance(held, _NESTED) else values

    def _places(self) -> list[Place]:
        """Return the numbers and names of all threads, and of none."""
        processes = [(one.pid, _text(one.name)) for one in self._trace.processes]
        found: list[Place] = []
        for thread in self._trace.threads:
            pid, process = processes[thread.process]
            found.append((thread.tid, pid, _text(thread.name), process))
        return [*found, (None, None, None, None)]

    def _tracks(self) -> list[str | None]:
        """Return the names of all tracks, and of none."""
        return [*(_text(track.name) for track in self._trace.tracks), None]


def _text(text: str) -> str | None:
    return utf8_text(text) or None
