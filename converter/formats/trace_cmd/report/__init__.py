"""Prints trace.dat files as `trace-cmd report` does."""

from converter.formats.trace_cmd.report.lines import print_report

__all__ = ["print_report"]
