"""Lossless conversion: the original trace is embedded in the output."""
