"""Merging several traces into one: relating clocks, unifying tasks, and merging batches by time."""
