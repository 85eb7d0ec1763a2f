"""Capabilities of trace.dat: it holds what records of ftrace hold."""

from converter.formats.ftrace.capabilities import capabilities

__all__ = ["capabilities"]
