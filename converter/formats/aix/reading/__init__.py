"""Reads AIX trace files."""

from converter.formats.aix.reading.reader import read

__all__ = ["read"]
