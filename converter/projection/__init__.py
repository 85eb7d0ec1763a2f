"""Filters: trace to trace, each named, optional and tested alone."""
