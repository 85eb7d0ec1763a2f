# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Slices that are open, by their names: which ends have a name that none of them has."""

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

cdef enum:
    BEGIN = 1
    END = 2


cdef class OpenSlices:
    """A stack of names for each lane. Of each, the entries are linked from the innermost outwards."""

    cdef object _names
    cdef object _below
    cdef int64_t _used
    cdef int32_t _free

    def __init__(self):
        self._names = np.zeros(64, np.int32)
        self._below = np.full(64, -1, np.int32)
        self._used = 0
        self._free = -1

    def match(
        self, const int32_t[::1] lane, const int8_t[::1] step, const int32_t[::1] name, int32_t[::1] top
    ):
        cdef int64_t count = lane.shape[0]
        cdef int64_t i
        cdef int32_t entry, place, innermost
        if step.shape[0] != count or name.shape[0] != count:
            raise ValueError("columns differ in length")
        if count and not 0 <= np.min(lane) <= np.max(lane) < top.shape[0]:
            raise ValueError("a lane is unknown")
        self._make_room(int(np.count_nonzero(np.asarray(step) == BEGIN)))
        cdef int32_t[::1] names = self._names
        cdef int32_t[::1] below = self._below
        result = np.zeros(count, np.uint8)
        cdef uint8_t[::1] foreign = result
        for i in range(count):
            innermost = top[lane[i]]
            if step[i] == BEGIN:
                if self._free >= 0:
                    entry = self._free
                    self._free = below[entry]
                else:
                    entry = <int32_t>self._used
                    self._used += 1
                names[entry] = name[i]
                below[entry] = innermost
                top[lane[i]] = entry
            elif step[i] == END and innermost >= 0:
                entry = innermost
                if name[i]:
                    while entry >= 0 and names[entry] != name[i]:
                        entry = below[entry]
                    foreign[i] = entry < 0
                if entry < 0:
                    entry = innermost
                # What is inside the slice that ends is over as well.
                place = below[entry]
                below[entry] = self._free
                self._free = innermost
                top[lane[i]] = place
        return result.view(np.bool_)

    cdef _make_room(self, int64_t count):
        needed = self._used + count
        if needed > 1 << 30:
            raise MemoryError("too many slices are open")
        if needed > len(self._names):
            size = max(needed, 2 * len(self._names)) - len(self._names)
            self._names = np.concatenate((self._names, np.zeros(size, np.int32)))
            self._below = np.concatenate((self._below, np.full(size, -1, np.int32)))


def crossing(const int32_t[::1] lane, const int64_t[::1] start, const int64_t[::1] end):
    cdef int64_t count = lane.shape[0]
    cdef int64_t i
    cdef int64_t depth = 0
    if start.shape[0] != count or end.shape[0] != count:
        raise ValueError("columns differ in length")
    result = np.zeros(count, np.uint8)
    ends = np.zeros(count + 1, np.int64)
    cdef uint8_t[::1] crosses = result
    cdef int64_t[::1] open_ends = ends
    for i in range(count):
        if i and lane[i] != lane[i - 1]:
            depth = 0
        while depth and open_ends[depth - 1] <= start[i]:
            depth -= 1
        if depth and end[i] > open_ends[depth - 1]:
            crosses[i] = 1
            continue
        open_ends[depth] = end[i]
        depth += 1
    return result.view(np.bool_)
