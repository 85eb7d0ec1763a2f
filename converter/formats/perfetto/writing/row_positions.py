"""The time and position of a class's events, row by row, from which some instructions' columns are derived."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up

_NOWHERE: NDArray[np.int32] = np.zeros(0, np.int32)


class RowPositions:
    """Times, threads and CPUs of the rows of one class at a time; `select` sets the batch and the class."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._batch: Batch | None = None
        self._class_id = -1
        #: pids and tids of all threads, each before the entry for no thread.
        self._ids: NDArray[np.int32] = np.zeros((2, 1), np.int32)

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

    def ids(self, index: int) -> NDArray[np.uint32]:
        """Return the pids (0) or tids (1) of the events as in messages; 0 where there is none."""
        known = self._ids.shape[1] - 1
        if known < len(self._trace.threads):
            processes = self._trace.processes
            added = [
                (processes[thread.process].pid & 0x7FFF_FFFF, thread.tid & 0x7FFF_FFFF)
                for thread in self._trace.threads[known:]
            ]
            columns = np.ascontiguousarray(np.array([*added, (0, 0)], np.int32).T)
            self._ids = np.concatenate((self._ids[:, :-1], columns), axis=1)
        return looked_up(self._ids[index], self.thread).view(np.uint32)
