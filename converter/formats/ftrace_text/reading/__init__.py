"""Reads ftrace text."""

from converter.formats.ftrace_text.reading.reader import read

__all__ = ["read"]
