"""Prints uftrace directories as `uftrace replay` does."""
