"""Tar and zip archives, read as directories without unpacking them to disk."""
