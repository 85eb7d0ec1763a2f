"""Writes uftrace directories."""

from converter.formats.uftrace.writing.writer import write

__all__ = ["write"]
