"""Calls of the function graph. A call is a leaf if the next event of its buffer is its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.event_format.record_tables import Records
from converter.ir.events import Batch, EventClass
from converter.ir.kinds import Kind

_ENTRY = ("ftrace", "funcgraph_entry")
_EXIT = ("ftrace", "funcgraph_exit")
_NONE: NDArray[Any] = np.zeros(0, np.uint8)


class Settled(NamedTuple):
    """A batch with all its calls settled.

    By position: True for a leaf, its duration, whether its end has a return value, and that; the class of the event, or
    -1 for an end that is on the line of its call. `records` are those of the tables that have any.
    """

    batch: Batch
    records: dict[int, Records]
    class_id: NDArray[np.int32]
    is_leaf: NDArray[np.uint8]
    call_time: NDArray[np.uint64]
    returns: NDArray[np.uint8]
    value: NDArray[np.uint64]

    def settle(self, calls: Any, of: _Calls, ends: Any) -> None:
        """Take calls as leaves, with what their ends say."""
        self.is_leaf[calls] = 1
        self.call_time[calls] = of.times[ends]
        self.returns[calls] = of.returns[ends]
        self.value[calls] = of.values[ends]


class _Calls(NamedTuple):
    """By position: the functions of calls and of their ends; of ends also the duration, and any return value."""

    functions: NDArray[np.uint64]
    times: NDArray[np.uint64]
    returns: NDArray[np.uint8]
    values: NDArray[np.uint64]


class _Open(NamedTuple):
    """A call that waits for the next event of its buffer."""

    settled: Settled
    position: int
    function: int


class PendingCalls:
    """Batches in order, each returned once no call in it is pending."""

    def __init__(self, classes: list[EventClass]) -> None:
        self._classes = classes
        self._waiting: list[Settled] = []
        #: By track.
        self._open: dict[int, _Open] = {}

    def add(self, batch: Batch, records: dict[int, Records]) -> Iterator[Settled]:
        """Add a batch and yield those that are settled now."""
        entries, exits = self._classes_named(batch, _ENTRY), self._classes_named(batch, _EXIT)
        if not entries and not self._open:
            none = _NONE.view(np.uint64)
            yield Settled(batch, records, batch.class_id, _NONE, none, _NONE, none)
            return
        count = len(batch)
        added = Settled(
            batch,
            records,
            batch.class_id.copy(),
            np.zeros(count, np.uint8),
            np.zeros(count, np.uint64),
            np.zeros(count, np.uint8),
            np.zeros(count, np.uint64),
        )
        self._waiting.append(added)
        self._settle(added, entries, exits)
        yield from self._ready()

    def end(self) -> Iterator[Settled]:
        """Yield the rest: nothing follows the pending calls."""
        self._open.clear()
        yield from self._ready()

    def _ready(self) -> Iterator[Settled]:
        held = {id(call.settled) for call in self._open.values()}
        while self._waiting and id(self._waiting[0]) not in held:
            yield self._waiting.pop(0)

    def _classes_named(self, batch: Batch, point: tuple[str, str]) -> list[int]:
        return [
            number
            for number in batch.tables
            if (self._classes[number].category, self._classes[number].name) == point
        ]

    def _settle(self, added: Settled, entries: list[int], exits: list[int]) -> None:
        batch = added.batch
        lost = [number for number in batch.tables if self._classes[number].kind is Kind.DISCARDED]
        positions = np.flatnonzero(~np.isin(batch.class_id, lost))
        tracks = batch.track[positions]
        order = np.argsort(tracks, kind="stable")
        positions, tracks = positions[order], tracks[order]
        if not len(positions):
            return
        calls = self._calls(batch, entries, exits)
        functions = calls.functions
        is_entry, is_exit = (np.isin(batch.class_id[positions], some) for some in (entries, exits))
        starts = np.append(True, tracks[1:] != tracks[:-1])
        for first in np.flatnonzero(starts).tolist():
            call = self._open.pop(int(tracks[first]), None)
            if call is not None and is_exit[first]:
                self._end(call, added, int(positions[first]), calls)
        ends = np.append(starts[1:], True)
        call_places = positions[is_entry & ~ends]
        follows = positions[np.flatnonzero(is_entry & ~ends) + 1]
        leaf = np.isin(batch.class_id[follows], exits)
        leaf &= functions[call_places] == functions[follows]
        leaf &= batch.thread[call_places] == batch.thread[follows]
        added.settle(call_places[leaf], calls, follows[leaf])
        added.class_id[follows[leaf]] = -1
        for last in np.flatnonzero(is_entry & ends).tolist():
            position = int(positions[last])
            self._open[int(tracks[last])] = _Open(added, position, int(functions[position]))

    def _end(self, call: _Open, added: Settled, position: int, calls: _Calls) -> None:
        thread = call.settled.batch.thread[call.position]
        is_other = int(calls.functions[position]) != call.function
        if is_other or added.batch.thread[position] != thread:
            return
        call.settled.settle(call.position, calls, position)
        added.class_id[position] = -1

    def _calls(self, batch: Batch, entries: list[int], exits: list[int]) -> _Calls:
        count = len(batch)
        functions, times, values = (np.zeros(count, np.uint64) for _ in range(3))
        returns = np.zeros(count, np.uint8)
        for number in (*entries, *exits):
            at = batch.positions(number)
            functions[at] = self._numbers(batch, number, "func")
            if number in exits:
                stop, start = (self._numbers(batch, number, f"{of}time") for of in ("ret", "call"))
                known = self._place(number, "rettime") >= 0 <= self._place(number, "calltime")
                times[at] = stop - start if known else 0
                returns[at] = self._place(number, "retval") >= 0
                values[at] = self._numbers(batch, number, "retval")
        return _Calls(functions, times, returns, values)

    def _numbers(self, batch: Batch, number: int, name: str) -> NDArray[np.uint64]:
        """Return an integer field of each row, 0 where the class has none."""
        index = self._place(number, name)
        table = batch.tables[number]
        if index < 0:
            return np.zeros(len(table), np.uint64)
        column = table.column(index)
        assert isinstance(column, np.ndarray)
        return np.ascontiguousarray(column).view(f"u{column.itemsize}").astype(np.uint64)

    def _place(self, number: int, name: str) -> int:
        names = [field.name for field in self._classes[number].fields]
        return names.index(name) if name in names else -1
