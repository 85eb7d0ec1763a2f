"""Writes AIX trace files."""

from converter.formats.aix.writing.writer import write

__all__ = ["write"]
