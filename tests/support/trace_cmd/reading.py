"""What the reader makes of trace.dat files: the trace, and its events as tuples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.traces.small_traces import fields_at

from converter.formats.trace_cmd.reading.reader import read
from converter.ir.trace import Trace
from converter.storage.opening import open_source


def opened(data: bytes | Path) -> Trace:
    """The trace in a file."""
    return read(open_source(data))


def events(trace: Trace) -> list[tuple[int, int, int, str, dict[str, Any]]]:
    """Each event as (ts, cpu, tid, name, {field: value}); cheap enough for small files only."""
    found = []
    for batch in trace.batches():
        for i in range(len(batch)):
            event_class = trace.event_classes[int(batch.class_id[i])]
            fields = fields_at(trace, batch, i)
            thread = int(batch.thread[i])
            tid = trace.threads[thread].tid if thread >= 0 else -1
            found.append((int(batch.ts[i]), int(batch.cpu[i]), tid, event_class.name, fields))
    return found
