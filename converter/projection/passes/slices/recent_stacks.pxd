# Stacks that were used shortly before, found again without their hash: those of threads on tracks, many events of which
# follow each other.

from libc.stdint cimport int32_t, uint64_t

from converter.kernels.tables.numbers cimport Numbers, find_or_add_pair

cdef enum:
    # A power of two.
    RECENT = 256


# The stack of a thread and track; none yet where `number` is 0, else its number plus 1.
cdef struct RecentLane:
    int32_t track
    int32_t thread
    int32_t number


# Return the stack of a thread and track among all; with the number 0 where there is no memory.
cdef inline RecentLane recent_lane(RecentLane* recent, Numbers* lanes, int32_t thread, int32_t track) noexcept nogil:
    cdef RecentLane* known = &recent[(thread ^ track) & (RECENT - 1)]
    if not known.number or known.track != track or known.thread != thread:
        known[0] = RecentLane(track, thread, find_or_add_pair(lanes, <uint64_t>thread, <uint64_t>track) + 1)
    return known[0]
