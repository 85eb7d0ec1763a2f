"""Wakeups of threads that have not run since: the start of each wait for a CPU."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.selection.stacks import END, VALUE, Stacks

Mask = NDArray[np.bool_]
#: A recorder may write several of these for one wakeup, and a viewer may look for any.
_WAKEUPS: Final = (Kind.SCHED_WAKING, Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP_NEW)
_BITS: Final = np.int64(2)


class PendingWakeups:
    """The latest wakeup of each kind of each thread that has not been switched in since."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._stacks = Stacks()

    def follow(self, batch: Batch, first: int, owner: NDArray[np.int32], considered: Mask) -> None:
        """Process some events of a batch, numbered from `first`, each of which has an owner."""
        parts = [
            (at[kept], tids[kept], np.full(np.count_nonzero(kept), wakeup), step)
            for at, tids, wakeup, step in self._steps(batch)
            if (kept := considered[at]).any()
        ]
        if not parts or (all(step == END for *_, step in parts) and not len(self.open())):
            return
        at = np.concatenate([part[0] for part in parts])
        lane = np.concatenate([part[1] << _BITS | part[2] for part in parts])
        step = np.concatenate([np.full(len(part[0]), part[3], np.int8) for part in parts])
        order = np.argsort(at, kind="stable")
        at = at[order]
        self._stacks.follow(
            lane[order].view(np.uint64),
            step[order],
            np.zeros(len(at), np.int64),
            first + at.astype(np.int64),
            owner[at],
        )

    def open(self) -> NDArray[np.int64]:
        """Return the numbers, ascending, of wakeups that are wanted and pending."""
        return self._stacks.open()[0]

    def _steps(self, batch: Batch) -> list[tuple[NDArray[np.int32], NDArray[np.int64], int, int]]:
        found = []
        for number, table in batch.tables.items():
            event_class = self._trace.event_classes[number]
            is_wakeup = event_class.kind in _WAKEUPS
            if not len(table) or not (is_wakeup or event_class.kind is Kind.SCHED_SWITCH):
                continue
            index = event_class.index_of(Role.TID if is_wakeup else Role.NEXT_TID)
            column = None if index is None else table.column(index)
            if not isinstance(column, np.ndarray) or column.dtype.kind not in "iu":
                continue
            at, tids = batch.positions(number), column.astype(np.int64)
            if is_wakeup:
                found.append((at, tids, _WAKEUPS.index(event_class.kind), VALUE))
            else:
                found += [(at, tids, wakeup, END) for wakeup in range(len(_WAKEUPS))]
        return found
