# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The records that a part of a trace needs: those of its time, and the earlier ones that say what is so at its start."""

import os

import numpy as np

from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from converter.kernels.tables.numbers cimport find_pair
from converter.kernels.tables.open_slices cimport (
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


@final
cdef class Kept:
    """Collects records as they are passed over: those to keep, and those that are open so far.

    The part has the times from `first` to `last`.
    """

    # Stub:
    # first: int
    # last: int

    def __cinit__(self, int64_t first, int64_t last):
        self.first, self.last = first, last
        start(&self._open, int.from_bytes(os.urandom(8), "little"))

    def __dealloc__(self):
        free_lanes(&self._open)
        free(self._ranges)

    cdef bint keep(self, int64_t offset, int64_t size) noexcept nogil:
        cdef int64_t room
        cdef int64_t* moved
        cdef int64_t* last = self._ranges + 2 * self._count - 2
        if self._count and last[0] + last[1] == offset:
            last[1] += size
            return True
        if self._count == self._room:
            room = 2 * self._room + 64
            moved = <int64_t*>realloc(self._ranges, 2 * room * sizeof(int64_t))
            if moved is NULL:
                return False
            self._ranges, self._room = moved, room
        self._ranges[2 * self._count] = offset
        self._ranges[2 * self._count + 1] = size
        self._count += 1
        return True

    cdef bint begin(self, uint64_t first, uint64_t second, int64_t name, int64_t offset, int64_t size) noexcept nogil:
        cdef int32_t lane = lane_of(&self._open, first, second)
        cdef int32_t entry = push(&self._open, lane, name) if lane >= 0 else -1
        if entry < 0:
            return False
        self._open.entries[entry].number = offset
        self._open.entries[entry].inside = size
        return True

    cdef bint set(self, uint64_t first, uint64_t second, int64_t offset, int64_t size) noexcept nogil:
        cdef int32_t lane = lane_of(&self._open, first, second)
        cdef int32_t entry
        if lane < 0:
            return False
        entry = innermost(&self._open, lane)
        if entry < 0:
            entry = push(&self._open, lane, 0)
            if entry < 0:
                return False
        self._open.entries[entry].number = offset
        self._open.entries[entry].inside = size
        return True

    cdef void end(self, uint64_t first, uint64_t second, int64_t name) noexcept nogil:
        cdef int32_t lane = find_pair(&self._open.tops, first, second)
        cdef int32_t top, entry
        if lane < 0:
            return
        top = innermost(&self._open, lane)
        if top < 0:
            return
        entry = find_open(&self._open, lane, name, True) if name else top
        if entry < 0:
            entry = top
        while top != entry:
            pop(&self._open, lane)
            top = innermost(&self._open, lane)
        pop(&self._open, lane)

    cdef bint tidy(self) noexcept nogil:
        return forget_closed(&self._open)

    def ranges(self) -> NDArray[int64]:
        """Return the offset and the size of each range of bytes to read, in their order."""
        cdef int64_t i
        cdef int64_t count = self._count
        found = np.empty((self._count + self._open.used, 2), np.int64)
        cdef int64_t[:, ::1] view = found
        for i in range(self._count):
            view[i, 0], view[i, 1] = self._ranges[2 * i], self._ranges[2 * i + 1]
        for i in range(self._open.used):
            if self._open.entries[i].number >= 0:
                view[count, 0], view[count, 1] = self._open.entries[i].number, self._open.entries[i].inside
                count += 1
        return found[np.argsort(found[:count, 0], kind="stable")]


def gather(
    const uint8_t[::1] block, int64_t offset, const int64_t[:, ::1] ranges, int64_t first, uint8_t[::1] out
) -> int:
    """Copy ranges of a source, from number `first` on, to `out` as far as they are in a block, which is at `offset`.

    Returns how many bytes these are. The block starts in the first of the ranges.
    """
    cdef int64_t size = block.shape[0]
    cdef int64_t room = out.shape[0]
    cdef int64_t done = 0
    cdef int64_t i, begin, length
    if first < 0 or ranges.shape[1] != 2:
        raise ValueError("no ranges")
    with nogil:
        for i in range(first, ranges.shape[0]):
            begin = max(ranges[i, 0] - offset, 0)
            length = min(ranges[i, 0] + ranges[i, 1] - offset, size) - begin
            if length <= 0 or begin >= size or done == room:
                break
            length = min(length, room - done)
            memcpy(&out[done], &block[begin], length)
            done += length
            if begin + length < ranges[i, 0] + ranges[i, 1] - offset:
                break
    return done
