"""Reads Fuchsia traces."""

from converter.formats.fxt.reading.reader import read

__all__ = ["read"]
