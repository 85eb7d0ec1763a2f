"""Decoding the columns of batches, several tables at once where the trace allows it."""

from __future__ import annotations

from concurrent.futures import Future

from converter.ir.columns import Column
from converter.ir.events import Batch, Table
from converter.ir.trace import Trace
from converter.storage.workers import Threads, workers

#: Tables of fewer rows are not worth handing over: what they take is the interpreter's, which has one lock.
_WORTHWHILE = 1 << 12


class Decoder:
    """Decodes batches of a trace, with other threads beside the one that asks.

    All that a batch holds is decoded when `decode` returns, so that strings are interned batch by batch, and what is
    known of a batch does not depend on how many threads there are.
    """

    def __init__(self, trace: Trace) -> None:
        beside = workers() - 1 if trace.decodes_in_parallel else 0
        self._pool = Threads(beside, "traceconv-decoder") if beside else None

    def close(self) -> None:
        """End the other threads."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def decode(self, batch: Batch) -> None:
        """Decode all columns: from then on any thread may look at the batch."""
        large = []
        for table in batch.tables.values():
            if self._pool is None or len(table) < _WORTHWHILE:
                table.columns()
            else:
                large.append(table)
        large.sort(key=len, reverse=True)
        begun: list[tuple[Table, Future[list[Column]]]] = []
        if self._pool is not None:
            begun = [(table, self._pool.submit(table.columns)) for table in large]
        # Beside them this thread takes the last ones, which no other has come to.
        for table, done in reversed(begun):
            if done.cancel():
                table.columns()
        for _, done in begun:
            if not done.cancelled():
                done.result()
