"""Writes ftrace text."""

from converter.formats.ftrace_text.writing.writer import write

__all__ = ["write"]
