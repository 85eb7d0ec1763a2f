"""Batches ahead of the writer, and streams merged into batches."""
