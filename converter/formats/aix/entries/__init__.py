"""Entries of an AIX trace stream, and how values are encoded in them."""
