"""Prints trace.dat files as `trace-cmd report` does."""
