"""Samples in formats that have none: instants or tracepoints with the call stack as an argument, and back.

The argument has the name and the type of `timeline_fields.FRAMES`, or is its JSON text. What was such an event in a
file is a sample again in formats that have samples.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import ListColumn, StructColumn, string_ids, take
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    IntegerClass,
    StringClass,
    StructureClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import Unseen
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable
from converter.projection.capabilities import Projection
from converter.projection.domain.call_stacks import frames_of, members_of
from converter.projection.domain.perf_samples import unit_of_event
from converter.projection.engine.partitions import Partition
from converter.projection.instants import NAME, lower_to_instant
from converter.projection.losses import LossClass
from converter.projection.passes.renumbering import in_classes
from converter.projection.timeline_fields import FRAME, FRAMES, weight

#: The name of the sampled event: those of tracepoints are identifiers.
_EVENT: Final = Field("event", StringClass())
_KINDS: Final = (Kind.INSTANT, Kind.TYPED)
_WEIGHT: Final = weight("").name
_TEXT: Final = rb'"((?:[^"\\]|\\.)*)"'
#: A frame in a text that may have been cut.
_FRAME: Final = re.compile(
    rb'\{"function":%b,"mapping":%b,"rel_pc":"0x([0-9a-f]{1,16})","source":%b,"line":([0-9]{1,9})\}'
    % (_TEXT, _TEXT, _TEXT)
)


def with_frames(partition: Partition, projection: Projection, index: int) -> Partition:
    """Return events whose call stacks, in the field of a number, are frames."""
    field = partition.event_class.fields[index]
    if field.type == FRAMES.type:
        return partition
    projection.lose("field-type", partition, field=field.name)
    assert isinstance(field.type, ArrayClass)
    element = field.type.element

    def new_class() -> EventClass:
        fields = list(partition.event_class.fields)
        fields[index] = FRAMES
        return dataclasses.replace(partition.event_class, fields=tuple(fields))

    columns = partition.lazy_columns()
    columns[index] = lambda: frames_of(partition.table.column(index), element, projection.source)
    return partition.rewritten(partition.derive(("frames",), new_class), columns)


def lower_sample(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to an instant, or to a tracepoint that names the sampled event."""
    index = partition.event_class.index_of(Role.FRAMES)
    if index is not None:
        partition = with_frames(partition, projection, index)
    name = partition.event_class.name
    if name and Kind.INSTANT not in projection.capabilities.kinds:
        partition = partition.with_argument(_EVENT, projection.constant(name, len(partition)))
    is_unseen = Unseen.SAMPLES in projection.source.semantics.unseen
    loss_class = LossClass.KEPT if is_unseen else None
    projection.lose("sample-as-instant", partition, loss_class=loss_class)
    return lower_to_instant(partition, projection)


def restored(trace: Trace) -> Trace:
    """Return the trace with samples in place of the events that samples have become."""
    result = dataclasses.replace(trace, event_classes=[])

    def batches() -> Iterator[Batch]:
        numbers: list[int] = []
        found: dict[int, _Lowered] = {}
        for batch in trace.batches():
            for number in range(len(numbers), len(trace.event_classes)):
                event_class = trace.event_classes[number]
                if _may_be_sample(event_class):
                    found[number] = _Lowered(event_class, len(result.event_classes), result)
                numbers.append(result.add_class(event_class))
            renumbered = in_classes(batch, numbers)
            samples = [(one, found[one]) for one in batch.tables if one in found]
            yield (
                _with_samples(batch, renumbered, samples, trace.strings) if samples else renumbered
            )

    result.make_batches = batches
    return result


def _may_be_sample(event_class: EventClass) -> bool:
    if event_class.kind not in _KINDS:
        return False
    types = {field.name: field.type for field in event_class.fields}
    match types.get(FRAMES.name):
        case ArrayClass(StructureClass(members)):
            return [member.name for member in members] == [one.name for one in FRAME.members]
        case StringClass() | BytesClass():
            return _WEIGHT in types
    return False


def _with_samples(
    batch: Batch, renumbered: Batch, samples: list[tuple[int, _Lowered]], strings: StringTable
) -> Batch:
    tables = dict(renumbered.tables)
    class_id, row = renumbered.class_id.copy(), renumbered.row.copy()
    for number, lowered in samples:
        positions, table = batch.positions(number), batch.tables[number]
        left = np.ones(len(table), np.bool_)
        for sample, rows, made in lowered.samples(table, strings):
            tables[sample] = made
            class_id[positions[rows]] = sample
            row[positions[rows]] = np.arange(len(rows))
            left[rows] = False
        others = np.flatnonzero(left)
        row[positions[others]] = np.arange(len(others))
        tables[lowered.number] = table.select(others)
    return Batch(
        ts=batch.ts,
        class_id=class_id,
        row=row,
        tables=tables,
        thread=batch.thread,
        cpu=batch.cpu,
        track=batch.track,
    )


class _Lowered:
    """A class of events that samples may have become."""

    def __init__(self, event_class: EventClass, number: int, result: Trace) -> None:
        self._class = event_class
        #: Its number in the result.
        self.number = number
        self._result = result
        self._names = {field.name: index for index, field in enumerate(event_class.fields)}
        self._frames = self._names[FRAMES.name]
        #: The field with the name of the sampled event; instants that became tracepoints still have theirs.
        self._event = event_class.index_of(Role.NAME)
        for name in (NAME.name, _EVENT.name):
            self._event = self._names.get(name, self._event)
        #: Fields that stay.
        left = (Role.NAME, Role.CATEGORY, Role.CONTEXT)
        self._kept = [
            index
            for index, field in enumerate(event_class.fields)
            if index not in (self._frames, self._event) and field.role not in left
        ]
        self._samples: dict[int, int] = {}
        self._parsed: dict[int, list[tuple[int, int, int, int, int]] | None] = {}

    def samples(
        self, table: Table, strings: StringTable
    ) -> Iterator[tuple[int, NDArray[np.intp], Table]]:
        """Yield the samples among the events of a table by class: its number, the rows, and their table."""
        if not len(table):
            return
        column = table.column(self._frames)
        rows = np.arange(len(table))
        if isinstance(column, ListColumn) and isinstance(column.values, StructColumn):
            column = ListColumn(column.offsets, _members(members_of(column.values, strings)))
        else:
            texts = string_ids(column, strings)
            rows, column = self._from_texts(texts, strings)
        names = np.zeros(len(rows), np.int32)
        if self._event is not None:
            names = string_ids(table.column(self._event), strings)[rows]
        for name in np.unique(names).tolist():
            chosen = np.flatnonzero(names == name)
            own = [take(table.column(index), rows[chosen]) for index in self._kept]
            made = Table(len(chosen), [take(column, chosen), *own])
            yield self._number(name, strings), rows[chosen], made

    def _number(self, name: int, strings: StringTable) -> int:
        if name not in self._samples:
            text = strings[name].decode("utf-8", "surrogateescape") or self._class.name
            fields = [FRAMES]
            for field in (self._class.fields[index] for index in self._kept):
                is_weight = field.name == _WEIGHT and isinstance(field.type, IntegerClass)
                fields.append(weight(field.unit or unit_of_event(text)) if is_weight else field)
            self._samples[name] = self._result.add_class(
                EventClass(Kind.SAMPLE, text, fields=tuple(fields))
            )
        return self._samples[name]

    def _from_texts(
        self, texts: NDArray[np.int32], strings: StringTable
    ) -> tuple[NDArray[np.intp], ListColumn]:
        """Return the rows whose text is a call stack, and their call stacks."""
        distinct, which = np.unique(texts, return_inverse=True)
        for id in distinct.tolist():
            if id not in self._parsed:
                self._parsed[id] = _frames_in(strings[id], strings)
        stacks = [self._parsed[id] for id in distinct.tolist()]
        rows = np.flatnonzero(np.array([one is not None for one in stacks], np.bool_)[which])
        sizes = np.array([len(one or ()) for one in stacks], np.int64)
        frames = np.array([frame for one in stacks for frame in one or ()], np.uint64)
        members = _members(tuple(frames.reshape(-1, len(FRAME.members)).T))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        column = ListColumn(offsets, members)
        stacks_of_rows = take(column, which[rows])
        assert isinstance(stacks_of_rows, ListColumn)
        return rows, stacks_of_rows


def _members(members: tuple[NDArray[Any], ...]) -> StructColumn:
    """Return frames of members that may have other types."""
    dtypes = (np.int32, np.int32, np.uint64, np.int32, np.uint32)
    columns = tuple(part.astype(kind) for part, kind in zip(members, dtypes, strict=True))
    return StructColumn(len(columns[0]), columns)


def _frames_in(text: bytes, strings: StringTable) -> list[tuple[int, int, int, int, int]] | None:
    """Return the frames in the JSON text of a call stack, which may be cut; None if it is something else."""
    if not text.startswith(b"[") or (text != b"[]" and not _FRAME.match(text, 1)):
        return None

    def id_of(quoted: Any) -> int:
        plain = quoted
        if b"\\" in quoted:
            plain = json.loads(b'"' + quoted + b'"').encode("utf-8", "surrogatepass")
        return strings.intern(plain)

    return [
        (id_of(function), id_of(mapping), int(rel_pc, 16), id_of(source), int(line))
        for function, mapping, rel_pc, source, line in _FRAME.findall(text)
    ]
