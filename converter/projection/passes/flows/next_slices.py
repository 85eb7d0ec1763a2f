"""Flows that end at the slice that begins next, for viewers in which a flow ends at the slice around it.

The end of such a flow moves to just after the begin of that slice. It waits there for it, if need be for many batches.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import order_of
from converter.ir.events import Batch
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up
from converter.projection.losses import LossReport
from converter.projection.passes.renumbering import joined
from converter.projection.timeline_fields import BINDS

_OTHER: Final = 0
_BEGIN: Final = 1
_FLOW: Final = 2
_BEGINS: Final = frozenset({Kind.SLICE_BEGIN, Kind.SLICE_COMPLETE, Kind.INSTANT})


def at_next_slices(trace: Trace, report: LossReport) -> Trace:
    """Return the trace with ends of flows in the slices that they lead to.

    An end that no slice follows leads nowhere, and is dropped.
    """
    result = dataclasses.replace(trace)
    result.make_batches = _NextSlices(trace, report).batches
    return result


class _NextSlices:
    def __init__(self, source: Trace, report: LossReport) -> None:
        self._source = source
        self._report = report
        self._steps: list[int] = []

    def batches(self) -> Iterator[Batch]:
        waiting: Batch | None = None
        for batch in self._source.batches():
            classes = self._source.event_classes[len(self._steps) :]
            self._steps += [_step(one.kind) for one in classes]
            if waiting is None and _FLOW not in {
                self._steps[number] for number, table in batch.tables.items() if len(table)
            }:
                yield batch
                continue
            whole = batch if waiting is None else joined(waiting, batch)
            moved, waiting = self._moved(whole, 0 if waiting is None else len(waiting))
            yield moved
        if waiting is not None:
            at = np.arange(len(waiting))
            self._report.add_at("flow-end-without-slice", self._source, waiting, at)

    def _moved(self, batch: Batch, earlier: int) -> tuple[Batch, Batch | None]:
        """Return the batch with ends of flows after the begins that they wait for, and the ends that still wait.

        The first `earlier` events wait since earlier batches, whatever their times are.
        """
        step = looked_up(np.array(self._steps, np.int32), batch.class_id)
        step[self._bound(batch)] = _OTHER
        ts = batch.ts.copy()
        ts[:earlier] = np.iinfo(np.int64).min
        order = order_of(ts)
        at = np.flatnonzero(step if order is None else step[order])
        at = at if order is None else order[at]
        place = np.where(batch.track[at] >= 0, -1, batch.thread[at])
        by_place = np.lexsort((batch.track[at], place))
        at = at[by_place]
        track, place = batch.track[at], place[by_place]
        # The next begin of each, as the number of an entry of `at`.
        numbers = np.where(step[at] == _BEGIN, np.arange(len(at)), len(at))
        following = np.minimum.accumulate(numbers[::-1])[::-1]
        flows = np.flatnonzero(step[at] == _FLOW)
        target = following[flows]
        found = np.flatnonzero(target < len(at))
        same = (place[flows[found]] == place[target[found]]) & (
            track[flows[found]] == track[target[found]]
        )
        found = found[same]
        begin = at[target[found]]
        moving = at[flows[found]]
        waits = np.zeros(len(batch), np.bool_)
        waits[at[flows]] = True
        waits[moving] = False
        self._report.add_at("flow-moved-to-next-slice", self._source, batch, moving)
        keys = np.arange(len(batch))
        keys[moving] = begin
        after = np.zeros(len(batch), np.bool_)
        after[moving] = True
        new_order = np.lexsort((after, keys))
        times = batch.ts.copy()
        times[moving] = batch.ts[begin]
        kept = new_order[~waits[new_order]]
        result = batch.select(kept)
        result.ts = times[kept]
        return result, batch.select(np.flatnonzero(waits)) if waits.any() else None

    def _bound(self, batch: Batch) -> NDArray[np.intp]:
        """Return the positions of ends of flows that end at the slice around them."""
        found = [np.zeros(0, np.intp)]
        for number, table in batch.tables.items():
            fields = self._source.event_classes[number].fields
            if self._steps[number] == _FLOW and BINDS in fields and len(table):
                column: Any = table.column(fields.index(BINDS))
                found.append(batch.positions(number)[column.astype(np.bool_)].astype(np.intp))
        return np.concatenate(found)


def _step(kind: Kind) -> int:
    if kind is Kind.FLOW_END:
        return _FLOW
    return _BEGIN if kind in _BEGINS else _OTHER
