# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Slices that are open, by their names: which ends have a name that none of them has."""

import os

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from converter.kernels.open_slices cimport (
    Lanes,
    find_open,
    forget_closed,
    free_lanes,
    innermost,
    lane_of,
    pop,
    push,
    start,
)

cdef enum:
    BEGIN = 1
    END = 2


cdef class OpenSlices:
    """Lanes are the tracks of threads."""

    cdef Lanes _open

    def __cinit__(self):
        start(&self._open, int.from_bytes(os.urandom(8), "little"))

    def __dealloc__(self):
        free_lanes(&self._open)

    def match(
        self, const int32_t[::1] step, const int32_t[:] thread, const int32_t[:] track, const int32_t[::1] name
    ):
        cdef int64_t count = step.shape[0]
        cdef int64_t i
        cdef int32_t lane, entry
        cdef Lanes* held = &self._open
        cdef bint failed
        if thread.shape[0] != count or track.shape[0] != count or name.shape[0] != count:
            raise ValueError("columns differ in length")
        result = np.zeros(count, np.uint8)
        cdef uint8_t[::1] foreign = result
        with nogil:
            failed = not forget_closed(held)
            for i in range(0 if failed else count):
                if step[i] != BEGIN and step[i] != END:
                    continue
                lane = lane_of(held, <uint64_t>thread[i], <uint64_t>track[i])
                if lane < 0 or step[i] == BEGIN and push(held, lane, name[i]) < 0:
                    failed = True
                    break
                if step[i] == END and innermost(held, lane) >= 0:
                    entry = find_open(held, lane, name[i], False) if name[i] else innermost(held, lane)
                    if entry < 0:
                        foreign[i] = 1
                        entry = innermost(held, lane)
                    # What is inside the slice that ends is over as well.
                    while innermost(held, lane) != entry:
                        pop(held, lane)
                    pop(held, lane)
        if failed:
            raise MemoryError("too many slices are open")
        return np.flatnonzero(result)


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
