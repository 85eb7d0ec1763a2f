"""The time and position of a class's events, row by row, from which some instructions' columns are derived."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.trace import Trace

_NOWHERE: NDArray[np.int32] = np.zeros(0, np.int32)


class RowPositions:
    """Times, threads and CPUs of the rows of one class at a time; `select` sets the batch and the class."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._batch: Batch | None = None
        self._class_id = -1
        #: pid and tid of each thread, after the entry for no thread.
        self._ids: NDArray[np.uint32] = np.zeros((1, 2), np.uint32)

    def select(self, batch: Batch, class_id: int) -> None:
        """Select the events of a class in a batch."""
        self._batch, self._class_id = batch, class_id

    def _rows(self, column: str) -> NDArray[np.int32]:
        if self._batch is None:
            return _NOWHERE
        rows: NDArray[np.int32] = getattr(self._batch, column)[
            self._batch.positions(self._class_id)
        ]
        return rows

    @property
    def ts(self) -> NDArray[np.int64]:
        """The times of the events."""
        return self._rows("ts").astype(np.int64, copy=False)

    @property
    def thread(self) -> NDArray[np.int32]:
        """The threads of the events, -1 where there is none."""
        return self._rows("thread")

    @property
    def cpu(self) -> NDArray[np.int32]:
        """The CPUs of the events, -1 where there is none."""
        return self._rows("cpu")

    @property
    def ids(self) -> NDArray[np.uint32]:
        """The pids and tids of the events as in messages; zeros where there is none."""
        known = len(self._ids) - 1
        if known < len(self._trace.threads):
            processes = self._trace.processes
            added = [
                (processes[thread.process].pid & 0x7FFF_FFFF, thread.tid & 0x7FFF_FFFF)
                for thread in self._trace.threads[known:]
            ]
            self._ids = np.concatenate((self._ids, np.array(added, np.uint32)))
        ids: NDArray[np.uint32] = self._ids[self.thread + 1]
        return ids
