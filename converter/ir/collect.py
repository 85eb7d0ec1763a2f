"""A trace in memory: every batch read and every column decoded, so that nothing is left to read from the source."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from converter.ir.events import Batch
from converter.ir.trace import Trace


def collect(trace: Trace) -> Trace:
    """The same trace with its batches in memory; its tables are complete and shared with `trace`.

    Raises:
        TraceError: as `Trace.batches` does.

    """
    batches = list(trace.batches())
    for batch in batches:
        for table in batch.tables.values():
            for index in range(table.width):
                table.column(index)
    return with_batches(trace, batches)


def with_batches(trace: Trace, batches: Sequence[Batch]) -> Trace:
    """The trace with these batches in place of its own."""
    return dataclasses.replace(trace, make_batches=lambda: iter(batches), progress=None)
