# Places of events: (process id, thread id, track, thread name), numbered as they are met.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy


cdef struct Place:
    int64_t pid
    int64_t tid
    int64_t track
    int64_t size
    uint8_t* name


cdef struct Places:
    Place* items
    # A hash table of numbers, counted from 1; 0 is free.
    int32_t* slots
    int64_t count
    int64_t room
    uint64_t mask
    # Unknown to the producer of the trace, which could otherwise choose ids that all fall into one heap.
    uint64_t seed
    # The place of the event before.
    int64_t last


cdef inline uint64_t mixed(uint64_t value) noexcept nogil:
    value *= <uint64_t>0x9E3779B97F4A7C15
    return value ^ (value >> 29)


cdef inline bint init_places(Places* places, uint64_t seed) noexcept nogil:
    places.seed = seed
    places.room = 64
    places.mask = 255
    places.items = <Place*>malloc(places.room * sizeof(Place))
    places.slots = <int32_t*>calloc(places.mask + 1, sizeof(int32_t))
    return places.items is not NULL and places.slots is not NULL


cdef inline void free_places(Places* places) noexcept nogil:
    cdef int64_t i
    for i in range(places.count):
        free(places.items[i].name)
    free(places.items)
    free(places.slots)


cdef inline bint is_place(
    const Place* place, int64_t pid, int64_t tid, int64_t track, const uint8_t* name, int64_t size
) noexcept nogil:
    return (
        place.tid == tid and place.pid == pid and place.track == track and place.size == size
        and memcmp(place.name, name, size) == 0
    )


cdef inline uint64_t hash_of_place(
    uint64_t seed, int64_t pid, int64_t tid, int64_t track, const uint8_t* name, int64_t size
) noexcept nogil:
    cdef uint64_t state = mixed(mixed(mixed(seed ^ <uint64_t>pid) ^ <uint64_t>tid) ^ <uint64_t>track)
    cdef uint64_t word
    cdef int64_t at = 0
    while at < size:
        word = 0
        memcpy(&word, name + at, 8 if size - at > 8 else size - at)
        state = mixed(state ^ word)
        at += 8
    return mixed(state)


# The table with room for more.
cdef inline bint grow_places(Places* places) noexcept nogil:
    cdef uint64_t mask = (places.mask + 1) * 4 - 1
    cdef int32_t* slots = <int32_t*>calloc(mask + 1, sizeof(int32_t))
    cdef Place* place
    cdef uint64_t slot
    cdef int64_t i
    if slots is NULL:
        return False
    for i in range(places.count):
        place = &places.items[i]
        slot = hash_of_place(places.seed, place.pid, place.tid, place.track, place.name, place.size) & mask
        while slots[slot]:
            slot = (slot + 1) & mask
        slots[slot] = <int32_t>(i + 1)
    free(places.slots)
    places.slots = slots
    places.mask = mask
    return True


cdef inline int64_t add_place(
    Places* places, uint64_t slot, int64_t pid, int64_t tid, int64_t track, const uint8_t* name, int64_t size
) noexcept nogil:
    cdef void* moved
    cdef Place* place
    if places.count == places.room:
        moved = realloc(places.items, places.room * 2 * sizeof(Place))
        if moved is NULL:
            return -1
        places.items = <Place*>moved
        places.room *= 2
    place = &places.items[places.count]
    place.pid = pid
    place.tid = tid
    place.track = track
    place.size = size
    place.name = <uint8_t*>malloc(size + 1)
    if place.name is NULL:
        return -1
    memcpy(place.name, name, size)
    places.count += 1
    places.slots[slot] = <int32_t>places.count
    places.last = places.count - 1
    if <uint64_t>places.count * 2 > places.mask and not grow_places(places):
        return -1
    return places.last


# The number of a place; -1 without memory.
cdef inline int64_t find_or_add_place(
    Places* places, int64_t pid, int64_t tid, int64_t track, const uint8_t* name, int64_t size
) noexcept nogil:
    cdef uint64_t slot
    cdef int32_t found
    # Most events are of the thread of the event before.
    if places.count and is_place(&places.items[places.last], pid, tid, track, name, size):
        return places.last
    slot = hash_of_place(places.seed, pid, tid, track, name, size) & places.mask
    while True:
        found = places.slots[slot]
        if found == 0:
            return add_place(places, slot, pid, tid, track, name, size)
        if is_place(&places.items[found - 1], pid, tid, track, name, size):
            places.last = found - 1
            return found - 1
        slot = (slot + 1) & places.mask


cdef enum:
    # The most bytes of a context that is recognised again.
    MOST_CONTEXT = 128


# The common context of an event, and its place: other events with the same bytes are there, too.
cdef struct Context:
    # Bits; 0: there is none.
    int64_t size
    # The bit at which it began, as far as alignment goes.
    int64_t phase
    int64_t place
    uint8_t data[MOST_CONTEXT]


cdef inline bint is_context(
    const Context* context, const uint8_t* data, int64_t at, int64_t end, int64_t alignment
) noexcept nogil:
    return (
        context.size > 0 and context.size <= end - at and at & (alignment - 1) == context.phase
        and memcmp(context.data, data + (at >> 3), context.size >> 3) == 0
    )


cdef inline void note_context(
    Context* context, const uint8_t* data, int64_t at, int64_t end, int64_t alignment, int64_t place
) noexcept nogil:
    context.size = end - at
    if at & 7 or context.size & 7 or context.size > 8 * MOST_CONTEXT:
        context.size = 0
        return
    context.phase = at & (alignment - 1)
    context.place = place
    memcpy(context.data, data + (at >> 3), context.size >> 3)
