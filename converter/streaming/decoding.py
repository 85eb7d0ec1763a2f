"""Decodes the columns of batches, several tables in parallel if the trace allows it."""

from __future__ import annotations

from converter.ir.columns import Column
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.storage.pool.workers import Future, TaskGroup, workers

#: Tables with fewer rows are not worth handing over: their cost is mostly the interpreter's, which has one lock.
_WORTHWHILE = 1 << 12


class Decoder:
    """Decodes the batches of a trace, using other threads besides the caller's.

    `decode` returns when all tables of the batch are decoded, so that strings are interned batch by batch, and what
    is known of a batch does not depend on the number of threads.
    """

    def __init__(self, trace: Trace) -> None:
        in_parallel = trace.decodes_in_parallel and workers() > 1
        self._workers = TaskGroup() if in_parallel else None

    def close(self) -> None:
        """Release the threads; nothing more will be decoded."""
        if self._workers is not None:
            self._workers.close()

    def decode(self, batch: Batch) -> None:
        """Decode all columns; afterwards any thread may read the batch."""
        large = []
        for table in batch.tables.values():
            if self._workers is None or len(table) < _WORTHWHILE:
                table.columns()
            else:
                large.append(table)
        large.sort(key=len, reverse=True)
        started: list[Future[list[Column]]] = []
        if self._workers is not None:
            started = [self._workers.submit(table.columns) for table in large]
        # In reverse, as other threads take the first ones meanwhile. Nothing is left running, whatever fails.
        failures = [work.failure() for work in reversed(started)]
        for error in filter(None, failures):
            raise error
