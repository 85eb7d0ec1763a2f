"""What a trace.dat file has besides its events, for travelling without the file: a trace.dat file without pages."""

from __future__ import annotations

import dataclasses
from typing import Any

from converter.formats.trace_cmd.native_contents import source_file
from converter.formats.trace_cmd.writer import write
from converter.ir.trace import Trace
from converter.storage.sink import BufferSink


def portable(trace: Trace) -> dict[str, Any]:
    """The sidecar of a trace as JSON-like values and bytes; the writer takes it as it takes the reader's.

    Raises:
        TraceError: the file that the trace was read from is damaged.

    """
    file = source_file(trace)
    if file is None:
        return {}
    sink = BufferSink()
    empty = dataclasses.replace(trace, make_batches=lambda: iter(()), warnings=[])
    write(empty, sink, "")
    return {"skeleton": sink.getvalue()}
