"""Writing: batches to the tables of a profile."""

from converter.formats.profiles.gecko.writing.writer import write

__all__ = ["write"]
