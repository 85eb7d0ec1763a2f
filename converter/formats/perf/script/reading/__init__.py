"""Reads the text of perf script."""

from converter.formats.perf.script.reading.reader import read

__all__ = ["read"]
