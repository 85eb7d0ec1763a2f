"""Writes perf.data files."""

from converter.formats.perf.data.writing.writer import write

__all__ = ["write"]
