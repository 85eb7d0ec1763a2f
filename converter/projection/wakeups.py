"""Wakeups of threads that sleep, for formats whose viewers take a wakeup for the end of running.

Linux also records a wakeup of a thread that is about to sleep and still runs, which changes nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import constant_column
from converter.ir.events import Batch, Table
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.union import looked_up, put
from converter.projection.running_threads import RunningThreads

_WAKEUPS = frozenset({Kind.SCHED_WAKING, Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP_NEW})
#: What an event is to `RunningThreads`.
_SWITCH, _WAKEUP = 1, 2


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
        threads = RunningThreads()
        for batch in self._source.batches():
            woken = self._of(batch, _WAKEUPS)
            switched = self._of(batch, {Kind.SCHED_SWITCH})
            if not (woken or switched):
                yield self._divided(batch, {})
                continue
            runs = self._running(batch, woken, switched, threads)
            yield self._divided(batch, {number: runs[batch.positions(number)] for number in woken})

    def _running(
        self, batch: Batch, woken: list[int], switched: list[int], threads: RunningThreads
    ) -> NDArray[np.bool_]:
        """Of each event whether it wakes a thread that runs."""
        step = np.zeros(len(batch), np.uint8)
        # Only what `step` names is read.
        thread, next_thread = np.empty(len(batch), np.int64), np.empty(len(batch), np.int64)
        for number in woken:
            at = batch.positions(number)
            step[at] = _WAKEUP
            thread[at] = self._column(batch, number, Role.TID)
        for number in switched:
            at = batch.positions(number)
            step[at] = _SWITCH
            thread[at] = self._column(batch, number, Role.PREV_TID)
            next_thread[at] = self._column(batch, number, Role.NEXT_TID)
        return threads.woken(step, thread, next_thread)

    def _of(self, batch: Batch, kinds: frozenset[Kind] | set[Kind]) -> list[int]:
        """The classes of these kinds that have events in a batch."""
        return [
            number
            for number, table in batch.tables.items()
            if len(table) and self._source.event_classes[number].kind in kinds
        ]

    def _column(self, batch: Batch, number: int, role: Role) -> NDArray[np.int64]:
        index = self._source.event_classes[number].index_of(role)
        column = None if index is None else batch.tables[number].column(index)
        if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
            return column.astype(np.int64)
        return np.full(len(batch.tables[number]), -1, np.int64)

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
            put(class_id, at, constant_column(np.int32(number), len(rows)))
            put(row, at, np.arange(len(rows), dtype=np.int32))
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
