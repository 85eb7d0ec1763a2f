"""The items that a page shows of a trace, gathered into columns while its batches are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum, unique
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.analysis.viewing.shown import SHOWN
from converter.ir.columns import ListColumn
from converter.ir.events import Batch, EventClass, Field
from converter.ir.field_classes import BooleanClass, FloatClass, IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable
from converter.projection.capabilities import Capabilities
from converter.projection.domain.stack_table import StackTable
from converter.projection.project import project
from converter.projection.timeline_fields import FRAME
from converter.selection.stacks import BEGIN, END, UNMATCHED, Stacks
from converter.selection.steps import StepsOf, mixed


@unique
class Item(IntEnum):
    """The kind of an item on the timeline."""

    SLICE = 0
    #: A slice that need not nest in the slices around it.
    ASYNC = 1
    INSTANT = 2
    #: A task on a CPU.
    TASK = 3


#: The end of an item that has not ended.
OPEN: Final = np.iinfo(np.int64).max

_INSTANTS: Final = (Kind.INSTANT, Kind.ASYNC_INSTANT)
#: The name of samples of no event.
_NO_EVENT: Final = "sample"
_FLOWS: Final = (Kind.FLOW_BEGIN, Kind.FLOW_STEP, Kind.FLOW_END)


@dataclass(slots=True)
class Columns:
    """Columns that grow by chunks, all by the same number of values."""

    chunks: dict[str, list[NDArray[Any]]] = field(default_factory=dict)

    def add(self, **columns: NDArray[Any]) -> None:
        """Append a chunk to each."""
        for name, column in columns.items():
            self.chunks.setdefault(name, []).append(column)

    def joined(self, types: dict[str, type[np.generic]]) -> dict[str, NDArray[Any]]:
        """Return the concatenated columns, and release the chunks."""
        chunks, self.chunks = self.chunks, {}
        return {
            name: np.concatenate(chunks.pop(name)).astype(dtype, copy=False)
            if name in chunks
            else np.zeros(0, dtype)
            for name, dtype in types.items()
        }


@dataclass(slots=True)
class Arguments:
    """The fields of the events of a class, by row."""

    fields: list[Field]
    columns: list[list[NDArray[Any]]]
    rows: int = 0


ITEM_TYPES: Final[dict[str, type[np.generic]]] = {
    "location": np.int64,
    "kind": np.uint8,
    "ts": np.int64,
    "end": np.int64,
    "name": np.int32,
    "source": np.int32,
    "row": np.int64,
    "last": np.int32,
    "last_row": np.int64,
    "who": np.int64,
}
_END_TYPES: Final[dict[str, type[np.generic]]] = {
    "number": np.int64,
    "end": np.int64,
    "last": np.int32,
    "last_row": np.int64,
}
COUNTER_TYPES: Final[dict[str, type[np.generic]]] = {
    "series": np.int32,
    "ts": np.int64,
    "value": np.float64,
}
FLOW_TYPES: Final[dict[str, type[np.generic]]] = {
    "id": np.uint64,
    "ts": np.int64,
    "location": np.int64,
    "begins": np.bool_,
}
SAMPLE_TYPES: Final[dict[str, type[np.generic]]] = {
    "ts": np.int64,
    "location": np.int64,
    "event": np.int32,
    "stack": np.int32,
    "weight": np.int64,
}


class Gathered:
    """Everything of a trace that a page shows. `items`, `counters` and `flows` are available once it has been read.

    A location is a number: of a track, of a thread, or of a CPU (see `locations`). An event is a row of its class:
    `row` of `source` begins an item, `last_row` of `last` (-1: none) ends it; rows have no meaning without `arguments`.
    `who` is the id of the thread of a task.
    """

    def __init__(
        self, trace: Trace, *, arguments: bool = True, shown: Capabilities = SHOWN
    ) -> None:
        self.trace, self.losses = project(trace, shown, "page")
        self.events = self.untimed = 0
        self.arguments: dict[int, Arguments] = {}
        self._with_arguments = arguments
        #: The location, name, id (a text) and argument of each series of a counter.
        self.series: list[tuple[int, int, str, str]] = []
        self._series: dict[int, int] = {}
        #: The name and the unit of each event that was sampled; the unit is None where samples have no weight.
        self.sampled: list[tuple[str, str | None]] = []
        self._items, self._counters, self._flows = Columns(), Columns(), Columns()
        self._samples = Columns()
        self._ends = Columns()
        self._started = 0
        self._steps_of = StepsOf(self.trace, values=False)
        self._stacks = Stacks()
        self.call_stacks = StackTable(self.trace.strings)
        for batch in self.trace.batches():
            self._add(batch)
        self.items = self._items.joined(ITEM_TYPES)
        self.counters = self._counters.joined(COUNTER_TYPES)
        self.flows = self._flows.joined(FLOW_TYPES)
        self.samples = self._samples.joined(SAMPLE_TYPES)
        # Among the items, slices are in the order of their numbers.
        slices = np.flatnonzero(self.items["kind"] <= Item.ASYNC)
        ends = self._ends.joined(_END_TYPES)
        ended = slices[ends.pop("number")]
        for name, column in ends.items():
            self.items[name][ended] = column

    def _add(self, batch: Batch) -> None:
        self.events += len(batch)
        bases = {number: self._rows(batch, number) for number in batch.tables}
        self._add_slices(batch, bases)
        for number, table in batch.tables.items():
            event_class = self.trace.event_classes[number]
            if not len(table):
                continue
            if not event_class.timed:
                self.untimed += len(table)
            elif event_class.kind in _INSTANTS:
                self._add_instants(batch, number, event_class, bases[number])
            elif event_class.kind is Kind.SAMPLE:
                self._add_samples(batch, number, event_class, bases[number])
            elif event_class.kind is Kind.SCHED_SWITCH:
                self._add_tasks(batch, number, event_class, bases[number])
            elif event_class.kind is Kind.COUNTER:
                self._add_counters(batch, number, event_class)
            elif event_class.kind in _FLOWS:
                self._add_flows(batch, number, event_class)

    def _rows(self, batch: Batch, number: int) -> int:
        """Store the arguments of the events of a class; return the number of rows before."""
        event_class, table = self.trace.event_classes[number], batch.tables[number]
        if not self._with_arguments or event_class.kind in (Kind.COUNTER, *_FLOWS):
            return 0
        kept = [
            i
            for i, one in enumerate(event_class.fields)
            if one.role not in (Role.NAME, Role.FRAMES)
        ]
        known = self.arguments.get(number)
        if known is None:
            fields = [event_class.fields[i] for i in kept]
            known = self.arguments[number] = Arguments(fields, [[] for _ in kept])
        before = known.rows
        if len(table):
            for location, i in enumerate(kept):
                column = table.column(i)
                if isinstance(column, ListColumn):
                    column = _interned(column, self.trace.strings)
                assert isinstance(column, np.ndarray), "nothing nested is held"
                known.columns[location].append(column)
            known.rows += len(table)
        return before

    def _add_slices(self, batch: Batch, bases: dict[int, int]) -> None:
        steps = self._steps_of(batch)
        if steps is None:
            return
        begins = steps.step == BEGIN
        numbers = self._started + np.cumsum(begins, dtype=np.int64) - 1
        self._started += int(np.count_nonzero(begins))
        closed = self._stacks.follow(
            steps.lane,
            steps.step,
            steps.name,
            np.maximum(numbers, 0),
            np.ones(len(steps), np.int32),
        )
        ends = (steps.step == END) & (closed.owner != UNMATCHED)
        base = np.zeros(max(bases, default=0) + 1, np.int64)
        base[list(bases)] = list(bases.values())
        at = steps.at[ends]
        self._ends.add(
            number=closed.number[ends],
            end=batch.ts[at],
            last=batch.class_id[at],
            last_row=base[batch.class_id[at]] + batch.row[at],
        )
        at = steps.at[begins]
        source = batch.class_id[at]
        is_async = np.zeros(len(base), np.bool_)
        for number in bases:
            is_async[number] = self.trace.event_classes[number].kind is Kind.ASYNC_BEGIN
        self._items.add(
            location=locations(batch, at),
            kind=np.where(is_async[source], Item.ASYNC, Item.SLICE).astype(np.uint8),
            ts=batch.ts[at],
            end=np.full(len(at), OPEN),
            name=steps.name[begins].astype(np.int32),
            source=source,
            row=base[source] + batch.row[at],
            **_without(len(at)),
        )

    def _add_samples(self, batch: Batch, number: int, event_class: EventClass, base: int) -> None:
        at, table = batch.positions(number), batch.tables[number]
        frames, amount = event_class.index_of(Role.FRAMES), event_class.index_of(Role.COUNT)
        assert frames is not None, "the kind requires it"
        unit = None if amount is None else event_class.fields[amount].unit
        event = (event_class.name or _NO_EVENT, unit)
        if event not in self.sampled:
            self.sampled.append(event)
        weight = np.ones(len(at), np.int64)
        if amount is not None:
            # No part of a flame graph is narrower than nothing.
            weight = np.maximum(np.asarray(table.column(amount)).astype(np.int64), 0)
        self._samples.add(
            ts=batch.ts[at],
            location=locations(batch, at),
            event=np.full(len(at), self.sampled.index(event), np.int32),
            stack=self.call_stacks.add(table.column(frames), FRAME),
            weight=weight,
        )
        name = self.trace.strings.intern(event[0])
        self._add_moments(batch, number, np.full(len(at), name, np.int32), base)

    def _add_instants(self, batch: Batch, number: int, event_class: EventClass, base: int) -> None:
        name = self._ids(batch, number, event_class, Role.NAME)
        self._add_moments(batch, number, name, base)

    def _add_moments(self, batch: Batch, number: int, name: NDArray[np.int32], base: int) -> None:
        at = batch.positions(number)
        self._items.add(
            location=locations(batch, at),
            kind=np.full(len(at), Item.INSTANT, np.uint8),
            ts=batch.ts[at],
            end=batch.ts[at],
            name=name,
            source=np.full(len(at), number, np.int32),
            row=base + np.arange(len(at)),
            **_without(len(at)),
        )

    def _add_tasks(self, batch: Batch, number: int, event_class: EventClass, base: int) -> None:
        at = batch.positions(number)
        index = event_class.index_of(Role.NEXT_TID)
        assert index is not None, "the kind requires it"
        self._items.add(
            location=-(batch.cpu[at].astype(np.int64) + 2),
            kind=np.full(len(at), Item.TASK, np.uint8),
            ts=batch.ts[at],
            # Until the next switch of the CPU, once all are known.
            end=np.full(len(at), OPEN),
            name=self._ids(batch, number, event_class, Role.NEXT_COMM),
            source=np.full(len(at), number, np.int32),
            row=base + np.arange(len(at)),
            **_without(len(at))
            | {"who": np.asarray(batch.tables[number].column(index)).astype(np.int64)},
        )

    def _add_counters(self, batch: Batch, number: int, event_class: EventClass) -> None:
        at, table = batch.positions(number), batch.tables[number]
        location = locations(batch, at)
        name = self._ids(batch, number, event_class, Role.NAME)
        index = event_class.index_of(Role.ID)
        assert index is not None, "counters are held with an id, 0 for none"
        is_named = is_text(event_class.fields[index])
        id = (
            self._ids(batch, number, event_class, Role.ID)
            if is_named
            else np.asarray(table.column(index))
        ).astype(np.int64)
        for position, one in enumerate(event_class.fields):
            column = table.column(position)
            is_number = isinstance(one.type, IntegerClass | FloatClass | BooleanClass)
            if not is_number or position == index:
                continue
            series = self.trace.strings.intern(one.name)
            key = mixed(len(at), [location, name, id, series, int(is_named)])
            found, first, inverse = np.unique(key, return_index=True, return_inverse=True)
            numbers = []
            for which, row in zip(found.tolist(), first.tolist(), strict=True):
                if which not in self._series:
                    self._series[which] = len(self.series)
                    text = self.trace.strings.text(int(id[row])) if is_named else str(id[row] or "")
                    self.series.append((int(location[row]), int(name[row]), text, one.name))
                numbers.append(self._series[which])
            self._counters.add(
                series=np.array(numbers, np.int32)[inverse],
                ts=batch.ts[at],
                value=np.asarray(column).astype(np.float64),
            )

    def _add_flows(self, batch: Batch, number: int, event_class: EventClass) -> None:
        at, index = batch.positions(number), event_class.index_of(Role.ID)
        assert index is not None, "the kind requires it"
        self._flows.add(
            id=np.asarray(batch.tables[number].column(index)).astype(np.uint64),
            ts=batch.ts[at],
            location=locations(batch, at),
            begins=np.full(len(at), event_class.kind is Kind.FLOW_BEGIN),
        )

    def _ids(
        self, batch: Batch, number: int, event_class: EventClass, role: Role
    ) -> NDArray[np.int32]:
        index = event_class.index_of(role)
        assert index is not None, "what is shown has it"
        column = batch.tables[number].column(index)
        if isinstance(column, ListColumn):
            return _interned(column, self.trace.strings)
        assert isinstance(column, np.ndarray), "names are texts"
        return column.astype(np.int32, copy=False)


def _without(count: int) -> dict[str, NDArray[Any]]:
    """Return the columns of items that no event has ended yet, and that are not tasks."""
    return {
        "last": np.full(count, -1, np.int32),
        "last_row": np.full(count, -1, np.int64),
        "who": np.full(count, -1, np.int64),
    }


def locations(batch: Batch, at: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return where events are shown: on their tracks, else on their threads, else on their CPUs; see
    `split_location`.
    """
    thread = batch.thread[at].astype(np.int64)
    track = batch.track[at].astype(np.int64)
    cpu = batch.cpu[at].astype(np.int64)
    return np.where(track >= 0, track, np.where(thread >= 0, thread + _THREADS, -(cpu + 2)))


def track_groups(items: dict[str, NDArray[Any]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first item of each group of items that share rows, and the group of each item.

    Items of one kind at one location are a group; asynchronous slices are one for each of their names.
    """
    is_async = items["kind"] == Item.ASYNC
    key = mixed(
        len(is_async), [items["location"], items["kind"], np.where(is_async, items["name"], 0)]
    )
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    return first, group


#: The first number of a location that is a thread; lower ones are tracks. Negative ones are CPUs, -1 none.
_THREADS: Final = 1 << 32


def split_location(number: int) -> tuple[str, int]:
    """Return the kind of a location ("track", "thread" or "cpu"), and its number; a CPU may be -1."""
    if number < 0:
        return "cpu", -number - 2
    return ("thread", number - _THREADS) if number >= _THREADS else ("track", number)


def split_locations(
    location: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the CPU, the thread and the track of each location, -1 where it is not of that kind."""
    is_thread = location >= _THREADS
    cpu = np.where(location < 0, -location - 2, -1)
    thread = np.where(is_thread, location - _THREADS, -1)
    track = np.where((location >= 0) & ~is_thread, location, -1)
    return cpu, thread, track


def thread_location(number: int) -> int:
    """Return the location of a thread."""
    return number + _THREADS


def _interned(column: ListColumn, strings: StringTable) -> NDArray[np.int32]:
    ids = np.zeros(len(column), np.int32)
    assert isinstance(column.values, np.ndarray), "texts are bytes"
    strings.intern_spans(column.values, column.offsets[:-1], np.diff(column.offsets), ids)
    return ids


def texts(strings: StringTable, ids: NDArray[np.integer[Any]]) -> Iterator[str]:
    """Yield the strings of these ids; bytes that are not UTF-8 are replaced."""
    return (strings[int(id)].decode("utf-8", "replace") for id in ids)


def is_text(one: Field) -> bool:
    """Return True if the values of a field are ids of strings."""
    return isinstance(one.type, StringClass)
