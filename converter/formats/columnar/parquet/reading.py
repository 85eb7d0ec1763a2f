"""Reads Parquet: a trace written by traceconv, or any other table."""

from __future__ import annotations

from converter.errors import TraceError
from converter.formats.columnar.files import errors_of
from converter.formats.columnar.opening import trace_of
from converter.formats.columnar.parquet.dataset import read_dataset
from converter.formats.columnar.parquet.stored import ParquetFile
from converter.ir.trace import Trace
from converter.storage.source import Source


def read(source: Source, **options: str) -> Trace:
    """Return the trace in a file, or in a directory of ours.

    Args:
        source: the file or directory.
        **options: the meaning of columns in other tables (`foreign_trace`).

    Raises:
        TraceError: it is damaged, or has no column with times.

    """
    with errors_of(source, "parquet"):
        if source.is_directory:
            if options:
                raise TraceError("columns are named of one file, not of a directory")
            return read_dataset(source)
        return trace_of(ParquetFile(source), source, "parquet", options)
