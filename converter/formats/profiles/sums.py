"""Sums of call stacks: what is left of a trace in formats without times.

If a trace has samples, the sums are of their weights, by event, thread and call stack. Otherwise they are of slices:
the time that each call stack took apart from the slices inside of it, in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.call_tree import CallTree
from converter.formats.profiles.samples import SampleColumns, unit_of
from converter.formats.profiles.timeline import add_slices, call_trees, of_one_class
from converter.formats.profiles.trees import lists_of_tree
from converter.ir.columns import ListColumn
from converter.ir.events import Batch, EventClass
from converter.ir.kinds import Kind
from converter.ir.semantics import Semantics
from converter.ir.trace import ClockDomain, Trace, TrackScope
from converter.kernels.tables.strings import StringTable
from converter.projection.capabilities import Capabilities
from converter.projection.domain.call_stacks import MAX_DEPTH, depths_of_tree
from converter.projection.domain.stack_table import StackTable
from converter.projection.losses import LossReport

#: The clock of samples that have an order and no times: the first is at 0, the next at 1.
ORDER: Final = ClockDomain("order", None)
_KEY: Final = np.dtype([("event", np.int32), ("thread", np.int32), ("stack", np.int32)])
_BATCH: Final = 1 << 14


class FitName(Protocol):
    """Returns the name of a frame as a format has it."""

    def __call__(self, name: bytes, *, innermost: bool) -> bytes: ...


_MOST: Final = np.iinfo(np.int64).max


def summed_by_names(
    trace: Trace,
    report: LossReport,
    capabilities: Capabilities,
    sample: EventClass,
    fit: FitName,
) -> Trace:
    """Return the sums of one event, as samples in order, whose outermost frame is their thread.

    The event is the one with the most samples.

    Args:
        trace: any trace.
        report: where the losses are counted.
        capabilities: of call trees, with stacks of names (`timeline.timeline`).
        sample: the class of the result: names of functions, and a weight.
        fit: returns the name of a frame as the format has it.

    """
    source = call_trees(trace, report, capabilities)
    result = Trace(
        format=trace.format,
        semantics=Semantics(kinds=frozenset({Kind.SAMPLE})),
        clock=ORDER,
        strings=source.strings,
        warnings=source.warnings,
        progress=source.progress,
    )
    result.make_batches = lambda: _Sums(source, result, report, sample, fit).batches()
    return result


class Weights:
    """Sums by a number that is that of a key; memory is that of the different keys."""

    def __init__(self, key: np.dtype[np.void]) -> None:
        self._key = key
        self._keys = StringTable()
        self._sums = np.zeros(1, np.int64)
        self._rough = np.zeros(1, np.float64)

    def add(self, keys: NDArray[np.void], weights: NDArray[np.int64]) -> None:
        """Add weights to the sums of their keys."""
        ids = np.empty(len(keys), np.int32)
        size = self._key.itemsize
        starts = np.arange(len(keys), dtype=np.int64) * size
        self._keys.intern_spans(
            keys.view(np.uint8), starts, np.full(len(keys), size, np.int64), ids
        )
        if len(self._keys) > len(self._sums):
            room = 2 * len(self._keys)
            self._sums = _grown(self._sums, room)
            self._rough = _grown(self._rough, room)
        np.add.at(self._sums, ids, weights)
        np.add.at(self._rough, ids, weights.astype(np.float64))

    def sums(self, report: LossReport) -> tuple[NDArray[np.void], NDArray[np.int64]]:
        """Return the keys in the order of first use, and the sum of each."""
        count = len(self._keys)
        keys = np.frombuffer(b"".join(self._keys[i] for i in range(1, count)), self._key)
        sums, rough = self._sums[1:count].copy(), self._rough[1:count]
        beyond = np.abs(rough) >= float(_MOST)
        report.add("sample-sum-too-large", int(np.count_nonzero(beyond)))
        sums[beyond] = np.where(rough[beyond] < 0, -_MOST, _MOST)
        return keys, sums


def _grown(column: NDArray[Any], room: int) -> NDArray[Any]:
    return np.concatenate([column, np.zeros(room - len(column), column.dtype)])


class SliceSums:
    """The slices of a trace of call trees as a tree, with the time that each call took itself."""

    def __init__(self, source: Trace, report: LossReport) -> None:
        self._source = source
        self._report = report
        self.tree = CallTree()
        self.count = 0

    def add(self, batch: Batch) -> None:
        """Add the slices of a batch."""
        found = add_slices(self._source, batch, self.tree)
        if found is None:
            return
        at, strays, ts = found
        self._report.add_at("slice-time-moved", self._source, batch, at[ts != batch.ts[at]])
        self._report.add_at("slice-end-unmatched", self._source, batch, at[strays])
        classes = self._source.event_classes
        for number, table in batch.tables.items():
            if classes[number].kind is Kind.SLICE_BEGIN:
                self.count += len(table)

    def close(
        self, last: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """End what is open at the time `last`, and return the calls of the tree (`CallTree.calls`)."""
        open_ends, _, times = self.tree.close(last)
        first = int(times.min()) if len(times) else None
        self._report.add("slice-end-made-up", len(open_ends), first)
        self._report.add("summed-slices", self.count)
        return self.tree.calls()


class _Sums:
    """One pass over a trace of call trees."""

    def __init__(
        self,
        source: Trace,
        result: Trace,
        report: LossReport,
        sample: EventClass,
        fit: FitName,
    ) -> None:
        self._source = source
        self._sample = sample
        self._fit = fit
        self._result = result
        self._report = report
        self._stacks = StackTable(source.strings)
        self._weights = Weights(_KEY)
        self._slices = SliceSums(source, report)

    def batches(self) -> Iterator[Batch]:
        columns = SampleColumns(self._source, self._stacks)
        counts = np.zeros(0, np.int64)
        last = np.iinfo(np.int64).min
        for batch in self._source.batches():
            if not len(batch):
                continue
            last = max(last, int(batch.ts.max()))
            samples = columns.of(batch)
            if len(samples):
                keys = np.empty(len(samples), _KEY)
                keys["event"], keys["thread"] = samples.event, samples.thread
                keys["stack"] = samples.stack
                self._weights.add(keys, samples.weight)
                found = np.bincount(samples.event, minlength=len(counts))
                found[: len(counts)] += counts
                counts = found
            self._slices.add(batch)
        if counts.any():
            yield from self._of_samples(counts)
        else:
            yield from self._of_slices(last)

    def _of_samples(self, counts: NDArray[np.int64]) -> Iterator[Batch]:
        chosen = int(counts.argmax())
        classes = self._source.event_classes
        for number in np.flatnonzero(counts).tolist():
            if number != chosen:
                name = classes[number].name or f"in {unit_of(classes[number])}"
                self._report.add("sample-of-other-event", int(counts[number]), name=name)
        self._report.add("slice-beside-samples", self._slices.count)
        self._report.add("summed-samples", int(counts[chosen]))
        keys, sums = self._weights.sums(self._report)
        of_event = keys["event"] == chosen
        keys, sums = keys[of_event], sums[of_event]
        # Profiles of differences have such.
        self._report.add("sample-weight-limited", int(np.count_nonzero(sums < 0)))
        sums = np.maximum(sums, 0)
        threads = np.unique(keys["thread"])
        labels = {one: self._label(one, -1) for one in threads.tolist()}
        stacks = self._stacks.stacks
        # Stack 0 is the empty one.
        outer = np.where(stacks["outer"] > 0, stacks["outer"], -1).astype(np.int64)
        outer[:1] = -1
        stack = np.where(keys["stack"] > 0, keys["stack"], -1).astype(np.int64)
        column = self._named(
            stack,
            outer,
            self._stacks.frames["function"][stacks["frame"]],
            [labels[one] for one in threads.tolist()],
            np.searchsorted(threads, keys["thread"]),
        )
        yield from self._samples(column, sums)

    def _of_slices(self, last: int) -> Iterator[Batch]:
        if not self._slices.count:
            return
        outer, name, lane, itself = self._slices.close(last)
        calls = np.flatnonzero((outer >= 0) & (itself > 0))
        # Roots are no functions.
        around = np.where(outer[outer] >= 0, outer, -1).astype(np.int64)
        labels = [
            self._label(thread, track)
            for thread, track in zip(
                *(one.tolist() for one in self._slices.tree.roots()), strict=True
            )
        ]
        column = self._named(calls, around, name, labels, lane[calls])
        yield from self._samples(column, itself[calls])

    def _named(
        self,
        stack: NDArray[np.int64],
        outer: NDArray[np.int64],
        function: NDArray[np.int32],
        labels: list[list[int]],
        which: NDArray[np.integer[Any]],
    ) -> ListColumn:
        """Return the names of call stacks, innermost first, and after these the label of each."""
        depths = depths_of_tree(outer)[stack]
        deep = int(np.count_nonzero(depths > MAX_DEPTH))
        self._report.add("stack-cut", deep, limit=MAX_DEPTH)
        offsets, names = lists_of_tree(stack, outer, function)
        sizes = np.array([len(label) for label in labels], np.int64)
        added = [name for label in labels for name in reversed(label)]
        starts = np.cumsum(sizes) - sizes
        counts = sizes[which]
        offsets_added = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        inner = np.arange(int(offsets_added[-1])) + np.repeat(
            starts[which] - offsets_added[:-1], counts
        )
        names = np.insert(names, np.repeat(offsets[1:], counts), np.array(added, np.int32)[inner])
        return self._fitted(offsets + offsets_added, names)

    def _samples(self, column: ListColumn, weights: NDArray[np.int64]) -> Iterator[Batch]:
        number = self._result.add_class(self._sample)
        for first in range(0, len(weights), _BATCH):
            at = np.arange(first, min(first + _BATCH, len(weights)))
            offsets = column.offsets[first : first + len(at) + 1]
            yield of_one_class(number, at, (ListColumn(offsets, column.values), weights[at]))

    def _fitted(self, offsets: NDArray[np.int64], names: NDArray[np.int32]) -> ListColumn:
        """Return stacks with names that the format has; an empty stack has one name."""
        empty = offsets[1:] == offsets[:-1]
        strings = self._source.strings
        if empty.any():
            names = np.insert(names, offsets[:-1][empty], np.int32(0))
            offsets = offsets + np.concatenate([np.zeros(1, np.int64), np.cumsum(empty)])
        innermost = np.zeros(len(names), np.bool_)
        innermost[offsets[:-1]] = True
        result = names.copy()
        for at, is_innermost in ((innermost, True), (~innermost, False)):
            used, which = np.unique(names[at], return_inverse=True)
            fitted = [self._fit(strings[one], innermost=is_innermost) for one in used.tolist()]
            renamed = (
                strings[one] not in (b"", new) for one, new in zip(used, fitted, strict=True)
            )
            self._report.add("frame-renamed", sum(renamed))
            ids = np.array([strings.intern(new) for new in fitted], np.int32)
            result[at] = ids[which.reshape(-1)]
        return ListColumn(offsets, result)

    def _label(self, thread: int, track: int) -> list[int]:
        """Return the names of the frames of a thread or track, outermost first; none for samples of no thread."""
        source = self._source
        if track < 0:
            return [] if thread < 0 else [self._intern(self._thread_name(thread))]
        one = source.tracks[track]
        names = [one.name]
        if one.scope is TrackScope.THREAD:
            names.insert(0, self._thread_name(one.owner))
        elif one.scope is TrackScope.PROCESS:
            process = source.processes[one.owner]
            names.insert(0, process.name or f"process {process.pid}")
        return [self._intern(name) for name in names]

    def _thread_name(self, thread: int) -> str:
        one = self._source.threads[thread]
        return one.name or self._source.processes[one.process].name or f"thread {one.tid}"

    def _intern(self, name: str) -> int:
        return self._source.strings.intern(name.encode("utf-8", "surrogateescape"))
