"""Loads a trace into memory: reads every batch and decodes every column, so that the source is no longer needed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from converter.ir.events import Batch
from converter.ir.trace import Trace


def collect(trace: Trace) -> Trace:
    """Return the same trace with its batches in memory; its tables are complete and shared with `trace`.

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
    """Return the trace with these batches instead of its own."""
    return dataclasses.replace(trace, make_batches=lambda: iter(batches), progress=None)
