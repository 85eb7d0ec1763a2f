"""Projected traces as plain Python: what a model of a viewer reads."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from converter.ir.columns import Column
from converter.ir.events import Batch, EventClass, Field
from converter.ir.field_classes import (
    FieldClass,
    FloatClass,
    StructureClass,
    VariantClass,
)
from converter.ir.forms import column_form
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace, TrackScope


@dataclass(frozen=True)
class Thread:
    """A thread of a projected trace."""

    pid: int
    tid: int


@dataclass(frozen=True)
class Line:
    """A track of a projected trace."""

    name: str
    scope: TrackScope
    #: A `Thread`, a pid, a CPU, or nothing.
    owner: Any
    parent: Line | None
    number: int


@dataclass(frozen=True)
class Event:
    """An event of a projected trace, its time in ticks of its clock."""

    ts: int
    event_class: EventClass
    values: tuple[Any, ...]
    cpu: int | None
    thread: Thread | None
    line: Line | None

    @property
    def kind(self) -> Kind:
        """What it means."""
        return self.event_class.kind

    def of(self, role: Role, default: Any = None) -> Any:
        """The value of the first field with a role."""
        index = self.event_class.index_of(role)
        return default if index is None else self.values[index]

    def fields(self) -> Iterator[tuple[Field, Any]]:
        """Its fields with their values."""
        return zip(self.event_class.fields, self.values, strict=True)

    def named(self, name: str, default: Any = None) -> Any:
        """The value of the field of a name."""
        return next((value for field, value in self.fields() if field.name == name), default)


def events_of(trace: Trace) -> list[Event]:
    """The events of a trace in the order of the stream."""
    found: list[Event] = []
    for batch in trace.batches():
        found += _events(trace, batch)
    return found


def _events(trace: Trace, batch: Batch) -> list[Event]:
    values: dict[int, list[tuple[Any, ...]]] = {}
    for number, table in batch.tables.items():
        fields = trace.event_classes[number].fields
        columns = [_values(table.column(i), field.type, trace) for i, field in enumerate(fields)]
        values[number] = list(zip(*columns, strict=True)) if columns else [()] * len(table)
    threads = [Thread(trace.processes[one.process].pid, one.tid) for one in trace.threads]
    lines: dict[int, Line] = {}
    return [
        Event(
            ts=ts,
            event_class=trace.event_classes[number],
            values=values[number][row],
            cpu=None if cpu < 0 else cpu,
            thread=None if thread < 0 else threads[thread],
            line=None if track < 0 else line_of(trace, track, lines),
        )
        for ts, number, row, cpu, thread, track in zip(
            batch.ts.tolist(),
            batch.class_id.tolist(),
            batch.row.tolist(),
            batch.cpu.tolist(),
            batch.thread.tolist(),
            batch.track.tolist(),
            strict=True,
        )
    ]


def line_of(trace: Trace, number: int, known: dict[int, Line]) -> Line:
    """The track of a number."""
    if number not in known:
        track = trace.tracks[number]
        owner: Any = None
        if track.scope is TrackScope.CPU:
            owner = track.owner
        elif track.scope is TrackScope.PROCESS and track.owner >= 0:
            owner = trace.processes[track.owner].pid
        elif track.scope is TrackScope.THREAD and track.owner >= 0:
            thread = trace.threads[track.owner]
            owner = Thread(trace.processes[thread.process].pid, thread.tid)
        parent = None if track.parent < 0 else line_of(trace, track.parent, known)
        known[number] = Line(track.name, track.scope, owner, parent, number)
    return known[number]


def _values(column: Column, field_class: FieldClass, trace: Trace) -> list[Any]:
    return [_value(form, field_class) for form in column_form(column, field_class, trace.strings)]


def _value(form: Any, field_class: FieldClass) -> Any:
    """A form of `column_form` as what it stands for: floats as floats, structures as pairs, other bytes as text."""
    match field_class, form:
        case (_, {"bytes": str() as data}) if not isinstance(field_class, VariantClass):
            return base64.b64decode(data)
        case (FloatClass(), str()):
            return math.nan if form.startswith("nan") else float(form)
        case (StructureClass(members), list()):
            return Pairs(
                (member.name, _value(inner, member.type))
                for member, inner in zip(members, form, strict=True)
            )
        case (_, list()):
            element = getattr(field_class, "element", None)
            return [_value(inner, element) for inner in form]
    return form


class Pairs(tuple[tuple[str, Any], ...]):
    """A structure: names with values; names may repeat."""

    __slots__ = ()
