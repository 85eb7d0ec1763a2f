"""Writes trace.dat files."""

from converter.formats.trace_cmd.writing.writer import write

__all__ = ["write"]
