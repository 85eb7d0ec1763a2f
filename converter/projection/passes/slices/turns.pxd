# Slices of a batch that are still open at its end, where ends close the innermost slice, whatever its name: going back
# from there, a slice that begins where no more ends are left over than before is open, and ends that are left over at
# the beginning close slices that were open before the batch. So only the slices that stay open have to be kept.

from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset


# For a stack: ends less begins, from the end of the batch back to the current event, and the least and most of them so
# far.
cdef struct Turns:
    int64_t now
    int64_t lowest
    int64_t highest


# Zeros are those of no stack yet; all stacks that there is room for begin with zeros.
cdef struct Turning:
    Turns* lanes
    int64_t room
    # The slices that stay open, the last one first: event and stack of each.
    int64_t* open
    int64_t open_count
    int64_t open_room


cdef inline void free_turning(Turning* of) noexcept nogil:
    free(of.lanes)
    free(of.open)


# Return the counts of a stack; NULL without memory.
cdef inline Turns* turns_of(Turning* of, int64_t lane) noexcept nogil:
    cdef int64_t room = 2 * lane + 8
    cdef Turns* moved
    if lane >= of.room:
        moved = <Turns*>realloc(of.lanes, room * sizeof(Turns))
        if moved is NULL:
            return NULL
        memset(moved + of.room, 0, (room - of.room) * sizeof(Turns))
        of.lanes = moved
        of.room = room
    return &of.lanes[lane]


# One more slice that stays open; false without memory.
cdef inline bint keep_open(Turning* of, int64_t event, int64_t lane) noexcept nogil:
    cdef int64_t room = max(64, 2 * of.open_room)
    cdef int64_t* moved
    if of.open_count == of.open_room:
        moved = <int64_t*>realloc(of.open, room * 2 * sizeof(int64_t))
        if moved is NULL:
            return False
        of.open = moved
        of.open_room = room
    of.open[2 * of.open_count] = event
    of.open[2 * of.open_count + 1] = lane
    of.open_count += 1
    return True
