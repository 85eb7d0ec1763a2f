"""Reading perf.data."""
