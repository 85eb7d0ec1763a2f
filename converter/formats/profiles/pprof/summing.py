"""Sums of samples by event, thread and call stack: what a profile without times holds of any trace.

A trace without samples is summed by the time that each call stack of slices took apart from the slices inside of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.capabilities import with_whole_frames
from converter.formats.profiles.pprof.mapping import type_name, unit_read
from converter.formats.profiles.samples import SampleColumns, unit_of
from converter.formats.profiles.sums import ORDER, SliceSums, Weights
from converter.formats.profiles.timeline import call_trees, of_one_class, timeline
from converter.formats.profiles.trees import FrameTable, lists_of_tree
from converter.ir.events import Batch, EventClass, class_label
from converter.ir.kinds import Kind
from converter.ir.semantics import Semantics
from converter.ir.trace import Process, Thread, Trace, TrackScope
from converter.projection.domain.call_stacks import MAX_DEPTH, depths_of_tree
from converter.projection.domain.stack_table import StackTable
from converter.projection.losses import LossReport
from converter.projection.timeline_fields import FRAMES, weight

#: The type of samples that are the time of slices.
WALL: Final = "wall"
_KEY: Final = np.dtype([("event", np.int32), ("thread", np.int32), ("stack", np.int32)])
_BATCH: Final = 1 << 14


def summed(trace: Trace, report: LossReport) -> Trace:
    """Return the sums of a trace, as samples in order."""
    source = call_trees(trace, report, timeline(with_whole_frames))
    result = Trace(
        format=trace.format,
        semantics=Semantics(kinds=frozenset({Kind.SAMPLE})),
        clock=ORDER,
        strings=source.strings,
        warnings=source.warnings,
        progress=source.progress,
    )
    result.make_batches = lambda: _Sums(source, result, report).batches()
    return result


class _Sums:
    """One pass over a trace of call trees."""

    def __init__(self, source: Trace, result: Trace, report: LossReport) -> None:
        self._source = source
        self._result = result
        self._report = report
        self._stacks = StackTable(source.strings)
        self._weights = Weights(_KEY)
        self._slices = SliceSums(source, report)
        self._samples = 0
        #: The number of each event (`_type`), by name and unit, and by the number of a class.
        self._types: dict[tuple[str, str], int] = {}
        self._of_class: list[int] = []
        self._threads: dict[tuple[int, int], int] = {}
        self._processes: dict[int, int] = {}

    def batches(self) -> Iterator[Batch]:
        columns = SampleColumns(self._source, self._stacks)
        last = np.iinfo(np.int64).min
        for batch in self._source.batches():
            if not len(batch):
                continue
            last = max(last, int(batch.ts.max()))
            samples = columns.of(batch)
            if len(samples):
                for event_class in self._source.event_classes[len(self._of_class) :]:
                    self._of_class.append(self._type(event_class))
                keys = np.empty(len(samples), _KEY)
                keys["event"] = np.array(self._of_class, np.int32)[samples.event]
                keys["thread"], keys["stack"] = samples.thread, samples.stack
                self._weights.add(keys, samples.weight)
                self._samples += len(samples)
            self._slices.add(batch)
        yield from self._of_samples() if self._samples else self._of_slices(last)

    def _type(self, event_class: EventClass) -> int:
        """Return the number of a class's events among those of the same name and unit."""
        if event_class.kind is not Kind.SAMPLE:
            return -1
        unit = unit_read(unit_of(event_class))
        named = bool(event_class.name)
        name = class_label(event_class) if named else type_name(unit)
        return self._types.setdefault((name, unit), len(self._types))

    def _of_samples(self) -> Iterator[Batch]:
        self._report.add("slice-beside-samples", self._slices.count)
        self._report.add("summed-samples", self._samples)
        keys, sums = self._weights.sums(self._report)
        # What adds nothing to any sum is in no profile.
        keys, sums = keys[sums != 0], sums[sums != 0]
        order = np.argsort(keys["event"], kind="stable")
        keys, sums = keys[order], sums[order]
        stacks, frames = self._stacks.stacks, self._stacks.frames
        # Stack 0 is the empty one.
        outer = np.where(stacks["outer"] > 0, stacks["outer"], -1).astype(np.int64)
        outer[:1] = -1
        table = FrameTable(*(frames[name] for name in frames.dtype.names or ()))
        stack = np.where(keys["stack"] > 0, keys["stack"], -1).astype(np.int64)
        column = self._lists(stack, outer, stacks["frame"], table)
        threads = self._moved(keys["thread"])
        for (name, unit), number in self._types.items():
            first, last = np.searchsorted(keys["event"], [number, number + 1]).tolist()
            yield from self._samples_of(name, unit, column, sums, threads, range(first, last))

    def _of_slices(self, last: int) -> Iterator[Batch]:
        if not self._slices.count:
            return
        outer, name, lane, itself = self._slices.close(last)
        calls = np.flatnonzero((outer >= 0) & (itself > 0))
        # Roots are no functions: those of tracks get the track's name.
        thread, track = self._slices.tree.roots()
        function = name.copy()
        is_root = outer < 0
        roots = np.flatnonzero(is_root)
        owners = thread.copy()
        named = np.zeros(len(thread), np.bool_)
        for root in roots.tolist():
            here = int(lane[root])
            if track[here] >= 0:
                text, owners[here] = self._track(int(track[here]))
                function[root] = self._source.strings.intern(
                    text.encode("utf-8", "surrogateescape")
                )
                named[here] = True
        unnamed_root = is_root & ~named[lane]
        around = np.where((outer >= 0) & unnamed_root[outer], -1, outer).astype(np.int64)
        column = self._lists(
            calls.astype(np.int64), around, function, FrameTable.of(_numbers(self._source))
        )
        threads = self._moved(owners[lane[calls]])
        every = range(len(calls))
        yield from self._samples_of(WALL, "ns", column, itself[calls], threads, every)

    def _track(self, number: int) -> tuple[str, int]:
        """Return the name of a track, and the thread that it is of; -1 for none."""
        source = self._source
        one = source.tracks[number]
        if one.scope is TrackScope.THREAD:
            return one.name, one.owner
        if one.scope is TrackScope.PROCESS:
            process = source.processes[one.owner]
            return f"{process.name or f'process {process.pid}'}: {one.name}", -1
        return one.name, -1

    def _lists(
        self,
        stack: NDArray[np.int64],
        outer: NDArray[np.int64],
        item: NDArray[np.int32],
        frames: FrameTable,
    ) -> tuple[FrameTable, NDArray[np.int64], NDArray[np.int32]]:
        """Return the call stacks of a tree as lists of numbers of frames."""
        deep = depths_of_tree(outer)[stack] > MAX_DEPTH
        self._report.add("stack-cut", int(np.count_nonzero(deep)), limit=MAX_DEPTH)
        return frames, *lists_of_tree(stack, outer, item)

    def _samples_of(
        self,
        name: str,
        unit: str,
        column: tuple[FrameTable, NDArray[np.int64], NDArray[np.int32]],
        sums: NDArray[np.int64],
        threads: NDArray[np.int32],
        which: range,
    ) -> Iterator[Batch]:
        if not which:
            return
        frames, offsets, items = column
        number = self._result.add_class(
            EventClass(Kind.SAMPLE, name, fields=(FRAMES, weight(unit)))
        )
        for first in range(which.start, which.stop, _BATCH):
            last = min(first + _BATCH, which.stop)
            bounds = offsets[first : last + 1]
            stacks = frames.stacks(bounds - bounds[0], items[bounds[0] : bounds[-1]])
            columns = stacks, sums[first:last]
            yield of_one_class(number, np.arange(first, last), columns, threads[first:last])

    def _moved(self, threads: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the numbers of threads of the source in the result, which has those with samples."""
        distinct, which = np.unique(threads, return_inverse=True)
        moved = np.array([self._thread(one) for one in distinct.tolist()], np.int32)
        return moved[which.reshape(-1)]

    def _thread(self, number: int) -> int:
        if number < 0:
            return -1
        thread = self._source.threads[number]
        process = self._source.processes[thread.process]
        result = self._result
        key = process.pid, thread.tid
        if key not in self._threads:
            if process.pid not in self._processes:
                self._processes[process.pid] = len(result.processes)
                result.processes.append(Process(process.pid, process.name))
            self._threads[key] = len(result.threads)
            result.threads.append(Thread(thread.tid, self._processes[process.pid], thread.name))
        return self._threads[key]


def _numbers(trace: Trace) -> NDArray[np.int32]:
    """Return the frames of functions whose number is that of their name."""
    return np.arange(len(trace.strings), dtype=np.int32)
