"""Passes over flows: where they begin and end, and which of their events belong together."""
