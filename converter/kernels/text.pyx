# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns of text: checking it and making it from numbers."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t

from converter.kernels.utf8 cimport is_utf8


def unfit_texts(const uint8_t[:] values, const int64_t[::1] offsets, int64_t limit, bint utf8_only):
    """Rows of a text column that are over `limit` bytes (-1: none is) or, if `utf8_only`, not UTF-8."""
    cdef const uint8_t[::1] data = np.ascontiguousarray(values)
    cdef int64_t rows = offsets.shape[0] - 1
    cdef int64_t i, size
    cdef int64_t found = 0
    cdef int64_t failed = -1
    bad = np.zeros(rows, np.int64)
    cdef int64_t[::1] places = bad
    with nogil:
        for i in range(rows):
            size = offsets[i + 1] - offsets[i]
            if offsets[i] < 0 or size < 0 or offsets[i + 1] > data.shape[0]:
                failed = i
                break
            if (limit >= 0 and size > limit) or (
                utf8_only and size and not is_utf8(&data[offsets[i]], size)
            ):
                places[found] = i
                found += 1
    if failed >= 0:
        raise ValueError(f"text {failed} lies outside the column")
    return bad[:found]


def format_integers(const int64_t[::1] offsets, const uint64_t[::1] values, bint signed):
    """Lists of integers as text, ``[1, 2, 3]``; values are int64 seen as uint64 where `signed`."""
    cdef int64_t rows = offsets.shape[0] - 1
    cdef int64_t i, k, at = 0
    cdef int64_t failed = -1
    cdef uint64_t number
    cdef uint8_t digits[20]
    cdef int count
    if rows < 0:
        raise ValueError("no offsets")
    for i in range(rows):
        if offsets[i] < 0 or offsets[i] > offsets[i + 1] or offsets[i + 1] > values.shape[0]:
            raise ValueError(f"list {i} lies outside the values")
    # At most 20 characters a number (sign and 19 digits, or 20 digits), 2 for the separator, 2 for the brackets.
    text = np.empty(22 * int(offsets[rows] - offsets[0]) + 2 * rows, np.uint8)
    text_offsets = np.zeros(rows + 1, np.int64)
    cdef uint8_t[::1] out = text
    cdef int64_t[::1] ends = text_offsets
    with nogil:
        for i in range(rows):
            out[at] = 91
            at += 1
            for k in range(offsets[i], offsets[i + 1]):
                if k > offsets[i]:
                    out[at] = 44
                    out[at + 1] = 32
                    at += 2
                number = values[k]
                if signed and <int64_t>number < 0:
                    out[at] = 45
                    at += 1
                    number = 0 - number
                count = 0
                while True:
                    digits[count] = <uint8_t>(48 + number % 10)
                    number = number // 10
                    count += 1
                    if number == 0:
                        break
                while count:
                    count -= 1
                    out[at] = digits[count]
                    at += 1
            out[at] = 93
            at += 1
            ends[i + 1] = at
    return text[:at], text_offsets
