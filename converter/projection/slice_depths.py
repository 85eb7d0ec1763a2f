"""Slices that nest deeper than viewers show: they drop those that are inside of so many others, instants too."""

from __future__ import annotations

from typing import Final

import numpy as np

from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.complete_slices import ticks
from converter.projection.losses import Aspect, LossKind, LossReport
from converter.projection.open_slices import SliceDepths
from converter.projection.time_order import order_of

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
#: Viewers stack these on tracks of their CPUs: a number that is no track, for each kind of track.
_OF_CPUS: Final = {
    Kind.IRQ_ENTRY: -2,
    Kind.IRQ_EXIT: -2,
    Kind.SOFTIRQ_ENTRY: -3,
    Kind.SOFTIRQ_EXIT: -3,
}
_LAST_TIME: Final = np.iinfo(np.int64).max


class NestedTooDeep:
    """Counts what is inside of `most` slices on its track or thread; goes on from batch to batch."""

    def __init__(self, trace: Trace, most: int, report: LossReport) -> None:
        self._trace = trace
        self._most = most
        self._report = report
        self.restart()

    def restart(self) -> None:
        """Begin again with the first batch."""
        self._depths = SliceDepths()

    def count(self, batch: Batch) -> None:
        """Count those of a batch, as projected."""
        steps, of_cpus = np.zeros((2, max(batch.tables, default=0) + 1), np.int32)
        for number, table in batch.tables.items():
            if len(table):
                kind = self._trace.event_classes[number].kind
                steps[number] = _STEPS.get(kind, 0)
                of_cpus[number] = _OF_CPUS.get(kind, 0)
        of = {
            number: self._trace.event_classes[number] for number in np.flatnonzero(steps).tolist()
        }
        if not of:
            return
        end = batch.ts
        for number, event_class in of.items():
            duration = event_class.index_of(Role.DURATION)
            if event_class.kind is Kind.SLICE_COMPLETE and duration is not None:
                at = batch.positions(number)
                end = end.copy() if end is batch.ts else end
                ends = batch.ts[at] + ticks(batch.tables[number].column(duration))
                # Past the end of time the sum has wrapped around, as where the duration is not known.
                end[at] = np.where(ends < batch.ts[at], _LAST_TIME, ends)
        places = (batch.thread, batch.track, batch.cpu)
        found = self._depths.beyond(
            steps, of_cpus, batch.class_id, *places, batch.ts, end, order_of(batch.ts), self._most
        )
        what = f"slices and instants inside of {self._most} slices"
        self._report.add(LossKind.UNSHOWN, what, found, int(batch.ts[0]), aspect=Aspect.EVENTS)
