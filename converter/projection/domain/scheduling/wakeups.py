"""Wakeups of sleeping threads, for formats whose viewers take a wakeup for the end of running.

Linux also records a wakeup of a thread that is about to sleep and still runs, which changes nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import constant_column
from converter.ir.events import Batch, Table
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up
from converter.projection.domain.scheduling.running_threads import RunningThreads

_WAKEUPS = frozenset({Kind.SCHED_WAKING, Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP_NEW})
#: The meaning of an event to `RunningThreads`.
_SWITCH, _WAKEUP = 1, 2
#: Wakeups are divided by whether they wake running threads, and whether their waker is known.
_RUNNING, _DIVISIONS = 2, 4


def of_sleepers(trace: Trace) -> Trace:
    """Return the trace with wakeups of running threads as events that nothing interprets.

    Wakeups with an unknown waker have a class of their own, without a waker.
    """
    result = dataclasses.replace(trace, event_classes=[])
    wakeups = _Wakeups(trace, result)
    result.make_batches = wakeups.batches
    return result


class _Wakeups:
    def __init__(self, source: Trace, result: Trace) -> None:
        self._source = source
        self._result = result
        #: By the number of a class in the source and the division.
        self._numbers: dict[tuple[int, int], int] = {}

    def batches(self) -> Iterator[Batch]:
        threads = RunningThreads()
        for batch in self._source.batches():
            yield self._divided(batch, threads)

    def _divided(self, batch: Batch, threads: RunningThreads) -> Batch:
        """Return the batch with its wakeups in classes by whether they wake running threads, and whether
        wakers are known.
        """
        count = max(batch.tables, default=-1) + 1
        step, first = np.zeros(count, np.uint8), np.zeros(count + 1, np.int64)
        columns: list[NDArray[Any] | None] = [None] * (2 * count)
        for number, table in batch.tables.items():
            first[number + 1] = len(table)
            kind = self._source.event_classes[number].kind
            if kind in _WAKEUPS:
                step[number] = _WAKEUP
                columns[2 * number] = self._column(batch, number, Role.TID)
            elif kind is Kind.SCHED_SWITCH:
                step[number] = _SWITCH
                columns[2 * number] = self._column(batch, number, Role.PREV_TID)
                columns[2 * number + 1] = self._column(batch, number, Role.NEXT_TID)
        np.cumsum(first, out=first)
        parts, row, rows_of = threads.divided(
            batch.class_id, batch.row, batch.thread, step, first, columns
        )
        tables: dict[int, Table] = {}
        divided = {part // _DIVISIONS for part in rows_of}
        numbers = np.zeros(_DIVISIONS * count, np.int32)
        for source, table in batch.tables.items():
            first_division = _DIVISIONS * source
            if source not in divided:
                # Its events stay as they are.
                key = (source, 0)
                number = self._numbers[key] if key in self._numbers else self._number(*key)
                numbers[first_division] = number
                tables[number] = table
                continue
            for part in range(first_division, first_division + _DIVISIONS):
                if part in rows_of:
                    number = numbers[part] = self._number(source, part - first_division)
                    rows = rows_of[part]
                    tables[number] = table if rows is None else table.select(rows)
        class_id = looked_up(numbers, parts)
        return Batch(
            ts=batch.ts,
            class_id=class_id,
            row=row,
            tables=tables,
            thread=batch.thread,
            cpu=batch.cpu,
            track=batch.track,
        )

    def _column(self, batch: Batch, number: int, role: Role) -> NDArray[Any]:
        index = self._source.event_classes[number].index_of(role)
        column = None if index is None else batch.tables[number].column(index)
        if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
            return column
        return constant_column(np.int64(-1), len(batch.tables[number]))

    def _number(self, source: int, division: int) -> int:
        """Return the number in the result of a division of a class of the source."""
        key = (source, division)
        number = self._numbers.get(key)
        if number is None:
            event_class = self._source.event_classes[source]
            if division & _RUNNING:
                name = event_class.name or event_class.kind.name.lower()
                event_class = replace(event_class, kind=Kind.TYPED, name=name, native=b"")
            number = self._numbers[key] = self._result.add_class(event_class)
        return number
