"""Perfetto traces of bytes, and their events as tests look at them."""

from __future__ import annotations

from typing import Any

from support.traces.small_traces import fields_at

from converter.formats.perfetto.reading.reader import read
from converter.ir.trace import Trace
from converter.storage.opening import open_source


def opened(data: bytes) -> Trace:
    """The trace that they are."""
    return read(open_source(data))


def events(trace: Trace) -> list[tuple[Any, ...]]:
    """(ts, kind name or event name, thread's tid, {field: value}) of each event, in order."""
    result = []
    for batch in trace.batches():
        for i in range(len(batch)):
            event_class = trace.event_classes[int(batch.class_id[i])]
            thread = int(batch.thread[i])
            tid = trace.threads[thread].tid if thread >= 0 else None
            label = event_class.name or event_class.kind.name
            result.append((int(batch.ts[i]), label, tid, fields_at(trace, batch, i)))
    return result
