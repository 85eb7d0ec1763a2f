# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns of the values of scanned uftrace records."""

from libc.stdint cimport int64_t, uint64_t

cdef extern from *:
    void __builtin_prefetch(const void*) noexcept nogil

cdef enum:
    # The number of events ahead for which words are prefetched.
    AHEAD = 16


def gather_words(const uint64_t[::1] values, const int64_t[::1] first, uint64_t[:, ::1] columns) -> None:
    """Copy the words from ``values[first[i]]`` on to place i of each of `columns` (words x n).

    Raises ValueError for words outside `values`. Releases the GIL.
    """
    cdef int64_t count = first.shape[0]
    cdef int64_t words = columns.shape[0]
    cdef int64_t i, k
    cdef int64_t failed = -1
    if columns.shape[1] != count:
        raise ValueError("first and columns differ in length")
    with nogil:
        for i in range(count):
            if first[i] < 0 or first[i] > values.shape[0] - words:
                failed = i
                break
            if i + AHEAD < count:
                # Words of a class lie far apart. Where they are is not known to be right yet: it is only fetched.
                __builtin_prefetch(<const void*>(<uint64_t>&values[0] + 8 * <uint64_t>first[i + AHEAD]))
                __builtin_prefetch(<const void*>(<uint64_t>&values[0] + 8 * <uint64_t>(first[i + AHEAD] + words - 1)))
            for k in range(words):
                columns[k, i] = values[first[i] + k]
    if failed >= 0:
        raise ValueError(f"event {failed} lies outside the values")
