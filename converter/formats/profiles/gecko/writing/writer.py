"""Writes a projected trace as a processed profile: columns of its threads grow beside the output until the end."""

from __future__ import annotations

from converter.formats.profiles.gecko.writing.columns import Columns
from converter.formats.profiles.gecko.writing.counters import CounterWriter
from converter.formats.profiles.gecko.writing.document import Document
from converter.formats.profiles.gecko.writing.markers import MarkerWriter
from converter.formats.profiles.gecko.writing.samples import SampleWriter
from converter.ir.trace import Trace
from converter.storage.sink import Sink


def write(trace: Trace, sink: Sink, variant: str) -> None:  # noqa: ARG001 - there is one
    """Write a trace that was projected to `capabilities`."""
    columns = Columns(trace)
    try:
        markers, samples, counters = (
            MarkerWriter(columns),
            SampleWriter(columns),
            CounterWriter(columns),
        )
        for batch in trace.batches():
            if len(batch):
                columns.begin(batch)
                markers.add(batch)
                samples.add(batch)
                counters.add(batch)
        Document(columns, markers, samples, counters).write(sink)
    finally:
        columns.spool.close()
