"""Writes perf.data."""

from __future__ import annotations

from converter.errors import TraceError
from converter.formats.perf.data.writing.new_recording import NewRecording
from converter.ir.trace import Trace
from converter.storage.sink import Sink


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write a perf.data file from a trace that was projected to the format.

    Raises:
        UnsupportedError: an event is larger than any record.
        OutputError: the sink cannot be written to.
        TraceError: as `Trace.batches` does.

    """
    del variant
    try:
        NewRecording(trace, sink).write()
    except TraceError as error:
        raise error.within(format="perf") from error
