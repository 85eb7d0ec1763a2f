"""Lossless conversion: the trace that travels in an output."""
