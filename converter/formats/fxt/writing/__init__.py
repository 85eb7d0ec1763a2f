"""Writes Fuchsia traces."""

from converter.formats.fxt.writing.writer import write

__all__ = ["write"]
