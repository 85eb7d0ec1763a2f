"""Reads LTTng 0.x traces."""

from converter.formats.lttng_legacy.reading.reader import read

__all__ = ["read"]
