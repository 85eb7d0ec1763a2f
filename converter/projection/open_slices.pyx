# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Slices that are open, by their names: which ends have a name that none of them has."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc

from converter.kernels.numbers cimport Numbers, find_or_add_pair, free_numbers

cdef enum:
    BEGIN = 1
    END = 2
    MOST_OPEN = 1 << 30


cdef struct Entry:
    int32_t name
    # The one around it, or the next free one; -1 is none.
    int32_t below


cdef class OpenSlices:
    """A stack of names for each track of a thread. Of each, the entries are linked from the innermost outwards."""

    # By thread and track: the innermost entry and 1, or 0.
    cdef Numbers _stacks
    cdef Entry* _entries
    cdef int64_t _room
    cdef int64_t _used
    cdef int32_t _free

    def __cinit__(self):
        self._stacks.item_size = sizeof(int32_t)
        self._free = -1

    def __dealloc__(self):
        free_numbers(&self._stacks)
        free(self._entries)

    def match(
        self, const int32_t[::1] step, const int32_t[:] thread, const int32_t[:] track, const int32_t[::1] name
    ):
        cdef int64_t count = step.shape[0]
        cdef int64_t i, stack
        cdef int64_t found = 0
        cdef int32_t entry
        cdef int32_t* top
        cdef bint failed = False
        if thread.shape[0] != count or track.shape[0] != count or name.shape[0] != count:
            raise ValueError("columns differ in length")
        result = np.zeros(count, np.uint8)
        cdef uint8_t[::1] foreign = result
        with nogil:
            for i in range(count):
                if step[i] != BEGIN and step[i] != END:
                    continue
                stack = find_or_add_pair(&self._stacks, <uint64_t>thread[i], <uint64_t>track[i])
                if stack < 0 or step[i] == BEGIN and self._free < 0 and not self._has_room():
                    failed = True
                    break
                top = <int32_t*>self._stacks.items + stack
                if step[i] == BEGIN:
                    entry = self._taken()
                    self._entries[entry].name = name[i]
                    self._entries[entry].below = top[0] - 1
                    top[0] = entry + 1
                elif top[0]:
                    foreign[i] = self._end(top, name[i])
        if failed:
            raise MemoryError("too many slices are open")
        return np.flatnonzero(result)

    # End the innermost slice of a name, or the innermost of all: whether none has the name.
    cdef bint _end(self, int32_t* top, int32_t name) noexcept nogil:
        cdef int32_t innermost = top[0] - 1
        cdef int32_t entry = innermost
        if name:
            while entry >= 0 and self._entries[entry].name != name:
                entry = self._entries[entry].below
        cdef bint foreign = entry < 0
        if foreign:
            entry = innermost
        # What is inside the slice that ends is over as well.
        top[0] = self._entries[entry].below + 1
        self._entries[entry].below = self._free
        self._free = innermost
        return foreign

    cdef int32_t _taken(self) noexcept nogil:
        cdef int32_t entry = self._free
        if entry >= 0:
            self._free = self._entries[entry].below
            return entry
        self._used += 1
        return <int32_t>(self._used - 1)

    cdef bint _has_room(self) noexcept nogil:
        cdef int64_t room
        cdef void* moved
        if self._used < self._room:
            return True
        room = max(64, 2 * self._room)
        if room > MOST_OPEN:
            return False
        moved = realloc(self._entries, room * sizeof(Entry))
        if moved is NULL:
            return False
        self._entries = <Entry*>moved
        self._room = room
        return True


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
