"""Reading Arrow IPC: a trace that was written so, or a table of somebody else."""

from __future__ import annotations

from converter.columnar.files import errors_of
from converter.columnar.opening import trace_of
from converter.formats.arrow.stored import IpcFile
from converter.ir.trace import Trace
from converter.storage.source import Source


def read(source: Source, **options: str) -> Trace:
    """The trace in a file or stream.

    Args:
        source: the input.
        **options: which columns of a table of somebody else are what (`foreign_trace`).

    Raises:
        TraceError: it is damaged, or has no column with times.

    """
    with errors_of(source, "arrow"):
        return trace_of(IpcFile(source), source, "arrow", options)
