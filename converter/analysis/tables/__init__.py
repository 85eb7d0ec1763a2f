"""Slices, counters, samples and scheduling of a trace as tables: a row for each."""
