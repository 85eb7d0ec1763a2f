"""Columns of batches: gathering, grouping by class, merging by time, looking up by index."""
