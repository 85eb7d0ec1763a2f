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
    COMPLETE = 3
    # The name of a complete slice on a stack.
    OF_COMPLETE = -2
    # No viewer shows as many slices inside of each other.
    DEEPEST = 512


# A slice that the end of an outer one closes: the position of that end, its time, and the slice's name and category.
cdef struct InnerEnd:
    int64_t at
    int64_t ts
    int64_t name
    int64_t category


cdef struct InnerEndList:
    InnerEnd* items
    int64_t count
    int64_t room
    # Complete slices that an outer one ends, though they last longer.
    int64_t outlasting


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
    cdef bint _has_complete

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
        const int64_t[::1] ts,
        const int64_t[::1] until,
    ) -> tuple[NDArray[int64], NDArray[int64], NDArray[int32], NDArray[int32], NDArray[np.intp], int, int]:
        """Continue with the events of a batch, in order of time.

        Args:
            step: shape (n,), 1 of events that begin a slice, 2 of those that end one, 3 of complete slices, else 0.
            thread: shape (n,).
            track: shape (n,).
            name: shape (n,), ids of strings, 0 of events without a name.
            category: shape (n,), ids of strings. An end that has one closes only slices of this category.
            or_unnamed: an end with a name also closes a slice without one.
            ts: shape (n,), the time of each event.
            until: shape (n,), the time at which complete slices end.

        Returns:
            Of each slice that the end of an outer one closes, innermost first: the position of that end, its time, and
            the slice's name and category; then the positions of ends that close nothing though slices are open. Of
            slices that are open when a complete one around them ends, the position is that of the next event. Last, the
            number of slices that begin when an outer one ends, which viewers of the source show inside of what is open,
            and that of complete slices that last longer than one around, with which these viewers end them.

        """
        cdef int64_t count = step.shape[0]
        cdef int64_t i
        cdef int32_t stack, entry
        cdef Lanes* held = &self._open
        cdef RecentLane[RECENT] recent
        cdef InnerEndList inner
        cdef int32_t tied_stack = -1
        cdef int64_t tied_ts = 0
        cdef int64_t tied = 0
        cdef bint failed
        if min(thread.shape[0], track.shape[0], name.shape[0], category.shape[0], ts.shape[0], until.shape[0]) < count:
            raise ValueError("columns differ in length")
        unmatched = np.zeros(count, np.uint8)
        cdef unsigned char[::1] closes_nothing = unmatched
        memset(recent, 0, sizeof(recent))
        memset(&inner, 0, sizeof(inner))
        try:
            with nogil:
                failed = not forget_closed(held)
                for i in range(0 if failed else count):
                    if step[i] < BEGIN or step[i] > COMPLETE:
                        continue
                    stack = recent_lane(recent, &held.tops, thread[i], track[i]).number - 1
                    if stack < 0:
                        failed = True
                        break
                    if self._has_complete and not close_ended(held, stack, i, ts[i], &inner):
                        failed = True
                        break
                    if step[i] != END:
                        tied += stack == tied_stack and ts[i] == tied_ts
                        entry = push(held, stack, name[i] if step[i] == BEGIN else OF_COMPLETE)
                        if entry < 0:
                            failed = True
                            break
                        held.entries[entry].number = category[i] if step[i] == BEGIN else OF_COMPLETE
                        held.entries[entry].inside = until[i]
                        self._has_complete |= step[i] == COMPLETE
                        continue
                    entry = innermost_begun(held, stack)
                    if entry < 0:
                        continue
                    if name[i] or category[i]:
                        entry = find_matching(held, stack, name[i], category[i], or_unnamed)
                    if entry < 0:
                        closes_nothing[i] = True
                        continue
                    if innermost(held, stack) != entry:
                        tied_stack, tied_ts = stack, ts[i]
                    while innermost(held, stack) != entry and not failed:
                        if held.entries[innermost(held, stack)].name != OF_COMPLETE:
                            failed = not append(&inner, inner_end(held, stack, i, ts[i]))
                        pop(held, stack)
                    pop(held, stack)
                    if failed:
                        break
            if failed:
                raise MemoryError("too many slices are open")
            return (*columns_of(&inner), np.flatnonzero(unmatched), tied, inner.outlasting)
        finally:
            free(inner.items)


# A complete slice that is over closes those inside it at its end, unless something begins there. False without memory.
cdef bint close_ended(Lanes* held, int32_t stack, int64_t at, int64_t ts, InnerEndList* inner) noexcept nogil:
    cdef int32_t entry = innermost(held, stack)
    cdef bint is_around = False
    cdef int64_t until
    for _ in range(DEEPEST):
        if entry < 0:
            break
        until = held.entries[entry].inside
        if held.entries[entry].name != OF_COMPLETE:
            is_around = True
        elif not is_around and until <= ts:
            pop(held, stack)
            entry = innermost(held, stack)
            continue
        elif is_around and until < ts:
            while innermost(held, stack) != entry:
                if held.entries[innermost(held, stack)].name == OF_COMPLETE:
                    inner.outlasting += held.entries[innermost(held, stack)].inside > until
                elif not append(inner, inner_end(held, stack, at, until)):
                    return False
                pop(held, stack)
            pop(held, stack)
            is_around = False
            entry = innermost(held, stack)
            continue
        entry = held.entries[entry].below
    return True


# Return the innermost slice that needs an end, NONE if there is none.
cdef inline int32_t innermost_begun(const Lanes* held, int32_t stack) noexcept nogil:
    cdef int32_t entry = innermost(held, stack)
    while entry >= 0 and held.entries[entry].name == OF_COMPLETE:
        entry = held.entries[entry].below
    return entry


cdef inline InnerEnd inner_end(const Lanes* held, int32_t stack, int64_t at, int64_t ts) noexcept nogil:
    cdef int32_t entry = innermost(held, stack)
    return InnerEnd(at, ts, held.entries[entry].name, held.entries[entry].number)


cdef tuple columns_of(const InnerEndList* inner):
    at, ts = np.empty(inner.count, np.int64), np.empty(inner.count, np.int64)
    name = np.empty(inner.count, np.int32)
    category = np.empty(inner.count, np.int32)
    cdef int64_t[::1] ats = at
    cdef int64_t[::1] times = ts
    cdef int32_t[::1] names = name
    cdef int32_t[::1] categories = category
    cdef int64_t i
    for i in range(inner.count):
        ats[i] = inner.items[i].at
        times[i] = inner.items[i].ts
        names[i] = <int32_t>inner.items[i].name
        categories[i] = <int32_t>inner.items[i].category
    return at, ts, name, category
