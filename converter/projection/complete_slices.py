"""Complete slices as begin and end, for formats that have no record for both.

The end of a slice is an event of its own, which stands where its time is: often many batches later. Ends are held back
until the stream passes them, so memory is bounded by the number of slices that are open at a time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, OptionalColumn
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass, OptionalClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.union import looked_up
from converter.projection.losses import LossClass, LossKind, LossReport

_LAST_TIME = np.iinfo(np.int64).max

#: Ends carry nothing: they belong to the innermost slice that is open where they stand.
END = EventClass(Kind.SLICE_END)


def begin_and_end(trace: Trace, report: LossReport) -> Trace:
    """The trace with a SLICE_BEGIN and, where the duration is known, a SLICE_END for each SLICE_COMPLETE.

    At equal times ends stand before other events, those of inner slices first; the end of a slice without duration
    stands right behind its begin. Slices that begin at the same time on the same track begin with the longest.
    A duration is in ticks; one that is absent or negative is not known.
    """
    result = dataclasses.replace(trace, event_classes=[])
    splitter = _Splitter(trace, result, report)
    result.make_batches = splitter.batches
    return result


@dataclass(frozen=True, slots=True)
class _Ends:
    """Ends of slices that have begun: time, number of the begin in the stream, and place; one entry an end."""

    ts: NDArray[np.int64]
    begin: NDArray[np.int64]
    thread: NDArray[np.int32]
    cpu: NDArray[np.int32]
    track: NDArray[np.int32]

    def take(self, which: NDArray[np.intp]) -> _Ends:
        return _Ends(*(getattr(self, name)[which] for name in self.__slots__))

    @staticmethod
    def joined(parts: list[_Ends]) -> _Ends:
        return _Ends(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in _Ends.__slots__)
        )


_NO_NUMBERS = np.zeros(0, np.int32)
_NO_ENDS = _Ends(
    np.zeros(0, np.int64), np.zeros(0, np.int64), _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS
)


class _Splitter:
    def __init__(self, source: Trace, result: Trace, report: LossReport) -> None:
        self._source = source
        self._result = result
        self._report = report
        #: By the number of a class in the source: its number in the result.
        self._numbers: dict[int, int] = {}
        self._end: int | None = None

    def batches(self) -> Iterator[Batch]:
        pending = _NO_ENDS
        latest = np.iinfo(np.int64).min
        count = 0
        for batch in self._source.batches():
            if not len(batch):
                continue
            split, complete = self._split(batch)
            if not complete and not len(pending.ts):
                latest = max(latest, int(split.ts.max()))
                count += len(batch)
                yield split
                continue
            now = np.maximum.accumulate(np.maximum(split.ts, latest))
            latest = int(now[-1])
            # Where the stream has come to the end's time; behind the end's own begin in any case.
            place, begun = self._begun(split, complete, count)
            count += len(batch)
            ends = _Ends.joined([pending, begun])
            reached = np.searchsorted(now, ends.ts, side="left")
            due = reached < len(batch)
            at = np.maximum(reached, ends.begin - (count - len(batch)) + 1)[due]
            pending, ends = ends.take(np.flatnonzero(~due)), ends.take(np.flatnonzero(due))
            order = np.lexsort((-ends.begin, ends.ts, at))
            yield self._merged(split, place, ends.take(order), at[order])
        if len(pending.ts):
            order = np.lexsort((-pending.begin, pending.ts))
            yield self._ends_alone(pending.take(order))

    def _number(self, source: int) -> int:
        """The number of a class of the source in the result; of complete slices, that of their begin."""
        number = self._numbers.get(source)
        if number is None:
            event_class = self._source.event_classes[source]
            duration = _duration_index(event_class)
            if duration is not None:
                fields = event_class.fields[:duration] + event_class.fields[duration + 1 :]
                event_class = replace(event_class, kind=Kind.SLICE_BEGIN, fields=fields, native=b"")
            number = self._numbers[source] = self._result.add_class(event_class)
        return number

    def _end_number(self) -> int:
        if self._end is None:
            self._end = self._result.add_class(END)
        return self._end

    def _split(self, batch: Batch) -> tuple[Batch, list[tuple[NDArray[np.int32], Column]]]:
        """The batch with begins for complete slices, and for each class of those their places and durations."""
        numbers = np.zeros(max(batch.tables, default=0) + 1, np.int32)
        tables = {}
        complete = []
        for source, table in batch.tables.items():
            numbers[source] = self._number(source)
            duration = _duration_index(self._source.event_classes[source])
            if duration is not None and len(table):
                complete.append((batch.positions(source), table.column(duration)))
                columns = [table.lazy(i) for i in range(table.width) if i != duration]
                tables[int(numbers[source])] = Table(len(table), columns)
            else:
                tables[int(numbers[source])] = table
        split = Batch(
            ts=batch.ts,
            class_id=looked_up(numbers, batch.class_id),
            row=batch.row,
            tables=tables,
            thread=batch.thread,
            cpu=batch.cpu,
            track=batch.track,
        )
        return split, complete

    def _begun(
        self, batch: Batch, complete: list[tuple[NDArray[np.int32], Column]], count: int
    ) -> tuple[NDArray[np.intp] | None, _Ends]:
        """Where each event goes, or None when all stay, and the ends of slices that begin in the batch."""
        if not complete:
            return None, _NO_ENDS
        at = np.concatenate([positions for positions, _ in complete]).astype(np.intp)
        durations = np.concatenate([_ticks(column) for _, column in complete])
        order = np.argsort(at)
        at, durations = at[order], durations[order]
        self._report.add(
            LossKind.LOWERED,
            "slice_complete as slice_begin and slice_end",
            len(at),
            int(batch.ts[at[0]]),
            LossClass.DETAIL,
        )
        place = _longest_first(batch, at, durations)
        known = np.flatnonzero(durations >= 0)
        at, durations = at[known], durations[known]
        start = batch.ts[at]
        end = start + durations
        # Past the end of time the sum has wrapped around.
        end[end < start] = _LAST_TIME
        begin = (at if place is None else place[at]) + np.int64(count)
        return place, _Ends(end, begin, batch.thread[at], batch.cpu[at], batch.track[at])

    def _merged(
        self, batch: Batch, place: NDArray[np.intp] | None, ends: _Ends, at: NDArray[np.intp]
    ) -> Batch:
        """The events at their places, with end k before what is at ``at[k]``."""
        if place is None and not len(at):
            return batch
        size = len(batch)
        shift = np.cumsum(np.bincount(at, minlength=size + 1))[:size]
        slots = np.arange(size) + shift
        if place is not None:
            slots = slots[place]
        end_slots = at + np.arange(len(at))

        def merged(column: NDArray[Any], of_ends: Any) -> NDArray[Any]:
            result = np.empty(size + len(at), column.dtype)
            result[slots] = column
            result[end_slots] = of_ends
            return result

        tables = dict(batch.tables)
        if len(at):
            tables[self._end_number()] = Table(len(at), [])
        return Batch(
            ts=merged(batch.ts, ends.ts),
            class_id=merged(batch.class_id, self._end if len(at) else 0),
            row=merged(batch.row, np.arange(len(at))),
            tables=tables,
            thread=merged(batch.thread, ends.thread),
            cpu=merged(batch.cpu, ends.cpu),
            track=merged(batch.track, ends.track),
        )

    def _ends_alone(self, ends: _Ends) -> Batch:
        count = len(ends.ts)
        number = self._end_number()
        return Batch(
            ts=ends.ts,
            class_id=np.full(count, number, np.int32),
            row=np.arange(count, dtype=np.int32),
            tables={number: Table(count, [])},
            thread=ends.thread,
            cpu=ends.cpu,
            track=ends.track,
        )


def _duration_index(event_class: EventClass) -> int | None:
    """The field with the duration of a complete slice, or None for other classes."""
    if event_class.kind is not Kind.SLICE_COMPLETE:
        return None
    index = event_class.index_of(Role.DURATION)
    if index is None:
        return None
    held = event_class.fields[index].type
    if isinstance(held, OptionalClass):
        held = held.element
    return index if isinstance(held, IntegerClass) else None


def _ticks(column: Column) -> NDArray[np.int64]:
    """Durations as int64, -1 where absent."""
    if isinstance(column, OptionalColumn):
        return np.where(column.valid, _ticks(column.values), -1)
    assert isinstance(column, np.ndarray)
    if column.dtype == np.uint64:
        column = np.minimum(column, np.uint64(_LAST_TIME))
    return column.astype(np.int64)


def _longest_first(
    batch: Batch, at: NDArray[np.intp], durations: NDArray[np.int64]
) -> NDArray[np.intp] | None:
    """Where each event goes so that slices that begin together on a track stand outer before inner; None: as they are.

    Recorders write a complete slice when it ends, so that the inner one often comes first.
    """
    ts = batch.ts[at]
    if not (ts[1:] <= ts[:-1]).any():
        return None
    # A slice that never ends is the outermost.
    length = np.where(durations < 0, _LAST_TIME, durations)
    together = (ts, batch.thread[at], batch.track[at], batch.cpu[at])
    wanted = np.lexsort((at, -length, *together))
    present = np.lexsort((at, *together))
    if np.array_equal(wanted, present):
        return None
    place = np.arange(len(batch))
    place[at[wanted]] = at[present]
    return place
