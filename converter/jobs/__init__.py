"""Whole jobs: from files to a trace, to another file, to several, and to a comparison."""
