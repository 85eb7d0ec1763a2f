"""Samples as slices, on request: the functions of a sample run until the next sample of the same thread.

Functions that two samples in a row have in common from the outermost on stay open; the others end and begin at the
second one. Samples of a source without times follow each other, and each lasts its weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import ListColumn, StructColumn, order_of, take
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import ArrayClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace, Track, TrackScope
from converter.kernels.batches.union import looked_up
from converter.projection.domain import perf_samples, v8_profiles
from converter.projection.domain.call_stacks import frame_names, frames_of
from converter.projection.domain.listed_samples import with_listed_samples
from converter.projection.domain.lowered_samples import restored
from converter.projection.domain.stack_table import DistinctStacks, StackTable
from converter.projection.losses import LossReport
from converter.projection.passes.renumbering import FollowedTracks
from converter.projection.passes.time_order import (
    LAST_TIME,
    in_time_order,
    reordered,
    ticks,
)
from converter.projection.timeline_fields import weight

_NAME: Final = Field("name", StringClass(), Role.NAME)
_BEGIN: Final = EventClass(Kind.SLICE_BEGIN, fields=(_NAME,))
_END: Final = EventClass(Kind.SLICE_END)
#: For sources whose ends end the innermost slice of their name.
_NAMED_END: Final = replace(_END, fields=(_NAME,))
#: Kinds of events that are slices of a thread, or become slices.
_SLICES: Final = frozenset(
    {
        Kind.SLICE_BEGIN,
        Kind.SLICE_COMPLETE,
        Kind.SYSCALL_ENTRY,
        Kind.WORK_BEGIN,
        Kind.FUNCTION,
        Kind.FUNCTION_ENTRY,
        Kind.MARK,
    }
)
#: The name of the track of a thread's samples, where the thread may have other slices.
_TRACK: Final = "samples"
_WEIGHT: Final = weight("").name
_NONE: Final = np.zeros(0, np.int32)
_FIRST_TIME: Final = np.iinfo(np.int64).min
#: The longest that a sample of a source without times may last: so that a batch of them has a time.
_LONGEST: Final = 1 << 40


def with_slices(trace: Trace) -> Trace:
    """Return the trace with slices in place of samples, those in arguments and members of events included.

    It is no trace of its format any more: slices may be on tracks that the format does not have.
    """
    if not trace.semantics.may_have(Kind.SAMPLE, Kind.INSTANT, Kind.TYPED):
        return trace
    # Nothing is lost by what was asked for.
    report = LossReport()
    source = trace
    if trace.semantics.may_have(Kind.INSTANT):
        source = with_listed_samples(v8_profiles.with_samples(source, report), report)
    if trace.semantics.may_have(Kind.TYPED):
        source = perf_samples.with_samples(source, report, frozenset(Kind), of_stacks=False)
    source = restored(source)
    if not trace.in_time_order:
        source = in_time_order(source)
    kinds = trace.semantics.kinds
    if kinds is not None:
        kinds = (kinds - {Kind.SAMPLE}) | {Kind.SLICE_BEGIN, Kind.SLICE_END}
    result = replace(
        source,
        format=f"{trace.format} (samples as slices)",
        variant="",
        semantics=replace(trace.semantics, kinds=kinds),
        event_classes=[],
        tracks=[],
        describe=None,
        explain=None,
        seeking=None,
        leave_out=None,
        keep_records=None,
    )
    result.make_batches = lambda: _Slices(source, result).batches()
    return result


@dataclass(frozen=True, slots=True)
class _Samples:
    """Samples, those of a line one after the other: position in the batch, line, time, stack before, and own stack."""

    at: NDArray[np.int32]
    line: NDArray[np.intp]
    ts: NDArray[np.int64]
    before: NDArray[np.int32]
    stack: NDArray[np.int32]


class _Stacks:
    """Call stacks of names by number, with their depths; 0 is the empty one."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._distinct = DistinctStacks(trace.strings)
        self._table = StackTable(trace.strings)
        self._number = np.zeros(1, np.int32)
        #: By the number of a frame, its name; by that of a stack, the one around it, its innermost name, its depth.
        self._names = self.outer = self.name = self.depth = np.zeros(1, np.int32)

    def add(self, column: Any, element: Any) -> NDArray[np.int32]:
        numbers, new = self._distinct.number(column, element)
        if len(new):
            frames = frames_of(take(column, new), element, self._trace)
            assert isinstance(frames.values, StructColumn)
            names = ListColumn(frames.offsets, frame_names(frames.values, self._trace.strings))
            added = self._table.add(names, StringClass())
            self._number = np.concatenate([self._number, added])
        return self._number[numbers]

    def update(self) -> None:
        """Add the new stacks to the columns by number."""
        known = len(self.depth)
        stacks = self._table.new_stacks(known)
        if not len(stacks):
            return
        frames = self._table.new_frames(len(self._names))["function"]
        self._names = np.concatenate([self._names, frames])
        names = self._names[stacks["frame"]]
        self.outer = np.concatenate([self.outer, stacks["outer"]])
        self.name = np.concatenate([self.name, names])
        self.depth = np.concatenate([self.depth, np.zeros(len(stacks), np.int32)])
        at = np.arange(known, len(self.depth))
        depth = np.zeros(len(at), np.int32)
        around: NDArray[np.integer[Any]] = at
        while around.any():
            depth += around > 0
            around = self.outer[around]
        self.depth[at] = depth

    def shared(self, first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the deepest stack that is part of both, for each pair."""
        first, second = first.copy(), second.copy()
        rows = np.flatnonzero(first != second)
        while len(rows):
            one, other = first[rows], second[rows]
            deeper = self.depth[one] - self.depth[other]
            first[rows] = np.where(deeper >= 0, self.outer[one], one)
            second[rows] = np.where(deeper <= 0, self.outer[other], other)
            rows = rows[first[rows] != second[rows]]
        return first

    def names(
        self, stack: NDArray[np.int32], counts: NDArray[np.int32], *, inner_first: bool
    ) -> NDArray[np.int32]:
        """Return the names of the innermost `counts` frames of each stack, one list after the other."""
        ends = np.cumsum(counts, dtype=np.int64)
        found = np.empty(int(ends[-1]) if len(ends) else 0, np.int32)
        rows = np.flatnonzero(counts)
        at = ends[rows] - (counts[rows] if inner_first else 1)
        step, left, stack = (1 if inner_first else -1), counts[rows], stack[rows]
        while len(left):
            found[at] = self.name[stack]
            more = left > 1
            at, left, stack = at[more] + step, left[more] - 1, self.outer[stack[more]]
        return found


class _Slices:
    """One pass over the batches. Memory is that of the distinct stacks and of the lines."""

    def __init__(self, source: Trace, result: Trace) -> None:
        self._source = source
        self._result = result
        self._stacks = _Stacks(source)
        self._timed = source.clock.ticks_per_second is not None
        self._named_ends = source.semantics.ends.requires_name
        self._begin = result.add_class(_BEGIN)
        self._end = result.add_class(_NAMED_END if self._named_ends else _END)
        self._numbers: list[int] = []
        self._tracks = FollowedTracks(source, result.tracks)
        #: Threads, CPUs of no thread, and tracks; without times, those of an event. By number: the track of their
        #: slices, their open stack, the time that it is open since, and another place of them.
        self._lines: dict[tuple[int, int, int, str], int] = {}
        self._track, self._open = _NONE, _NONE
        self._since = np.zeros(0, np.int64)
        #: The last time of an event, and of the end of a sample.
        self._last = np.iinfo(np.int64).min

    def batches(self) -> Iterator[Batch]:
        for batch in self._source.batches():
            for event_class in self._source.event_classes[len(self._numbers) :]:
                self._numbers.append(self._result.add_class(event_class))
            if len(batch):
                self._last = max(self._last, int(batch.ts.max()))
                track = self._tracks.renumbered(batch.track)
                yield self._replaced(batch, track, self._samples(batch, track))
        open_lines = np.flatnonzero(self._open)
        if len(open_lines):
            yield self._closed(open_lines)

    def _samples(self, batch: Batch, track: NDArray[np.int32]) -> _Samples:
        found = [(_NONE, np.zeros(0, np.intp), _NONE, np.zeros(0, np.int64))]
        for number, table in batch.tables.items():
            event_class = self._source.event_classes[number]
            if event_class.kind is not Kind.SAMPLE or not len(table):
                continue
            index = event_class.index_of(Role.FRAMES)
            frames = None if index is None else event_class.fields[index].type
            if index is None or not isinstance(frames, ArrayClass):
                continue
            at = batch.positions(number)
            lines = self._lines_of(batch, track, at, event_class.name)
            stacks = self._stacks.add(table.column(index), frames.element)
            found.append((at, lines, stacks, self._durations(event_class, table)))
        self._stacks.update()
        at, lines, stacks, lasting = map(np.concatenate, zip(*found, strict=True))
        order = np.lexsort((at, lines))
        return self._in_lines(batch, at[order], lines[order], stacks[order], lasting[order])

    def _in_lines(
        self,
        batch: Batch,
        at: NDArray[np.int32],
        line: NDArray[np.intp],
        stack: NDArray[np.int32],
        lasting: NDArray[np.int64],
    ) -> _Samples:
        """Return samples in the order of their lines, and go on with these; of several at one time, the last."""
        ts = np.maximum(batch.ts[at], self._since[line])
        if self._timed and len(at):
            ends = np.where(ts < LAST_TIME - lasting, ts + lasting, LAST_TIME)
            self._last = max(self._last, int(ends.max()))
            kept = np.append((line[1:] != line[:-1]) | (ts[1:] != ts[:-1]), np.True_)
            at, line, ts, stack = at[kept], line[kept], ts[kept], stack[kept]
        is_last = np.append(line[1:] != line[:-1], np.True_)[: len(line)]
        is_first = np.roll(is_last, 1)
        if not self._timed:
            ends = np.cumsum(lasting)
            starts = ends - lasting
            moved = self._since[line[is_first]] - starts[is_first]
            moved = np.repeat(moved, np.diff(np.append(np.flatnonzero(is_first), len(line))))
            ts = starts + moved
            self._since[line[is_last]] = (ends + moved)[is_last]
        else:
            self._since[line[is_last]] = ts[is_last]
        before = np.roll(stack, 1)
        before[is_first] = self._open[line[is_first]]
        self._open[line[is_last]] = stack[is_last]
        return _Samples(at, line, ts, before, stack)

    def _durations(self, event_class: EventClass, table: Table) -> NDArray[np.int64]:
        """Return how long each sample lasts: its weight if that is a time, or if the source has no times."""
        for index, field in enumerate(event_class.fields):
            if field.name == _WEIGHT and (field.unit == "ns" or not self._timed):
                return np.clip(ticks(table.column(index)), 0, _LONGEST)
        return np.full(len(table), int(not self._timed), np.int64)

    def _lines_of(
        self, batch: Batch, tracks: NDArray[np.int32], at: NDArray[np.int32], event: str
    ) -> NDArray[np.intp]:
        thread, track = batch.thread[at], tracks[at]
        cpu = np.where((thread < 0) & (track < 0), batch.cpu[at], -1)
        found, which = np.unique(np.stack([thread, cpu, track]), axis=1, return_inverse=True)
        numbers = [self._line(event, *key) for key in found.T.tolist()]
        return np.array(numbers, np.intp)[which.reshape(-1)]

    def _line(self, event: str, thread: int, cpu: int, track: int) -> int:
        key = (thread, cpu, track, "" if self._timed else event)
        number = self._lines.setdefault(key, len(self._lines))
        if number == len(self._track):
            if track < 0 and (self._has_slices() or not self._timed or (thread < 0 and cpu < 0)):
                name = _TRACK if self._timed else event or _TRACK
                scope, owner = TrackScope.GLOBAL, -1
                if thread >= 0 or cpu >= 0:
                    scope = TrackScope.THREAD if thread >= 0 else TrackScope.CPU
                    owner = max(thread, cpu)
                track = self._tracks.add(Track(name, scope, owner))
            self._track = np.append(self._track, np.int32(track))
            self._open = np.append(self._open, np.int32(0))
            start = _FIRST_TIME if self._timed else 0
            self._since = np.append(self._since, np.int64(start))
        return number

    def _has_slices(self) -> bool:
        """Return True if threads themselves may have slices, with which those of samples would not nest."""
        if self._source.semantics.kinds is None:
            return True
        return any(one.kind in _SLICES for one in self._source.event_classes)

    def _replaced(self, batch: Batch, tracks: NDArray[np.int32], samples: _Samples) -> Batch:
        """Return the batch with ends and begins in place of each sample."""
        numbers = np.array(self._numbers, np.int32)
        tables: dict[int, Table] = {}
        counts = np.ones(len(batch), np.int32)
        for number, table in batch.tables.items():
            if self._source.event_classes[number].kind is Kind.SAMPLE:
                counts[batch.positions(number)] = 0
            else:
                tables[self._numbers[number]] = table
        order = np.argsort(samples.at)
        at, before, stack = samples.at[order], samples.before[order], samples.stack[order]
        shared = self._stacks.shared(before, stack)
        ends = self._stacks.depth[before] - self._stacks.depth[shared]
        begins = self._stacks.depth[stack] - self._stacks.depth[shared]
        counts[at] = ends + begins
        taken = np.repeat(np.arange(len(batch)), counts)
        is_new = np.zeros(len(batch), np.bool_)
        is_new[at] = True
        new = np.flatnonzero(is_new[taken])
        is_begin = np.repeat(np.tile([False, True], len(at)), np.stack([ends, begins], 1).ravel())
        class_id = looked_up(numbers, batch.class_id)[taken]
        row, ts, track = batch.row[taken], batch.ts[taken], tracks[taken]
        class_id[new] = np.where(is_begin, self._begin, self._end)
        row[new] = np.where(is_begin, np.cumsum(is_begin), np.cumsum(~is_begin)) - 1
        ts[new] = np.repeat(samples.ts[order], ends + begins)
        track[new] = np.repeat(self._track[samples.line[order]], ends + begins)
        names = self._stacks.names(stack, begins, inner_first=False)
        tables[self._begin] = Table(len(names), (names,))
        tables[self._end] = self._ends(before, ends)
        result = Batch(
            ts=ts,
            class_id=class_id,
            row=row,
            tables=tables,
            thread=batch.thread[taken],
            cpu=batch.cpu[taken],
            track=track,
        )
        times = None if self._timed else order_of(ts)
        return result if times is None else reordered(result, times)

    def _closed(self, lines: NDArray[np.intp]) -> Batch:
        """Return the ends of the slices that are open in lines: at the end of the trace, or of the last sample."""
        stack = self._open[lines]
        counts = self._stacks.depth[stack]
        taken = np.repeat(lines, counts)
        keys = np.array(list(self._lines), dtype=object)[taken]
        ts = np.full(len(taken), self._last) if self._timed else self._since[taken]
        ends = Batch(
            ts=ts,
            class_id=np.full(len(taken), self._end, np.int32),
            row=np.arange(len(taken), dtype=np.int32),
            tables={self._end: self._ends(stack, counts)},
            thread=keys[:, 0].astype(np.int32),
            cpu=keys[:, 1].astype(np.int32),
            track=self._track[taken],
        )
        order = order_of(ts)
        return ends if order is None else reordered(ends, order)

    def _ends(self, stack: NDArray[np.int32], counts: NDArray[np.int32]) -> Table:
        columns = []
        if self._named_ends:
            columns.append(self._stacks.names(stack, counts, inner_first=True))
        return Table(int(counts.sum()), columns)
