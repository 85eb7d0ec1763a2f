"""Any trace as the samples of one thread, each of which lasts until the next: what a CPU profile holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.call_tree import CallTree
from converter.formats.profiles.capabilities import with_shown_frames
from converter.formats.profiles.cpuprofile.document import ANONYMOUS, IDLE
from converter.formats.profiles.samples import SampleColumns, unit_of
from converter.formats.profiles.timeline import call_trees, of_one_class, timeline
from converter.formats.profiles.trees import FrameTable
from converter.ir.columns import Column, ListColumn, StructColumn, take
from converter.ir.events import Batch, EventClass, class_label
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import Semantics
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up, values_by_class
from converter.projection.domain.call_stacks import depths_of_tree, parts_of
from converter.projection.domain.stack_table import StackTable
from converter.projection.losses import LossReport
from converter.projection.passes.slices.slice_columns import steps_of, texts_of
from converter.projection.timeline_fields import FRAMES, weight

#: The class of all samples.
SAMPLE: Final = EventClass(Kind.SAMPLE, fields=(FRAMES, weight("ns")))
_NONE: Final = np.zeros(0, np.int64)
_MAX_TIME: Final = 1 << 62
#: Call stacks of no tree: nothing runs, or what runs has no functions.
_IDLE: Final = -1
_EMPTY: Final = -2


def sampled(trace: Trace, report: LossReport) -> Trace:
    """Return the samples of the thread and event with the most of them; of a trace without any, those of slices."""
    source = call_trees(trace, report, timeline(with_shown_frames))
    result = Trace(
        format=trace.format,
        semantics=Semantics(kinds=frozenset({Kind.SAMPLE})),
        clock=source.clock,
        clock_domains=source.clock_domains,
        environment=source.environment,
        strings=source.strings,
        warnings=source.warnings,
        progress=source.progress,
        in_time_order=True,
    )
    ordered = trace.clock.ticks_per_second is None
    result.make_batches = _Sampling(source, result, report, ordered=ordered).batches
    return result


class _Lanes:
    """Columns that are collected, of which those of one key are left."""

    def __init__(self, width: int) -> None:
        self._parts: list[tuple[NDArray[np.int64], ...]] = []
        self._width = width

    def add(self, *columns: NDArray[np.integer]) -> None:
        self._parts.append(tuple(column.astype(np.int64) for column in columns))

    def columns(self) -> list[NDArray[np.int64]]:
        """Return the columns of all parts."""
        return [
            np.concatenate([_NONE, *(part[index] for part in self._parts)])
            for index in range(self._width)
        ]


class _Sampling:
    """One pass over a trace of call trees. Memory is that of the samples, or of the slices where there are none."""

    def __init__(self, source: Trace, result: Trace, report: LossReport, *, ordered: bool) -> None:
        self._source = source
        self._result = result
        self._report = report
        self._ordered = ordered

    def batches(self) -> Iterator[Batch]:
        source = self._source
        stacks, tree = StackTable(source.strings), CallTree()
        columns = SampleColumns(source, stacks)
        samples, slices = _Lanes(5), _Lanes(4)
        last = -_MAX_TIME
        for batch in source.batches():
            if not len(batch):
                continue
            last = max(last, int(batch.ts.max()))
            found = columns.of(batch)
            samples.add(found.ts, found.thread, found.event, found.stack, found.weight)
            self._add_slices(batch, tree, slices)
        ts, thread, event, stack, weight = samples.columns()
        if len(ts):
            self._report.add("slice-beside-samples", len(slices.columns()[0]))
            chosen = self._chosen(thread, event)
            yield from self._of_samples(
                ts[chosen], stack[chosen], weight[chosen], int(event[chosen][0]), stacks
            )
        else:
            yield from self._of_slices(slices, tree, last)

    def _chosen(self, thread: NDArray[np.int64], event: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which samples are of the event with the most, and of these of the thread with the most.

        Of events with the same number, those whose weights are times come first; of samples without times in any case.
        """
        classes = self._source.event_classes
        counts = np.bincount(event)
        of_time = np.array([unit_of(one) == "ns" for one in classes[: len(counts)]])
        # What has no times is best sampled by time.
        first, second = (of_time, counts) if self._ordered else (counts, of_time)
        present = np.flatnonzero(counts)
        most = int(present[np.lexsort((-present, second[present], first[present]))[-1]])
        for number in np.flatnonzero(counts).tolist():
            if number != most:
                name = class_label(classes[number])
                self._report.add("sample-of-other-event", int(counts[number]), name=name)
        found = event == most
        threads, sizes = np.unique(thread[found], return_counts=True)
        usual = int(threads[sizes.argmax()])
        for number, size in zip(threads.tolist(), sizes.tolist(), strict=True):
            if number != usual:
                self._report.add("sample-of-other-thread", size, name=self._name(number))
        kept: NDArray[np.bool_] = found & (thread == usual)
        return kept

    def _name(self, thread: int) -> str:
        if thread < 0:
            return "no thread"
        one = self._source.threads[thread]
        return one.name or f"thread {one.tid}"

    def _of_samples(
        self,
        ts: NDArray[np.int64],
        stack: NDArray[np.int64],
        weight: NDArray[np.int64],
        event: int,
        stacks: StackTable,
    ) -> Iterator[Batch]:
        order = np.argsort(ts, kind="stable")
        ts, stack, weight = ts[order], np.where(stack > 0, stack, _EMPTY)[order], weight[order]
        unit = unit_of(self._source.event_classes[event])
        if self._ordered or unit == "ns":
            if unit != "ns":
                self._report.add("sample-weight-as-time", len(ts), unit=unit)
            ts, ends = _laid_out(ts, np.maximum(weight, 0))
            following = np.append(ts[1:], _MAX_TIME if ends[-1] > ts[-1] else ends[-1:])
            idle = np.flatnonzero(following > ends)
            # After a sample whose time is over, nothing runs until the next one.
            ts = np.insert(ts, idle + 1, ends[idle])
            stack = np.insert(stack, idle + 1, _IDLE)
        frames, held = stacks.frames, stacks.stacks
        table = FrameTable(*(frames[name] for name in frames.dtype.names or ()))
        outer = np.where(held["outer"] > 0, held["outer"], -1).astype(np.int64)
        outer[:1] = -1
        yield from self._batches(ts, stack, (table, outer, held["frame"]))

    def _add_slices(self, batch: Batch, tree: CallTree, slices: _Lanes) -> None:
        steps = steps_of(self._source, batch)
        if not steps.any():
            return
        step = looked_up(steps, batch.class_id)
        names = values_by_class(batch.class_id, batch.row, texts_of(self._source, batch, Role.NAME))
        at = np.flatnonzero(step)
        calls = np.empty(len(at), np.int32)
        strays, ts = tree.add(
            step[at],
            batch.thread[at],
            batch.track[at],
            names[at],
            np.ascontiguousarray(batch.ts[at]),
            calls,
        )
        self._report.add_at("slice-time-moved", self._source, batch, at[ts != batch.ts[at]])
        self._report.add_at("slice-end-unmatched", self._source, batch, at[strays != 0])
        track = batch.track[at]
        slices.add(ts, np.where(track < 0, batch.thread[at], -1), track, calls)

    def _of_slices(self, slices: _Lanes, tree: CallTree, last: int) -> Iterator[Batch]:
        ts, thread, track, call = slices.columns()
        if not len(ts):
            return
        keys, which, sizes = np.unique(
            np.stack([thread, track], axis=1), axis=0, return_inverse=True, return_counts=True
        )
        usual = int(sizes.argmax())
        for number, (one, of) in enumerate(keys.tolist()):
            if number != usual:
                name = self._name(one) if of < 0 else self._source.tracks[of].name
                self._report.add("slice-of-other-thread", int(sizes[number]), name=name)
        kept = which.reshape(-1) == usual
        ts, call = ts[kept], call[kept]
        outer, name, _, _ = tree.calls()
        open_ends, _, times = tree.close(last)
        self._report.add(
            "slice-end-made-up", len(open_ends), int(times.min()) if len(times) else None
        )
        # Of several at one time, the last counts.
        final = np.append(ts[1:] != ts[:-1], True)
        ts, call = ts[final], call[final]
        around = np.where((outer >= 0) & (outer[outer] >= 0), outer, -1).astype(np.int64)
        is_root = outer[call] < 0
        stack = np.where(is_root, _IDLE, call)
        if last > int(ts[-1]):
            ts, stack = np.append(ts, last), np.append(stack, _IDLE)
        anonymous = self._source.strings.intern(ANONYMOUS)
        names = np.arange(len(self._source.strings), dtype=np.int32)
        names[0] = anonymous
        yield from self._batches(ts, stack, (FrameTable.of(names), around, name))

    def _batches(
        self,
        ts: NDArray[np.int64],
        stack: NDArray[np.int64],
        tables: tuple[FrameTable, NDArray[np.int64], NDArray[np.int32]],
    ) -> Iterator[Batch]:
        """Yield samples; call stacks may be `_IDLE` or `_EMPTY`."""
        frames, outer, frame = tables
        idle = self._source.strings.intern(IDLE.encode())
        lasts = np.diff(ts, append=ts[-1:])
        number = self._result.add_class(SAMPLE)
        depths = np.append(depths_of_tree(outer), 0)[stack]  # neither of the two has frames
        for at in parts_of(depths):
            column = frames.stacks_of_tree(stack[at], outer, frame)
            columns = _with_idle(column, stack[at] == _IDLE, idle), lasts[at]
            yield of_one_class(number, ts[at], columns)


def _laid_out(
    ts: NDArray[np.int64], weight: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the starts and ends of samples that last for their weight: none begins before the one before ends."""
    before = np.cumsum(weight) - weight
    if float(np.sum(weight.astype(np.float64))) + float(np.abs(ts).max(initial=0)) >= float(
        _MAX_TIME
    ):
        return ts, np.minimum(np.append(ts[1:], ts[-1:]), _MAX_TIME)
    starts = before + np.maximum.accumulate(ts - before)
    return starts, starts + weight


def _with_idle(column: ListColumn, is_idle: NDArray[np.bool_], idle: int) -> Column:
    """Return call stacks with the function `idle` in place of those that are none."""
    if not is_idle.any():
        return column
    assert isinstance(column.values, StructColumn)
    members = column.values.members
    added = len(column.values)
    name = np.append(np.asarray(members[0]), np.int32(idle))
    others = [np.append(np.asarray(one), np.zeros(1, np.asarray(one).dtype)) for one in members[1:]]
    sizes = np.diff(column.offsets) + is_idle
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    at = np.insert(np.arange(added), column.offsets[:-1][is_idle], added)
    return ListColumn(offsets, take(StructColumn(added + 1, (name, *others)), at))
