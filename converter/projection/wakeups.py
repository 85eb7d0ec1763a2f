"""Wakeups of threads that sleep, for formats whose viewers take a wakeup for the end of running.

Linux also records a wakeup of a thread that is about to sleep and still runs, which changes nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch, Table
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.union import looked_up

_WAKEUPS = frozenset({Kind.SCHED_WAKING, Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP_NEW})
_Int64s = NDArray[np.int64]


def of_sleepers(trace: Trace) -> Trace:
    """The trace with wakeups of running threads as events that nothing interprets.

    Wakeups whose waker is not known have a class of their own: it has no waker.
    """
    result = dataclasses.replace(trace, event_classes=[])
    wakeups = _Wakeups(trace, result)
    result.make_batches = wakeups.batches
    return result


class _Wakeups:
    def __init__(self, source: Trace, result: Trace) -> None:
        self._source = source
        self._result = result
        #: By the number of a class in the source, and whether it is of a running thread, of an unknown waker.
        self._numbers: dict[tuple[int, bool, bool], int] = {}

    def batches(self) -> Iterator[Batch]:
        running = np.zeros(0, np.int64)
        for batch in self._source.batches():
            switched, woken = self._of(batch, {Kind.SCHED_SWITCH}), self._of(batch, _WAKEUPS)
            parts = [(batch.positions(number), self._tids(batch, number)) for number in woken]
            is_running: list[NDArray[np.bool_]] = [np.zeros(len(at), np.bool_) for at, _ in parts]
            if switched:
                switches = _joined(
                    [
                        (batch.positions(number) * np.int64(2) + into, tids, into)
                        for number in switched
                        for into, tids in enumerate(self._switched(batch, number))
                    ]
                )
                is_running = [switches.runs(at * np.int64(2), tids, running) for at, tids in parts]
                running = switches.left_running(running)
            elif len(running):
                is_running = [np.isin(tids, running) for _, tids in parts]
            yield self._divided(batch, dict(zip(woken, is_running, strict=True)))

    def _of(self, batch: Batch, kinds: frozenset[Kind] | set[Kind]) -> list[int]:
        """The classes of these kinds that have events in a batch."""
        return [
            number
            for number, table in batch.tables.items()
            if len(table) and self._source.event_classes[number].kind in kinds
        ]

    def _column(self, batch: Batch, number: int, role: Role) -> _Int64s:
        index = self._source.event_classes[number].index_of(role)
        column = None if index is None else batch.tables[number].column(index)
        if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
            return column.astype(np.int64)
        return np.full(len(batch.tables[number]), -1, np.int64)

    def _tids(self, batch: Batch, number: int) -> _Int64s:
        return self._column(batch, number, Role.TID)

    def _switched(self, batch: Batch, number: int) -> tuple[_Int64s, _Int64s]:
        """The threads that switches are from and to."""
        return (
            self._column(batch, number, Role.PREV_TID),
            self._column(batch, number, Role.NEXT_TID),
        )

    def _divided(self, batch: Batch, running: dict[int, NDArray[np.bool_]]) -> Batch:
        """The batch with its wakeups in classes by whether they are of running threads, and by known wakers."""
        tables: dict[int, Table] = {}
        numbers = np.zeros(max(batch.tables, default=0) + 1, np.int32)
        moved: list[tuple[int, NDArray[np.int32], NDArray[np.intp]]] = []
        for source, table in batch.tables.items():
            divisions = self._divisions(batch, source, running.get(source))
            numbers[source] = self._number(source, *divisions[0][0])
            for key, rows in divisions:
                number = self._number(source, *key)
                tables[number] = table if rows is None else table.select(rows)
                if rows is not None:
                    moved.append((number, batch.positions(source)[rows], rows))
        class_id, row = looked_up(numbers, batch.class_id), batch.row
        if moved:
            row = row.copy()
        for number, at, rows in moved:
            class_id[at] = number
            row[at] = np.arange(len(rows), dtype=np.int32)
        return Batch(
            ts=batch.ts,
            class_id=class_id,
            row=row,
            tables=tables,
            thread=batch.thread,
            cpu=batch.cpu,
            track=batch.track,
        )

    def _divisions(
        self, batch: Batch, number: int, running: NDArray[np.bool_] | None
    ) -> list[tuple[tuple[bool, bool], NDArray[np.intp] | None]]:
        """The rows of a class by running and unknown, None for all of them."""
        if running is None:
            return [((False, False), None)]
        unknown = batch.thread[batch.positions(number)] < 0
        found: list[tuple[tuple[bool, bool], NDArray[np.intp] | None]] = []
        for key in ((False, False), (False, True), (True, False), (True, True)):
            rows = np.flatnonzero((running == key[0]) & (unknown == key[1]))
            if len(rows) == len(running):
                return [(key, None)]
            if len(rows):
                found.append((key, rows))
        return found

    def _number(self, source: int, running: bool, unknown: bool) -> int:
        """The number in the result of a class of the source."""
        key = (source, running, unknown)
        number = self._numbers.get(key)
        if number is None:
            event_class = self._source.event_classes[source]
            if running:
                name = event_class.name or event_class.kind.name.lower()
                event_class = replace(event_class, kind=Kind.TYPED, name=name, native=b"")
            number = self._numbers[key] = self._result.add_class(event_class)
        return number


@dataclasses.dataclass(frozen=True, slots=True)
class _Switches:
    """When threads get and leave a CPU, by thread, then time: `at` is twice the position, odd where it gets one."""

    tids: _Int64s
    at: _Int64s
    into: NDArray[np.bool_]

    def runs(self, at: _Int64s, tids: _Int64s, before: _Int64s) -> NDArray[np.bool_]:
        """Whether each of these threads runs then; `before` ran when the batch began."""
        threads, which = np.unique(np.concatenate([self.tids, tids]), return_inverse=True)
        known, asked = which[: len(self.tids)], which[len(self.tids) :]
        room = np.int64(max(int(self.at.max()), int(at.max(initial=0))) + 1)
        last = np.searchsorted(known * room + self.at, asked * room + at) - 1
        found = (last >= 0) & (known[np.maximum(last, 0)] == asked)
        return np.where(found, self.into[np.maximum(last, 0)], np.isin(threads[asked], before))

    def left_running(self, before: _Int64s) -> _Int64s:
        """The threads that run when the batch ends."""
        last = np.append(self.tids[1:] != self.tids[:-1], True)
        still = np.setdiff1d(before, self.tids)
        return np.concatenate([still, self.tids[last & self.into]])


def _joined(parts: list[tuple[_Int64s, _Int64s, Any]]) -> _Switches:
    at = np.concatenate([part[0] for part in parts])
    tids = np.concatenate([part[1] for part in parts])
    into = np.concatenate([np.full(len(part[0]), bool(part[2])) for part in parts])
    order = np.lexsort((at, tids))
    return _Switches(tids[order], at[order], into[order])
