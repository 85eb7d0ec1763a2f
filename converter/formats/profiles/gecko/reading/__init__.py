"""Reading: a profile's tables to batches."""

from converter.formats.profiles.gecko.reading.reader import read

__all__ = ["read"]
