"""Byte sources and sinks: files, directories, streams and archives."""
