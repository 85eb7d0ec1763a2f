"""Preparing batches ahead of the writer, and merging streams into batches."""
