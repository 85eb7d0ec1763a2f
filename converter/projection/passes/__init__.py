"""Passes over the batch stream, for rewrites that depend on more than the event itself."""
