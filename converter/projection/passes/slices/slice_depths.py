"""Counts slices that nest deeper than viewers show: they drop those inside of too many others, and
instants there too.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import EventArrays
from converter.projection.losses import LossReport
from converter.projection.passes.slices.slice_nesting import SliceDepths
from converter.projection.passes.time_order import ticks

_BEGINS: Final = 1
_ENDS: Final = 2
_AT_ONCE: Final = 3
_STEPS: Final = {
    Kind.SLICE_BEGIN: _BEGINS,
    Kind.SLICE_END: _ENDS,
    Kind.SLICE_COMPLETE: _AT_ONCE,
    Kind.INSTANT: _AT_ONCE,
    Kind.SYSCALL_ENTRY: _BEGINS,
    Kind.SYSCALL_EXIT: _ENDS,
    Kind.IRQ_ENTRY: _BEGINS,
    Kind.IRQ_EXIT: _ENDS,
    Kind.SOFTIRQ_ENTRY: _BEGINS,
    Kind.SOFTIRQ_EXIT: _ENDS,
}
#: Kinds that viewers stack on tracks of their CPUs, with a number for each such kind of track that no real track has.
_OF_CPUS: Final = {
    Kind.IRQ_ENTRY: -2,
    Kind.IRQ_EXIT: -2,
    Kind.SOFTIRQ_ENTRY: -3,
    Kind.SOFTIRQ_EXIT: -3,
}
_LAST_TIME: Final = np.iinfo(np.int64).max


class NestedTooDeep:
    """Counts what is inside of `most` slices on its track or thread; continues from batch to batch."""

    def __init__(self, trace: Trace, most: int, report: LossReport) -> None:
        self._trace = trace
        self._most = most
        self._report = report
        self.restart()

    def restart(self) -> None:
        """Start over with the first batch."""
        self._depths = SliceDepths()
        #: By class: the meaning of its events here, the kind of their track, and whether they know their own end.
        self._steps, self._of_cpus = np.zeros((2, 0), np.int32)
        self._ending: list[tuple[int, int]] = []

    def count(self, batch: Batch) -> None:
        """Count those of a projected batch."""
        self._follow()
        if not len(batch) or not self._steps.any():
            return
        end = batch.ts
        for number, duration in self._ending:
            if number in batch.tables and len(batch.tables[number]):
                at = batch.positions(number)
                end = end.copy() if end is batch.ts else end
                ends = batch.ts[at] + ticks(batch.tables[number].column(duration))
                # The sum has wrapped around past the end of time, or the duration is unknown.
                end[at] = np.where(ends < batch.ts[at], _LAST_TIME, ends)
        columns = {"class_id": batch.class_id, "thread": batch.thread, "track": batch.track}
        found = self._depths.beyond(
            self._steps,
            self._of_cpus,
            EventArrays(ts=batch.ts, end=end, cpu=batch.cpu, **columns),
            batch.time_order,
            self._most,
        )
        self._report.add("nested-too-deep", found, int(batch.ts[0]), limit=self._most)

    def _follow(self) -> None:
        """Check the classes that are new."""
        known = len(self._steps)
        new = self._trace.event_classes[known:]
        if not new:
            return
        steps = [_STEPS.get(one.kind, 0) for one in new]
        of_cpus = [_OF_CPUS.get(one.kind, 0) for one in new]
        self._steps = np.append(self._steps, np.array(steps, np.int32))
        self._of_cpus = np.append(self._of_cpus, np.array(of_cpus, np.int32))
        for number, event_class in enumerate(new, known):
            duration = event_class.index_of(Role.DURATION)
            if event_class.kind is Kind.SLICE_COMPLETE and duration is not None:
                self._ending.append((number, duration))
