"""Writes the text of perf script."""

from converter.formats.perf.script.writing.writer import write

__all__ = ["write"]
