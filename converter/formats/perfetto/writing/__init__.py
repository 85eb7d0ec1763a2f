"""Writes Perfetto traces."""

from converter.formats.perfetto.writing.writer import write

__all__ = ["write"]
