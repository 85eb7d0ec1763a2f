"""Prints AIX trace files as trcrpt does."""

from converter.formats.aix.report.lines import print_report

__all__ = ["print_report"]
