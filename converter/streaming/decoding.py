"""Decoding the columns of batches, several tables at once where the trace allows it."""

from __future__ import annotations

from converter.ir.columns import Column
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.storage.pool.workers import Work, Workers, workers

#: Tables of fewer rows are not worth handing over: what they take is the interpreter's, which has one lock.
_WORTHWHILE = 1 << 12


class Decoder:
    """Decodes batches of a trace, with others beside the thread that asks.

    All that a batch holds is decoded when `decode` returns, so that strings are interned batch by batch, and what is
    known of a batch does not depend on how many threads there are.
    """

    def __init__(self, trace: Trace) -> None:
        beside = trace.decodes_in_parallel and workers() > 1
        self._workers = Workers() if beside else None

    def close(self) -> None:
        """There is nothing more to decode."""
        if self._workers is not None:
            self._workers.close()

    def decode(self, batch: Batch) -> None:
        """Decode all columns: from then on any thread may look at the batch."""
        large = []
        for table in batch.tables.values():
            if self._workers is None or len(table) < _WORTHWHILE:
                table.columns()
            else:
                large.append(table)
        large.sort(key=len, reverse=True)
        begun: list[Work[list[Column]]] = []
        if self._workers is not None:
            begun = [self._workers.submit(table.columns) for table in large]
        # Others take the first ones meanwhile. Nothing is left under way, whatever fails.
        failures = [work.failure() for work in reversed(begun)]
        for error in filter(None, failures):
            raise error
