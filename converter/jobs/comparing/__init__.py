"""Compares two traces: their events, their tables, and their other properties."""
