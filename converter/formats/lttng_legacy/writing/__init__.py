"""Writes LTTng 0.x traces."""

from converter.formats.lttng_legacy.writing.writer import write

__all__ = ["write"]
