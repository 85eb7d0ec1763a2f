"""Writes CTF traces."""

from converter.formats.ctf.writing.writer import write

__all__ = ["write"]
