"""Writes Chrome JSON."""

from converter.formats.chrome.writing.writer import write

__all__ = ["write"]
