"""Inputs and outputs that are elsewhere: whatever fsspec has a file system for (``pip install traceconv[remote]``).

`locations` tells a URL from a path; nothing else of this is imported before there is a URL.
"""
