# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns of the values of scanned uftrace records."""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy


def gather_words(const uint64_t[::1] values, const int64_t[::1] first, uint64_t[:, ::1] rows):
    cdef int64_t count = first.shape[0]
    cdef int64_t words = rows.shape[1]
    cdef int64_t i
    cdef int64_t failed = -1
    if rows.shape[0] != count:
        raise ValueError("first and rows differ in length")
    if words == 0:
        return
    with nogil:
        for i in range(count):
            if first[i] < 0 or first[i] > values.shape[0] - words:
                failed = i
                break
            memcpy(&rows[i, 0], &values[first[i]], words * 8)
    if failed >= 0:
        raise ValueError(f"event {failed} lies outside the values")
