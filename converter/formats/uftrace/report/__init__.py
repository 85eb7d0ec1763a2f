"""Prints uftrace directories as `uftrace replay` does."""

from converter.formats.uftrace.report.lines import print_report

__all__ = ["print_report"]
