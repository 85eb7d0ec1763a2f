"""Reads Arrow IPC: a trace written by traceconv, or any other table."""

from __future__ import annotations

from converter.formats.columnar.arrow.stored import IpcFile
from converter.formats.columnar.files import errors_of
from converter.formats.columnar.opening import trace_of
from converter.ir.trace import Trace
from converter.storage.source import Source


def read(source: Source, **options: str) -> Trace:
    """Return the trace in a file or stream.

    Args:
        source: the input.
        **options: the meaning of columns in other tables (`foreign_trace`).

    Raises:
        TraceError: it is damaged, or has no column with times.

    """
    with errors_of(source, "arrow"):
        return trace_of(IpcFile(source), source, "arrow", options)
