"""Passes over the batch stream: what depends on other events than the one at hand."""
