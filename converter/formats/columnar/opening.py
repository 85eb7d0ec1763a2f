"""Opens a file of rows: restores the trace that it was made from, or reads a foreign table as events."""

from __future__ import annotations

from collections.abc import Mapping

from converter.formats.columnar.foreign import foreign_trace
from converter.formats.columnar.layout import ABOUT, TABLES, about_of, decoded_tables
from converter.formats.columnar.own import OwnTable
from converter.formats.columnar.stored import Stored
from converter.ir.trace import Trace
from converter.storage.source import Source


def trace_of(stored: Stored, source: Source, format: str, options: Mapping[str, str]) -> Trace:
    """Return the trace in a file.

    Args:
        stored: the file.
        source: the same, for messages.
        format: the same, for messages.
        options: the meanings of columns of a foreign table (`foreign_trace`).

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
