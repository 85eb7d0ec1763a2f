# Slices open on tracks, one inside the other: a stack of entries for each track, linked from the innermost outwards.
# Stacks have keys of two words. Looking for a name is a walk over entries, most of it one step. Deep entries are
# counted by name, so that looking for a name that none of them has costs no walk over them.

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from converter.kernels.tables.numbers cimport Numbers, find_or_add_pair, find_pair, free_numbers

cdef enum:
    # There is no such entry.
    NONE = -1
    MOST_OPEN = 1 << 30
    # This number of stacks, or names on them, is kept for reuse; more only where something is open.
    FEWEST_KEPT = 1 << 12
    # An entry inside more than this number of others is deep.
    SHALLOW = 32
    # The number of entries that are looked at for a category, beyond those that do not have the name.
    MOST_WALKED = 1 << 12


cdef struct Open:
    int64_t number
    int64_t name
    # The part of the time since then that was inside slices that have ended already.
    int64_t inside
    # The one around it, or the next free one.
    int32_t below
    # The number of entries of its stack up to it, and the innermost of these that is not deep.
    int32_t depth
    int32_t shallow
    # Its place among the counts by name, where it is deep.
    int32_t counted
    int32_t owner


# Zeros, except for what `start` sets, are stacks on which nothing is open.
cdef struct Lanes:
    # By stack: the innermost entry plus 1, or 0.
    Numbers tops
    # By the numbers of a stack and a name: how many are open deep inside.
    Numbers counts
    Open* entries
    int64_t room
    int64_t used
    int32_t unused
    int64_t most_kept


cdef inline void start(Lanes* of, uint64_t seed) noexcept nogil:
    memset(of, 0, sizeof(Lanes))
    of.tops.item_size = of.counts.item_size = sizeof(int32_t)
    of.tops.seed = of.counts.seed = seed
    of.unused = NONE
    of.most_kept = FEWEST_KEPT


cdef inline void free_lanes(Lanes* of) noexcept nogil:
    free_numbers(&of.tops)
    free_numbers(&of.counts)
    free(of.entries)


# Return the number of a stack; negative without memory.
cdef inline int32_t lane_of(Lanes* of, uint64_t first, uint64_t second) noexcept nogil:
    return find_or_add_pair(&of.tops, first, second)


cdef inline int32_t innermost(const Lanes* of, int32_t lane) noexcept nogil:
    return (<const int32_t*>of.tops.items)[lane] - 1


# Push an entry on a stack: return it, without an owner; NONE without memory.
cdef inline int32_t push(Lanes* of, int32_t lane, int64_t name) noexcept nogil:
    cdef int32_t entry
    cdef int32_t below = innermost(of, lane)
    cdef int32_t depth = of.entries[below].depth + 1 if below >= 0 else 1
    cdef int32_t counted = NONE
    if of.unused < 0 and not has_room(of):
        return NONE
    if depth > SHALLOW:
        counted = find_or_add_pair(&of.counts, <uint64_t>lane, <uint64_t>name)
        if counted < 0:
            return NONE
        (<int32_t*>of.counts.items)[counted] += 1
    entry = of.unused
    if entry >= 0:
        of.unused = of.entries[entry].below
    else:
        entry = <int32_t>of.used
        of.used += 1
    of.entries[entry].name = name
    of.entries[entry].inside = 0
    of.entries[entry].depth = depth
    of.entries[entry].shallow = entry if depth <= SHALLOW else of.entries[below].shallow
    of.entries[entry].counted = counted
    of.entries[entry].below = below
    (<int32_t*>of.tops.items)[lane] = entry + 1
    return entry


# Pop the innermost entry of a stack that has one: the one around it is the innermost then.
cdef inline void pop(Lanes* of, int32_t lane) noexcept nogil:
    cdef int32_t entry = innermost(of, lane)
    (<int32_t*>of.tops.items)[lane] = of.entries[entry].below + 1
    if of.entries[entry].counted >= 0:
        (<int32_t*>of.counts.items)[of.entries[entry].counted] -= 1
    of.entries[entry].number = NONE
    of.entries[entry].below = of.unused
    of.unused = entry


# Return the innermost entry of a stack that has a name; with `or_none` also one that has none (0).
cdef inline int32_t find_open(const Lanes* of, int32_t lane, int64_t name, bint or_none) noexcept nogil:
    cdef int32_t entry = innermost(of, lane)
    if entry < 0 or is_called(of, entry, name, or_none):
        return entry
    if of.entries[entry].counted >= 0 and not how_many(of, lane, name) and not (or_none and how_many(of, lane, 0)):
        entry = of.entries[entry].shallow
    while entry >= 0 and not is_called(of, entry, name, or_none):
        entry = of.entries[entry].below
    return entry


# Return the innermost entry of a stack that an end of a name and a category closes, in viewers that require both where
# the end has them (0 if not). `number` of the entries is their category.
cdef inline int32_t find_matching(
    const Lanes* of, int32_t lane, int64_t name, int64_t category, bint or_none
) noexcept nogil:
    cdef int32_t entry = find_open(of, lane, name, or_none) if name else innermost(of, lane)
    cdef int32_t walked = 0
    while entry >= 0 and category and not (
        of.entries[entry].number == category and (not name or is_called(of, entry, name, or_none))
    ):
        walked += 1
        entry = of.entries[entry].below if walked < MOST_WALKED else NONE
    return entry


cdef inline bint is_called(const Lanes* of, int32_t entry, int64_t name, bint or_none) noexcept nogil:
    return of.entries[entry].name == name or or_none and not of.entries[entry].name


# Return the number of entries of a name that are open deep inside.
cdef inline int32_t how_many(const Lanes* of, int32_t lane, int64_t name) noexcept nogil:
    cdef int32_t counted = find_pair(&of.counts, <uint64_t>lane, <uint64_t>name)
    return 0 if counted < 0 else (<const int32_t*>of.counts.items)[counted]


cdef inline bint has_room(Lanes* of) noexcept nogil:
    cdef int64_t room
    cdef void* moved
    if of.used < of.room:
        return True
    room = max(64, 2 * of.room)
    if room > MOST_OPEN:
        return False
    moved = realloc(of.entries, room * sizeof(Open))
    if moved is NULL:
        return False
    of.entries = <Open*>moved
    of.room = room
    return True


# Forget stacks, and names on them, on which nothing is open, once there are many; false without memory.
cdef inline bint forget_closed(Lanes* of) noexcept nogil:
    cdef Lanes kept
    cdef int64_t i
    cdef int32_t entry, lane, counted
    if of.tops.count <= of.most_kept and of.counts.count <= of.most_kept:
        return True
    start(&kept, of.tops.seed)
    for i in range(of.tops.count):
        entry = innermost(of, <int32_t>i)
        if entry < 0:
            continue
        lane = lane_of(&kept, of.tops.keys[2 * i], of.tops.keys[2 * i + 1])
        if lane < 0:
            free_lanes(&kept)
            return False
        (<int32_t*>kept.tops.items)[lane] = entry + 1
        while of.entries[entry].counted >= 0:
            counted = find_or_add_pair(&kept.counts, <uint64_t>lane, <uint64_t>of.entries[entry].name)
            if counted < 0:
                free_lanes(&kept)
                return False
            (<int32_t*>kept.counts.items)[counted] += 1
            # A caller that fails for memory has failed for good: that some have a new position already does not matter
            # then.
            of.entries[entry].counted = counted
            entry = of.entries[entry].below
    free_numbers(&of.tops)
    free_numbers(&of.counts)
    of.tops, of.counts = kept.tops, kept.counts
    of.most_kept = max(FEWEST_KEPT, 4 * max(of.tops.count, of.counts.count))
    return True
