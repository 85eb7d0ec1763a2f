# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Slices that the end of an outer one closes, where ends match begins by name."""

# Stub:
# import numpy as np

import os

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from converter.kernels.tables.open_slices cimport (
    Lanes,
    find_matching,
    forget_closed,
    free_lanes,
    innermost,
    pop,
    push,
    start,
)
from converter.projection.passes.slices.recent_stacks cimport RECENT, RecentLane, recent_lane

cdef enum:
    BEGIN = 1
    END = 2


# A slice that the end of an outer one closes: the position of that end, and the slice's name and category.
cdef struct InnerEnd:
    int64_t at
    int64_t name
    int64_t category


cdef struct InnerEndList:
    InnerEnd* items
    int64_t count
    int64_t room


cdef inline bint append(InnerEndList* to, InnerEnd item) noexcept nogil:
    cdef int64_t room = max(64, 2 * to.room)
    cdef void* moved
    if to.count == to.room:
        moved = realloc(to.items, room * sizeof(InnerEnd))
        if moved is NULL:
            return False
        to.items = <InnerEnd*>moved
        to.room = room
    to.items[to.count] = item
    to.count += 1
    return True


cdef class InnerEnds:
    """Stacks of the slices that are open, by thread and track."""

    cdef Lanes _open

    def __cinit__(self):
        start(&self._open, int.from_bytes(os.urandom(8), "little"))

    def __dealloc__(self):
        free_lanes(&self._open)

    def find(
        self,
        const int32_t[::1] step,
        const int32_t[:] thread,
        const int32_t[:] track,
        const int32_t[::1] name,
        const int32_t[::1] category,
        bint or_unnamed,
    ) -> tuple[NDArray[int64], NDArray[int32], NDArray[int32], NDArray[np.intp]]:
        """Continue with the events of a batch, in order of time.

        Args:
            step: shape (n,), 1 of events that begin a slice, 2 of those that end one, else 0.
            thread: shape (n,).
            track: shape (n,).
            name: shape (n,), ids of strings, 0 of events without a name.
            category: shape (n,), ids of strings. An end that has one closes only slices of this category.
            or_unnamed: an end with a name also closes a slice without one.

        Returns:
            Of each slice that the end of an outer one closes, innermost first: the position of that end, and the
            slice's name and category; then the positions of ends that close nothing though slices are open.

        """
        cdef int64_t count = step.shape[0]
        cdef int64_t i
        cdef int32_t stack, entry
        cdef Lanes* held = &self._open
        cdef RecentLane[RECENT] recent
        cdef InnerEndList inner
        cdef bint failed
        if min(thread.shape[0], track.shape[0], name.shape[0], category.shape[0]) < count:
            raise ValueError("columns differ in length")
        unmatched = np.zeros(count, np.uint8)
        cdef unsigned char[::1] closes_nothing = unmatched
        memset(recent, 0, sizeof(recent))
        memset(&inner, 0, sizeof(inner))
        try:
            with nogil:
                failed = not forget_closed(held)
                for i in range(0 if failed else count):
                    if step[i] != BEGIN and step[i] != END:
                        continue
                    stack = recent_lane(recent, &held.tops, thread[i], track[i]).number - 1
                    if stack < 0:
                        failed = True
                        break
                    entry = innermost(held, stack)
                    if step[i] == BEGIN:
                        entry = push(held, stack, name[i])
                        if entry < 0:
                            failed = True
                            break
                        held.entries[entry].number = category[i]
                        continue
                    if entry < 0:
                        continue
                    entry = find_matching(held, stack, name[i], category[i], or_unnamed)
                    if entry < 0:
                        closes_nothing[i] = True
                        continue
                    while innermost(held, stack) != entry and not failed:
                        failed = not append(&inner, inner_end(held, stack, i))
                        pop(held, stack)
                    pop(held, stack)
                    if failed:
                        break
            if failed:
                raise MemoryError("too many slices are open")
            return (*columns_of(&inner), np.flatnonzero(unmatched))
        finally:
            free(inner.items)


cdef inline InnerEnd inner_end(const Lanes* held, int32_t stack, int64_t at) noexcept nogil:
    cdef int32_t entry = innermost(held, stack)
    return InnerEnd(at, held.entries[entry].name, held.entries[entry].number)


cdef tuple columns_of(const InnerEndList* inner):
    at = np.empty(inner.count, np.int64)
    name = np.empty(inner.count, np.int32)
    category = np.empty(inner.count, np.int32)
    cdef int64_t[::1] ats = at
    cdef int32_t[::1] names = name
    cdef int32_t[::1] categories = category
    cdef int64_t i
    for i in range(inner.count):
        ats[i] = inner.items[i].at
        names[i] = <int32_t>inner.items[i].name
        categories[i] = <int32_t>inner.items[i].category
    return at, name, category
