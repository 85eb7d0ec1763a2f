"""Flows that a part cuts: arrows whose one end is in it and whose other is not."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

_FLOWS: Final = frozenset({Kind.FLOW_BEGIN, Kind.FLOW_STEP, Kind.FLOW_END})


class CutFlows:
    """Counts the flows of a part as its batches pass, which are in the order of time."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        #: Ids of those that go on, of which some have come from before.
        self._open: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._came = self._open
        #: Flows that have points in the part, and have not begun in it.
        self.begun_before = 0

    @property
    def still_open(self) -> int:
        """Flows that have begun in the part, and have not ended yet."""
        return len(self._open)

    def follow(self, batch: Batch) -> None:
        """Take in the next batch of the part."""
        places, ids, kinds = [], [], []
        for number, table in batch.tables.items():
            event_class = self._trace.event_classes[number]
            index = event_class.index_of(Role.ID)
            if event_class.kind not in _FLOWS or index is None:
                continue
            at = batch.positions(number)
            column = table.column(index)
            if len(at) and isinstance(column, np.ndarray) and column.dtype.kind in "iu":
                places.append(at)
                ids.append(column.astype(np.uint64))
                kinds.append(np.full(len(at), event_class.kind, np.int32))
        if not places:
            return
        order = np.argsort(np.concatenate(places), kind="stable")
        id, kind = np.concatenate(ids)[order], np.concatenate(kinds)[order]
        known, first = np.unique(id, return_index=True)
        _, last = np.unique(id[::-1], return_index=True)
        begins = kind[first] == Kind.FLOW_BEGIN
        came = ~begins & ~np.isin(known, self._open)
        self.begun_before += int(np.count_nonzero(came & ~np.isin(known, self._came)))
        goes_on = kind[::-1][last] != Kind.FLOW_END
        self._open = np.union1d(np.setdiff1d(self._open, known), known[goes_on & ~came])
        self._came = np.union1d(np.setdiff1d(self._came, known), known[goes_on & came])
