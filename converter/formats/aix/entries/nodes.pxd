# cython: language_level=3
"""Encoding of the fields of this converter's own hooks: a tree of nodes for each class, its children contiguous.

Numbers are big-endian and unaligned, those of 8 bits and booleans 2 bytes wide, since templates print numbers of 2, 4
and 8 bytes. Texts, bytes and arrays begin with their length in 4 bytes, optionals and variants with 2 bytes that say
which.
"""

cdef enum:
    # An integer or float of `width` bytes; integers of one byte may be `signed`.
    NODE_NUMBER = 0
    NODE_BOOLEAN = 1
    NODE_NULL = 2
    # A text by its id in the trace's strings; reading, both kinds are bytes.
    NODE_STRING = 3
    NODE_BYTES = 4
    # `extent` elements, or any number when -1.
    NODE_ARRAY = 5
    NODE_STRUCTURE = 6
    NODE_OPTIONAL = 7
    NODE_VARIANT = 8
    NODE_LAST = 8

    MAX_NODES = 1 << 16
    # Elements without bytes of their own (nulls) in an array: their number is bounded by nothing else.
    MAX_EMPTY_ELEMENTS = 255
