"""Passes over slices: their order, ends, nesting and flows."""
