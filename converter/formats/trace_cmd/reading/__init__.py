"""Reads trace.dat files."""

from converter.formats.trace_cmd.reading.reader import read

__all__ = ["read"]
