"""The capabilities of trace.dat, which are those of ftrace records."""

from converter.formats.ftrace.capabilities import capabilities

__all__ = ["capabilities"]
