"""Reads uftrace directories."""

from converter.formats.uftrace.reading.reader import read

__all__ = ["read"]
