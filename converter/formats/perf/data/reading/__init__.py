"""Reading perf.data."""

from converter.formats.perf.data.reading.reader import read

__all__ = ["read"]
