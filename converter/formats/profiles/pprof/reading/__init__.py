"""Reads profiles of pprof."""

from converter.formats.profiles.pprof.reading.reader import read

__all__ = ["read"]
