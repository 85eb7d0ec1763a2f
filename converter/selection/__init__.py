"""Selecting a part of a trace: filters its events, and restores the state at its start."""
