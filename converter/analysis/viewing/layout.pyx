# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Layout of a timeline's items below each other."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, INT64_MAX


def rows_of(
    const int32_t[::1] group,
    const int64_t[::1] start,
    int64_t[::1] end,
    const uint8_t[::1] nests,
    int32_t most,
) -> NDArray[int32]:
    """Return the row of each item within its group, so that those of a row follow each other; -1 where all `most` are
    taken.

    Items are sorted by group, and by start in each. Where a group's `nests` is set, an item is in those that started
    before it and go on: one that has no end (the largest number) gets the earliest of theirs, in `end`. Where it is
    not, it is in the first row that is free. Raises ValueError for columns that differ in length. Releases the GIL.
    """
    cdef int64_t count = group.shape[0]
    if not (count == start.shape[0] == end.shape[0]):
        raise ValueError("columns differ in length")
    if count and (np.min(group) < 0 or np.max(group) >= nests.shape[0]) or most < 1:
        raise ValueError("no such group")
    result = np.zeros(count, np.int32)
    ends = np.zeros(most, np.int64)
    cdef int32_t[::1] row = result
    # The time at which the last item of each row is over, and at which its first item and those around that are.
    cdef int64_t[::1] over = ends
    cdef int64_t[::1] first_over = np.zeros(most, np.int64)
    cdef int64_t i
    cdef int32_t used = 0, at
    cdef int32_t now = -1
    cdef bint nested = False
    with nogil:
        for i in range(count):
            if group[i] != now:
                now = group[i]
                nested = nests[now] != 0
                used = 0
            if nested:
                while used and over[used - 1] <= start[i]:
                    used -= 1
                at = used
                if at == most:
                    row[i] = -1
                    continue
                if end[i] == INT64_MAX and at:
                    end[i] = first_over[at - 1]
                used += 1
                first_over[at] = min(end[i], first_over[at - 1]) if at else end[i]
            else:
                at = 0
                while at < used and over[at] > start[i]:
                    at += 1
                if at == most:
                    row[i] = -1
                    continue
                if at == used:
                    used += 1
            over[at] = end[i]
            row[i] = at
    return result
