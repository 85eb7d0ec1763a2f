"""Remote inputs and outputs: on any file system that fsspec supports (``pip install traceconv[remote]``).

`locations` tells a URL from a path; nothing else of this package is imported before there is a URL.
"""
