"""Flows outside of slices, which viewers of the source ignore: no arrow begins or ends there.

In other viewers they would attach to another slice, or end a flow that goes on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.batches.union import looked_up
from converter.projection.losses import LossReport
from converter.projection.passes.flows.flows_at_ends import step_of
from converter.projection.passes.flows.late_flows import LateFlows
from converter.projection.passes.time_order import LAST_TIME, ticks

_NEVER: Final = np.iinfo(np.int64).min


def without_unattached(trace: Trace, report: LossReport) -> Trace:
    """Return the trace without the events of flows that viewers of it attach to no slice."""
    result = dataclasses.replace(trace)
    result.make_batches = _Attached(trace, report).batches
    return result


class _Attached:
    def __init__(self, source: Trace, report: LossReport) -> None:
        self._source = source
        self._report = report

    def batches(self) -> Iterator[Batch]:
        stacks, latest = LateFlows(), _NEVER
        steps: list[int] = []
        for batch in self._source.batches():
            binding = self._source.semantics.flows
            steps += [step_of(one, binding) for one in self._source.event_classes[len(steps) :]]
            step = looked_up(np.array(steps, np.int32), batch.class_id)
            arrays = EventArrays(batch, class_id=step, end=self._ends(batch))
            order = batch.time_order
            outside = stacks.outside(arrays, np.arange(len(batch)) if order is None else order)
            # Slices around events that come late have been taken off.
            outside = outside[batch.ts[outside] >= latest]
            latest = max(latest, int(batch.ts.max(initial=_NEVER)))
            if not len(outside):
                yield batch
                continue
            self._report.add_at("flow-outside-slices", self._source, batch, np.sort(outside))
            kept = np.ones(len(batch), np.bool_)
            kept[outside] = False
            yield batch.select(np.flatnonzero(kept))

    def _ends(self, batch: Batch) -> NDArray[np.int64]:
        """Return the time at which each slice with a duration ends; of all other events their time."""
        ends = batch.ts
        for number, table in batch.tables.items():
            event_class = self._source.event_classes[number]
            index = event_class.index_of(Role.DURATION)
            if event_class.kind is not Kind.SLICE_COMPLETE or index is None or not len(table):
                continue
            if ends is batch.ts:
                ends = batch.ts.copy()
            at = batch.positions(number)
            durations = ticks(table.column(index))[batch.row[at]]
            end = ends[at] + durations
            # Without an end, or the sum has wrapped around.
            end[(durations < 0) | (end < ends[at])] = LAST_TIME
            ends[at] = end
        return ends
