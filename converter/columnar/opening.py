"""The trace that a file of rows is: that which it was made of, or events of a table of somebody else."""

from __future__ import annotations

from collections.abc import Mapping

from converter.columnar.foreign import foreign_trace
from converter.columnar.layout import ABOUT, TABLES, about_of, decoded_tables
from converter.columnar.own import OwnTable
from converter.columnar.stored import Stored
from converter.ir.trace import Trace
from converter.storage.source import Source


def trace_of(stored: Stored, source: Source, format: str, options: Mapping[str, str]) -> Trace:
    """The trace in a file.

    Args:
        stored: the file.
        source: the same, for messages.
        format: likewise.
        options: which columns of a table of somebody else are what (`foreign_trace`).

    Raises:
        TraceError: it is damaged, or has no column with times.

    """
    metadata = stored.metadata
    about = about_of(metadata[ABOUT]) if ABOUT in metadata else None
    if about is None or TABLES not in metadata or options:
        return foreign_trace(stored, source, format, options)
    trace = decoded_tables(metadata[TABLES])
    OwnTable(stored, about, trace, source, format)
    return trace
