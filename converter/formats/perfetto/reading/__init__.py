"""Reads Perfetto traces."""

from converter.formats.perfetto.reading.reader import read

__all__ = ["read"]
