"""Arrows where a complete slice begins: viewers of some formats take slices first, whatever the file says.

Of what is at one time they take the complete slices that last, the longest first, then all else in its order. An arrow
ends at the slice that is there when its end is taken, so that its place in this order decides where it ends.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch, EventClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.losses import LossKind, LossReport
from converter.projection.passes.slices.complete_slices import ticks
from converter.projection.passes.time_order import reordered
from converter.projection.timeline_fields import FLOW_IN, FLOW_OUT

_FLOWS: Final = frozenset({Kind.FLOW_BEGIN, Kind.FLOW_STEP, Kind.FLOW_END})


def slices_first(trace: Trace) -> Trace:
    """The trace as such viewers take its batches, where these have arrows."""
    arrows: list[bool] = []

    def ordered(batch: Batch) -> Batch:
        lasting = _lasting(trace, batch, arrows)
        if lasting is None:
            return batch
        present = np.argsort(batch.ts, kind="stable")
        wanted = np.lexsort((-lasting, batch.ts))
        if np.array_equal(present, wanted):
            return batch
        order = np.empty(len(batch), np.intp)
        order[present] = wanted
        return reordered(batch, order)

    return _with(trace, ordered)


def behind_slices(trace: Trace, report: LossReport) -> Trace:
    """Return the same trace, counting flow arrows that such viewers would attach to a later slice."""
    arrows: list[bool] = []

    def counted(batch: Batch) -> Batch:
        lasting = _lasting(trace, batch, arrows)
        if lasting is None:
            return batch
        of_flows = [
            batch.positions(number)
            for number, table in batch.tables.items()
            if len(table) and trace.event_classes[number].kind in _FLOWS
        ]
        flows = np.concatenate([*of_flows, np.zeros(0, np.intp)])
        slices = np.flatnonzero(lasting)
        slices = slices[np.isin(batch.ts[slices], batch.ts[flows])]
        if len(slices):
            # By time and thread: the last slice.
            last = {(int(batch.ts[at]), int(batch.thread[at])): int(at) for at in slices}
            places = [(int(batch.ts[at]), int(batch.thread[at]), int(at)) for at in flows]
            taken = [at for ts, thread, at in places if last.get((ts, thread), -1) > at]
            if taken:
                what = "arrows in front of a slice that begins with them, which viewers take first"
                report.add(LossKind.CHANGED, what, len(taken), int(batch.ts[taken[0]]))
        return batch

    return _with(trace, counted)


def _with(trace: Trace, of_batch: Callable[[Batch], Batch]) -> Trace:
    result = dataclasses.replace(trace)

    def batches() -> Iterator[Batch]:
        return map(of_batch, trace.batches())

    result.make_batches = batches
    return result


def _lasting(trace: Trace, batch: Batch, arrows: list[bool]) -> NDArray[np.int64] | None:
    """Return the duration of each event of a batch that is a complete slice; None for a batch without arrows or such
    slices.

    `arrows` has a flag for each class checked so far: True if it has arrows.
    """
    arrows += map(_has_arrows, trace.event_classes[len(arrows) :])
    present = [number for number, table in batch.tables.items() if len(table)]
    if not any(arrows[number] for number in present):
        return None
    lasting = None
    for number in present:
        event_class = trace.event_classes[number]
        index = event_class.index_of(Role.DURATION)
        if event_class.kind is Kind.SLICE_COMPLETE and index is not None:
            lasting = np.zeros(len(batch), np.int64) if lasting is None else lasting
            duration = ticks(batch.tables[number].column(index))
            lasting[batch.positions(number)] = np.maximum(duration, 0)
    return lasting


def _has_arrows(event_class: EventClass) -> bool:
    return event_class.kind in _FLOWS or bool({FLOW_IN, FLOW_OUT} & set(event_class.fields))
