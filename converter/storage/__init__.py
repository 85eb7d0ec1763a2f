"""Bytes in and out: files, directories, streams and archives."""
