"""Reads Chrome JSON."""

from converter.formats.chrome.reading.reader import read

__all__ = ["read"]
