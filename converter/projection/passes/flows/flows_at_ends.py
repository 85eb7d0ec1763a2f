"""Flows at the end of a complete slice, or after it.

Viewers attach such a flow to the slice, as long as nothing else begins on its thread. Where the slice is written as a
begin and an end, the end comes after the flow; a flow that is later than the end moves to just before it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch, EventClass
from converter.ir.kinds import Kind
from converter.ir.semantics import FlowBinding
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.batches.union import looked_up
from converter.projection.losses import LossClass, LossKind, LossReport
from converter.projection.passes.flows.late_flows import LateFlows
from converter.projection.timeline_fields import BINDS

_BEGIN: Final = 1
_END: Final = 2
_COMPLETE: Final = 3
_FLOW: Final = 4
_SPLIT: Final = 5
_STEPS: Final = {
    Kind.SLICE_BEGIN: _BEGIN,
    Kind.SLICE_END: _END,
    Kind.SLICE_COMPLETE: _COMPLETE,
    Kind.INSTANT: _COMPLETE,
    Kind.FLOW_BEGIN: _FLOW,
    Kind.FLOW_STEP: _FLOW,
    Kind.FLOW_END: _FLOW,
}


class LateFlow(NamedTuple):
    """Flows of a batch: their positions, and the begin and end of the slices that they are at the end of."""

    at: NDArray[np.intp]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


class FlowsAtEnds:
    """The slices of a trace, in stacks as viewers have them; continues from batch to batch."""

    def __init__(self, source: Trace, report: LossReport) -> None:
        self._source = source
        self._report = report
        self._stacks = LateFlows()
        self._classes: list[int] = []

    def find(
        self,
        batch: Batch,
        ends: NDArray[np.int64],
        split: NDArray[np.intp],
        order: NDArray[np.int64],
    ) -> LateFlow | None:
        """Return the flows of a batch that viewers attach to a slice that has ended; None if there are none.

        `ends` has the time at which each slice ends, and `split` the positions of those that are written as a begin and
        an end. Flows before the first batch with any do not exist, so that nothing is done until then.
        """
        flows_of = self._source.semantics.flows
        self._classes += [
            _step(one, flows_of) for one in self._source.event_classes[len(self._classes) :]
        ]
        if _FLOW not in self._classes:
            return None
        step = looked_up(np.array(self._classes, np.int32), batch.class_id)
        step[split] = _SPLIT
        arrays = EventArrays(batch, class_id=step, end=ends)
        late = LateFlow(*self._stacks.find(arrays, order))
        return late if len(late.at) else None

    def lose(self, at: NDArray[np.int64]) -> None:
        """Report flows that move, from these times."""
        what = "flows after the end of their slice, at its end"
        self._report.add(LossKind.CHANGED, what, len(at), int(at.min()), LossClass.KEPT)


def _step(event_class: EventClass, flows: FlowBinding) -> int:
    """Return what events of a class are to the stacks of slices; 0 for nothing, as for flows to the next slice."""
    step = _STEPS.get(event_class.kind, 0)
    if event_class.kind is Kind.FLOW_END and flows is FlowBinding.NEXT_UNLESS_STATED:
        return step if BINDS in event_class.fields else 0
    return step
