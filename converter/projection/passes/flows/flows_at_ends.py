"""Flows at the end of a complete slice, or after it.

Viewers attach such a flow to the slice, as long as nothing else begins on its thread. Where the slice is written as a
begin and an end, the end comes after the flow; a flow that is later than the end moves to just before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch, EventClass
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import FlowBinding
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.batches.union import looked_up
from converter.projection.losses import LossReport
from converter.projection.passes.flows.late_flows import LateFlows
from converter.projection.timeline_fields import BINDS

_FLOW_KINDS: Final = frozenset({Kind.FLOW_BEGIN, Kind.FLOW_STEP, Kind.FLOW_END})
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
            step_of(one, flows_of) for one in self._source.event_classes[len(self._classes) :]
        ]
        if _FLOW not in self._classes:
            return None
        step = looked_up(np.array(self._classes, np.int32), batch.class_id)
        step[split] = _SPLIT
        arrays = EventArrays(batch, class_id=step, end=ends)
        late = LateFlow(*self._stacks.find(arrays, order))
        return late if len(late.at) else None

    def lose(
        self,
        trace: Trace,
        batch: Batch,
        at: NDArray[np.intp],
        to: NDArray[np.int64],
    ) -> None:
        """Report flows at positions `at` of a batch of `trace` that move back `to` a time.

        An arrow whose other end is in between is another one then: viewers follow the order of time.
        """
        flows, ids = _flow_ids(batch, trace.event_classes)
        moved = np.searchsorted(flows, at)
        order = np.lexsort((flows, batch.ts[flows], ids))
        rank = np.empty(len(order), np.intp)
        rank[order] = np.arange(len(order))
        # The flow before each of the same id.
        previous = order[np.maximum(rank[moved] - 1, 0)]
        turns = (
            (rank[moved] > 0) & (ids[previous] == ids[moved]) & (batch.ts[flows[previous]] >= to)
        )
        for code, which in (("flow-moved-to-end", ~turns), ("flow-turned", turns)):
            self._report.add_at(code, trace, batch, at[which], event_kinds=_FLOW_KINDS)


def _flow_ids(batch: Batch, classes: Sequence[EventClass]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the positions of flows in a batch, and their ids where those are numbers, else 0."""
    flows, ids = [np.zeros(0, np.intp)], [np.zeros(0, np.uint64)]
    for number, table in batch.tables.items():
        event_class = classes[number]
        if event_class.kind not in _FLOW_KINDS:
            continue
        at = batch.positions(number)
        index = event_class.index_of(Role.ID)
        column = None if index is None else table.column(index)
        is_number = isinstance(column, np.ndarray) and column.dtype.kind in "iu"
        held = (
            np.asarray(column).astype(np.uint64) if is_number else np.zeros(len(table), np.uint64)
        )
        flows.append(at.astype(np.intp))
        ids.append(held[batch.row[at]])
    positions = np.concatenate(flows)
    order = np.argsort(positions)
    return positions[order], np.concatenate(ids)[order]


def step_of(event_class: EventClass, flows: FlowBinding) -> int:
    """Return what events of a class are to the stacks of slices; 0 for nothing, as for flows to the next slice."""
    step = _STEPS.get(event_class.kind, 0)
    if event_class.kind is Kind.FLOW_END and flows is FlowBinding.NEXT_UNLESS_STATED:
        return step if BINDS in event_class.fields else 0
    return step
