"""Statistics of a trace: CPU time of threads, durations of slices, counts of events."""
