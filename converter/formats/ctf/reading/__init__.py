"""Reads CTF traces."""

from converter.formats.ctf.reading.reader import read

__all__ = ["read"]
