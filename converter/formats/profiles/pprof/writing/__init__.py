"""Writes profiles of pprof."""

from converter.formats.profiles.pprof.writing.writer import write

__all__ = ["write"]
