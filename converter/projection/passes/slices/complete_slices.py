"""Converts complete slices to begin and end, for formats that have no record for both.

The end of a slice is an event of its own at its own time, often many batches later. Ends are held back until the stream
passes them, so memory is bounded by the number of slices that are open at the same time.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass, OptionalClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up
from converter.projection.losses import LossReport
from converter.projection.passes.flows.flows_at_ends import FlowsAtEnds, LateFlow
from converter.projection.passes.slices.overlapping_slices import (
    CrossingSlices,
    OverlappingSlices,
    time_and_position,
)
from converter.projection.passes.slices.slice_positions import (
    Ends,
    after_inner_ends,
    before_begins,
    begins_before,
    longest_first,
)
from converter.projection.passes.time_order import LAST_TIME, ticks
from converter.projection.timeline_fields import THREAD_DURATION, THREAD_TIME

#: Ends carry nothing: they belong to the innermost slice that is open at their position.
END = EventClass(Kind.SLICE_END)


#: An end at which the thread's own time is known.
TIMED_END = EventClass(Kind.SLICE_END, fields=(THREAD_TIME,))
NO_TIME = np.iinfo(np.int64).min


def begin_and_end(
    trace: Trace,
    report: LossReport,
    unit: int | None = None,
    *,
    timed: bool = False,
    tracks: bool = True,
    first: int | None = None,
    complete_first: bool = False,
) -> Trace:
    """Return the trace with a SLICE_BEGIN and, if the duration is known, a SLICE_END for each SLICE_COMPLETE.

    For viewers that take complete slices first (`complete_first`), those that follow a begin of their time and track
    become a begin and an end; without a `unit`, all others stay.
    With a `unit`, slices on threads stay complete if their duration is a multiple of it (without `tracks` in the
    format, also those on tracks) and they do not begin before the `first` time; those that cross another are moved to
    a track next to it. With `timed`, ends carry the thread's own time if the slice says how much of it it used. At
    equal times ends precede other events, those of inner slices first; the end of a slice without duration is right
    after its begin. Slices that begin at the same time on the same track begin with the longest. A duration is in
    ticks; one that is absent is unknown, and so is a negative one (`time_limits` has dealt with those).
    """
    own = trace.tracks if unit is None else []
    result = dataclasses.replace(trace, event_classes=[], tracks=own)
    splitter = _Splitter(
        trace,
        result,
        report,
        unit,
        timed=timed,
        tracks=tracks,
        first=first,
        complete_first=complete_first,
    )
    result.make_batches = splitter.batches
    return result


_NO_NUMBERS = np.zeros(0, np.int32)
_NO_TIMES = np.zeros(0, np.int64)
_NO_ROWS = np.zeros(0, np.bool_)
_NO_ENDS = Ends(_NO_TIMES, _NO_TIMES, _NO_TIMES, _NO_TIMES, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS)


@dataclass(frozen=True, slots=True)
class _Complete:
    """The complete slices of a class in a batch: positions, durations (-1: unknown), thread times at their ends, and
    whether they stay as they are.
    """

    at: NDArray[np.int32]
    durations: NDArray[np.int64]
    thread_times: NDArray[np.int64]
    stays: NDArray[np.bool_]


class _Following:
    """Batches with events, of which the next one is read early where somebody asks for it."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        self._batches = (batch for batch in batches if len(batch))
        self._next: list[Batch] = []

    def __iter__(self) -> Iterator[Batch]:
        while not self.is_over():
            yield self._next.pop()

    def is_over(self) -> bool:
        """Tell whether no batch follows."""
        if not self._next:
            self._next.extend(itertools.islice(self._batches, 1))
        return not self._next


class _Splitter:
    def __init__(
        self,
        source: Trace,
        result: Trace,
        report: LossReport,
        unit: int | None,
        *,
        timed: bool,
        tracks: bool,
        first: int | None,
        complete_first: bool,
    ) -> None:
        self._source = source
        self._result = result
        self._report = report
        #: By the number of a class in the source: its number in the result.
        self._numbers: dict[int, int] = {}
        #: The same for slices that stay complete.
        self._kept: dict[int, int] = {}
        #: By the number of a class in the source: the field with the duration of its slices, if it has one.
        self._durations: dict[int, int | None] = {}
        self._unit = unit
        self._timed = timed
        self._tracks = tracks
        self._first = first
        self._complete_first = complete_first
        self._crossing = CrossingSlices(source, report)
        #: Viewers order the slices that stay.
        self._keeps_order = complete_first and unit is None
        self._overlapping = (
            None if unit is None else OverlappingSlices(source, result.tracks, report)
        )
        self._flows = None if unit is None else FlowsAtEnds(source, report)
        self._ends: NDArray[np.int32] | None = None
        self._following = _Following(())

    def batches(self) -> Iterator[Batch]:
        pending = _NO_ENDS
        latest = np.iinfo(np.int64).min
        count = 0
        if self._overlapping is not None:
            self._overlapping.restart()
        self._crossing = CrossingSlices(self._source, self._report)
        self._following = _Following(self._source.batches())
        for batch in self._following:
            split, complete, new_position = self._split(batch)
            flows = self._late_flows(batch, complete, new_position)
            if not complete and not len(pending.ts) and flows is None:
                latest = max(latest, int(split.ts.max()))
                count += len(batch)
                yield split
                continue
            now = np.maximum.accumulate(np.maximum(split.ts, latest))
            latest = int(now[-1])
            # The position at which the stream has reached the end's time; in any case after the end's own begin.
            started = self._starting_ends(split, complete, new_position, count)
            count += len(batch)
            ends = Ends.joined([pending, started])
            reached = np.searchsorted(now, ends.ts, side="left")
            due = reached < len(batch)
            at = np.maximum(reached, ends.begin - (count - len(batch)) + 1)[due]
            pending, ends = ends.take(np.flatnonzero(~due)), ends.take(np.flatnonzero(due))
            if len(at) and (now != split.ts).any():
                at = before_begins(split, new_position, ends, at, count - len(batch))
            if self._overlapping is not None and self._overlapping.around:
                first = count - len(batch)
                at = after_inner_ends(self._overlapping.around, new_position, ends, at, first)
            if flows is not None:
                at, split = self._before_ends(flows, split, new_position, ends, at)
            order = np.lexsort((-ends.begin, ends.ts, at))
            merged = self._merged(split, new_position, ends.take(order), at[order])
            yield self._without_strays(merged, new_position, at)
        if len(pending.ts):
            order = np.lexsort((-pending.begin, pending.ts))
            yield self._ends_alone(pending.take(order))

    def _late_flows(
        self, batch: Batch, complete: list[_Complete], new_position: NDArray[np.intp] | None
    ) -> LateFlow | None:
        """Return the flows that viewers attach to a complete slice that has ended."""
        if self._flows is None:
            return None
        ends, split = batch.ts.copy(), [_NO_NUMBERS.astype(np.intp)]
        for one in complete:
            end = batch.ts[one.at] + one.durations
            # The sum has wrapped around past the end of time.
            end[(one.durations < 0) | (end < batch.ts[one.at])] = LAST_TIME
            ends[one.at] = end
            split.append(one.at[~one.stays].astype(np.intp))
        order = time_and_position(batch.ts, new_position)
        return self._flows.find(batch, ends, np.concatenate(split), order)

    def _before_ends(
        self,
        flows: LateFlow,
        split: Batch,
        new_position: NDArray[np.intp] | None,
        ends: Ends,
        at: NDArray[np.intp],
    ) -> tuple[NDArray[np.intp], Batch]:
        """Return the positions of ends after the flows of their time, and the batch with later flows before them."""
        assert self._flows is not None
        places = np.concatenate(
            [
                np.stack([split.thread[flows.at], split.track[flows.at], flows.end]),
                np.stack([ends.thread, ends.track, ends.ts]),
            ],
            axis=1,
        )
        count = len(flows.at)
        found, which = np.unique(places, axis=1, return_inverse=True)
        which = which.reshape(-1)
        after = np.zeros(found.shape[1], np.intp)
        position = flows.at if new_position is None else new_position[flows.at]
        np.maximum.at(after, which[:count], position + 1)
        at = np.maximum(at, after[which[count:]])
        has_end = np.zeros(found.shape[1], np.bool_)
        has_end[which[count:]] = True
        # Ends in an earlier batch can no longer move.
        ts = np.where(has_end[which[:count]], flows.end, np.maximum(flows.start, flows.end - 1))
        moved = np.flatnonzero(ts != split.ts[flows.at])
        if len(moved):
            self._flows.lose(self._result, split, flows.at[moved], ts[moved])
            times = split.ts.copy()
            times[flows.at] = ts
            split.ts = times
        return at, split

    def _number(self, source: int) -> int:
        """Return the number of a class of the source in the result; for complete slices, that of their begin."""
        number = self._numbers.get(source)
        if number is None:
            event_class = self._source.event_classes[source]
            dropped = {_duration_index(event_class)}
            if dropped != {None}:
                if self._timed_indices(event_class) is not None:
                    dropped.add(event_class.fields.index(THREAD_DURATION))
                fields = tuple(
                    field for i, field in enumerate(event_class.fields) if i not in dropped
                )
                event_class = replace(event_class, kind=Kind.SLICE_BEGIN, fields=fields, native=b"")
            number = self._numbers[source] = self._result.add_class(event_class)
        return number

    def _kept_number(self, source: int) -> int:
        """Return the number in the result of a class of slices that stay complete."""
        number = self._kept.get(source)
        if number is None:
            event_class = self._source.event_classes[source]
            number = self._kept[source] = self._result.add_class(event_class)
        return number

    def _end_numbers(self) -> NDArray[np.int32]:
        """Return the numbers of ends without a thread time, and of those with one."""
        if self._ends is None:
            classes = (END, TIMED_END) if self._timed else (END,)
            self._ends = np.array([self._result.add_class(one) for one in classes], np.int32)
        return self._ends

    def _timed_indices(self, event_class: EventClass) -> tuple[int, int] | None:
        """Return the fields with the thread's time at the begin and its duration, if ends have a time."""
        fields = event_class.fields
        if not self._timed or THREAD_TIME not in fields or THREAD_DURATION not in fields:
            return None
        return fields.index(THREAD_TIME), fields.index(THREAD_DURATION)

    def _split(self, batch: Batch) -> tuple[Batch, list[_Complete], NDArray[np.intp] | None]:
        """Return the batch with begins for complete slices, the data for their ends, and the new position
        of each event.
        """
        numbers = np.zeros(max(batch.tables, default=0) + 1, np.int32)
        tables = {}
        complete, new_position, track = self._all_complete(batch)
        mixed: list[tuple[int, NDArray[np.int32], NDArray[np.bool_]]] = []
        for source, table in batch.tables.items():
            if source not in complete:
                known = self._numbers
                number = known[source] if source in known else self._number(source)
                numbers[source] = number
                tables[number] = table
                continue
            event_class = self._source.event_classes[source]
            one = complete[source]
            kept = one.stays.all()
            numbers[source] = self._kept_number(source) if kept else self._number(source)
            if one.stays.any() and not kept:
                mixed.append((self._kept_number(source), one.at, one.stays))
                tables[self._kept_number(source)] = table.select(np.flatnonzero(one.stays))
            tables[int(numbers[source])] = table if kept else self._begins(event_class, table, one)
        class_id, row = looked_up(numbers, batch.class_id), batch.row
        if mixed:
            row = row.copy()
        for number, at, stays in mixed:
            class_id[at[stays]] = number
            row[at[stays]] = np.arange(np.count_nonzero(stays))
            row[at[~stays]] = np.arange(np.count_nonzero(~stays))
        split = Batch(
            ts=batch.ts,
            class_id=class_id,
            row=row,
            tables=tables,
            thread=batch.thread,
            cpu=batch.cpu,
            track=track,
        )
        return split, list(complete.values()), new_position

    def _all_complete(
        self, batch: Batch
    ) -> tuple[dict[int, _Complete], NDArray[np.intp] | None, NDArray[np.int32]]:
        """Return the complete slices of a batch, by class, and the new position and track of each event.

        Those that cross another do not stay as they are: importers drop them.
        """
        complete = {}
        new_position = None
        track = batch.track
        for source, table in batch.tables.items():
            if source not in self._durations:
                self._durations[source] = _duration_index(self._source.event_classes[source])
            duration = self._durations[source]
            if duration is not None and len(table):
                complete[source] = self._complete(batch, source, table, duration)
        at = np.concatenate([_NO_NUMBERS, *(one.at for one in complete.values())]).astype(np.intp)
        durations = np.concatenate([_NO_TIMES, *(one.durations for one in complete.values())])
        if complete:
            order = np.argsort(at)
            turn = None
            if not self._source.semantics.complete_first:
                begins = begins_before(batch, at[order], self._positions_of_begins(batch))
                points = durations[order] == 0
                turn = 2 * (np.cumsum(points) + begins) - points
                self._split_after(begins[np.argsort(order)] > 0, complete.values())
                if self._keeps_order:
                    stays = np.concatenate([one.stays for one in complete.values()])
                    self._crossing.count(batch, at, durations, stays)
            if not self._keeps_order:
                new_position = longest_first(batch, at[order], durations[order], turn)
        if self._overlapping is not None:
            stays = np.concatenate([_NO_ROWS, *(one.stays for one in complete.values())])
            track, on_added_track = self._overlapping.place(
                batch, at, durations, stays, new_position, self._following.is_over
            )
            crosses = np.zeros(len(at), np.bool_)
            crosses[on_added_track] = True
            first = 0
            for one in complete.values():
                one.stays[crosses[first : first + len(one.at)]] = False
                first += len(one.at)
        return complete, new_position, track

    def _positions_of_begins(self, batch: Batch) -> NDArray[np.intp]:
        """Return the positions of begins in a batch."""
        found = [
            batch.positions(number)
            for number, table in batch.tables.items()
            if len(table) and self._source.event_classes[number].kind is Kind.SLICE_BEGIN
        ]
        return np.sort(np.concatenate([_NO_NUMBERS, *found])).astype(np.intp)

    def _split_after(self, is_after: NDArray[np.bool_], complete: Iterable[_Complete]) -> None:
        """Make begins and ends of slices that viewers would take before the begin that they are after."""
        first = 0
        for one in complete if self._complete_first else ():
            own = is_after[first : first + len(one.at)]
            one.stays[own & (one.durations > 0)] = False
            first += len(one.at)

    def _begins(self, event_class: EventClass, table: Table, complete: _Complete) -> Table:
        """Return the begins of those slices of a class that do not stay complete."""
        dropped = {_duration_index(event_class), *(self._timed_indices(event_class) or ())[1:]}
        if complete.stays.any():
            table = table.select(np.flatnonzero(~complete.stays))
        columns = [table.lazy(i) for i in range(table.width) if i not in dropped]
        return Table(len(table), columns)

    def _complete(self, batch: Batch, source: int, table: Table, duration: int) -> _Complete:
        """Return the complete slices of a class."""
        event_class = self._source.event_classes[source]
        at = batch.positions(source)
        durations = ticks(table.column(duration))
        stays = np.full(len(at), self._keeps_order)
        is_plain = isinstance(event_class.fields[duration].type, IntegerClass)
        # The end of a complete slice has no thread time of its own: none if only that of the begin is known.
        half = THREAD_TIME in event_class.fields and THREAD_DURATION not in event_class.fields
        if self._unit is not None and is_plain and not (half and self._timed):
            stays = (durations >= 0) & (durations % self._unit == 0)
            if self._tracks:
                stays &= batch.track[at] < 0
            if self._first is not None:
                # Others are cut to it later, and have to be in the order of their times until then.
                stays &= batch.ts[at] >= self._first
        times = np.full(len(at), NO_TIME)
        timed = self._timed_indices(event_class)
        if timed is not None:
            start, took = (ticks(table.column(index)) for index in timed)
            times = start + took
        return _Complete(at, durations, times, stays)

    def _starting_ends(
        self,
        batch: Batch,
        complete: list[_Complete],
        new_position: NDArray[np.intp] | None,
        count: int,
    ) -> Ends:
        """Return the ends of slices that begin in the batch, whose events move to `new_position`."""
        if not complete:
            return _NO_ENDS
        at = np.concatenate([one.at for one in complete]).astype(np.intp)
        durations = np.concatenate([one.durations for one in complete])
        times = np.concatenate([one.thread_times for one in complete])
        stays = np.concatenate([one.stays for one in complete])
        if not stays.all():
            self._report.add_at("slice-as-begin-and-end", self._result, batch, at[~stays])
        known = np.flatnonzero((durations >= 0) & ~stays)
        at, durations, times = at[known], durations[known], times[known]
        start = batch.ts[at]
        end = start + durations
        # The sum has wrapped around past the end of time.
        end[end < start] = LAST_TIME
        begin = (at if new_position is None else new_position[at]) + np.int64(count)
        return Ends(
            end,
            begin,
            at + np.int64(count),
            times,
            batch.thread[at],
            batch.cpu[at],
            batch.track[at],
        )

    def _merged(
        self, batch: Batch, new_position: NDArray[np.intp] | None, ends: Ends, at: NDArray[np.intp]
    ) -> Batch:
        """Return the events at their new positions, with end k before the event at ``at[k]``."""
        if new_position is None and not len(at):
            return batch
        size = len(batch)
        shift = np.cumsum(np.bincount(at, minlength=size + 1))[:size]
        slots = np.arange(size) + shift
        if new_position is not None:
            slots = slots[new_position]
        end_slots = at + np.arange(len(at))

        def merged(column: NDArray[Any], of_ends: Any) -> NDArray[Any]:
            result = np.empty(size + len(at), column.dtype)
            result[slots] = column
            result[end_slots] = of_ends
            return result

        tables = {**batch.tables, **self._end_tables(ends)}
        class_id, row = self._end_rows(ends)
        return Batch(
            ts=merged(batch.ts, ends.ts),
            class_id=merged(batch.class_id, class_id),
            row=merged(batch.row, row),
            tables=tables,
            thread=merged(batch.thread, ends.thread),
            cpu=merged(batch.cpu, ends.cpu),
            track=merged(batch.track, ends.track),
        )

    def _without_strays(
        self, merged: Batch, new_position: NDArray[np.intp] | None, at: NDArray[np.intp]
    ) -> Batch:
        """Return the batch without ends that close nothing; ends at positions up to theirs precede them."""
        strays = self._overlapping.strays if self._overlapping is not None else _NO_NUMBERS
        if not len(strays):
            return merged
        if new_position is not None:
            strays = new_position[strays]
        kept = np.ones(len(merged), np.bool_)
        kept[strays + np.searchsorted(np.sort(at), strays, side="right")] = False
        return merged.select(np.flatnonzero(kept))

    def _ends_alone(self, ends: Ends) -> Batch:
        class_id, row = self._end_rows(ends)
        return Batch(
            ts=ends.ts,
            class_id=class_id,
            row=row,
            tables=self._end_tables(ends),
            thread=ends.thread,
            cpu=ends.cpu,
            track=ends.track,
        )

    def _end_tables(self, ends: Ends) -> dict[int, Table]:
        """Return the tables of ends: of those without a thread time, and of those with one."""
        timed = ends.thread_time != NO_TIME
        tables = {}
        if not timed.all():
            tables[int(self._end_numbers()[0])] = Table(int(np.count_nonzero(~timed)), [])
        if timed.any():
            times = ends.thread_time[timed]
            tables[int(self._end_numbers()[1])] = Table(len(times), [times])
        return tables

    def _end_rows(self, ends: Ends) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return class and row of each end."""
        if not len(ends.ts):
            return _NO_NUMBERS, _NO_NUMBERS
        timed = ends.thread_time != NO_TIME
        row = np.where(timed, np.cumsum(timed), np.cumsum(~timed)) - 1
        return self._end_numbers()[timed.astype(np.intp)], row.astype(np.int32)


def _duration_index(event_class: EventClass) -> int | None:
    """Return the field with the duration of a complete slice, or None for other classes."""
    if event_class.kind is not Kind.SLICE_COMPLETE:
        return None
    index = event_class.index_of(Role.DURATION)
    if index is None:
        return None
    held = event_class.fields[index].type
    if isinstance(held, OptionalClass):
        held = held.element
    return index if isinstance(held, IntegerClass) else None
