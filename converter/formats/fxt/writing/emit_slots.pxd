# The string and thread slots of the provider that is written: each a ring, whose next slot goes to what has none.
#
# What is not registered yet is registered before the record that refers to it: strings when the record is to be made,
# by one emitter at a time, threads as decided before for all events of a batch.

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from converter.formats.fxt.words cimport MAX_TEXT, STRING, STRING_SLOTS, THREAD, THREAD_SLOTS, padded, rarely
from converter.formats.fxt.writing.emit cimport BAD_COLUMN, NO_MEMORY, TEXT_TOO_LONG
from converter.formats.fxt.writing.emit_output cimport Records, put_stream, put_word, reserve
from converter.kernels.io.byte_order cimport store64
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    # Slots left when it begins to matter which ones a record under construction uses: a record uses at most 32.
    SCARCE = 64
    # With the slot of an event's thread: that its record registers it there. Instead of one: that there is no such thread.
    NEWLY = 0x100
    NO_THREAD = -1
    THREAD_BYTES = 24


cdef struct StringSlots:
    # The slot of each string, 0 without one: of `known` strings, with room for more.
    uint16_t* slots
    int64_t known
    int64_t room
    # The content of each slot (the string plus one), and the number of the record that last used it.
    int32_t owners[STRING_SLOTS]
    uint32_t stamps[STRING_SLOTS]
    uint32_t record
    int32_t last
    int64_t registered
    # The number of times a slot was taken from one string for another: records that were made before that may be wrong.
    int64_t taken
    # Slots are used again, so that those of the record under construction must be left alone.
    bint scarce


cdef struct ThreadSlots:
    # For each thread: process and thread koid, its slot or 0, whether a record has mentioned it.
    uint64_t* koids
    uint8_t* slots
    uint8_t* seen
    int64_t count
    int64_t room
    # The content of each slot (the thread plus one).
    int32_t owners[THREAD_SLOTS]
    int32_t last


# Room for the slots of `count` strings; false without memory.
cdef inline bint strings_follow(StringSlots* strings, int64_t count) noexcept nogil:
    cdef uint16_t* moved
    if count > strings.room:
        moved = <uint16_t*>realloc(strings.slots, count * 2 * sizeof(uint16_t))
        if moved is NULL:
            return False
        memset(moved + strings.room, 0, (count * 2 - strings.room) * sizeof(uint16_t))
        strings.slots = moved
        strings.room = count * 2
    strings.known = count
    return True


# The slot of a string, registered when it has none; or why there is none.
cdef inline int64_t string_slot(StringSlots* strings, Records* out, StringTable table, int32_t id) noexcept nogil:
    cdef uint32_t slot
    if id == 0:
        return 0
    if id < 0 or id >= strings.known:
        return BAD_COLUMN
    slot = strings.slots[id]
    if rarely(slot == 0):
        return register_string(strings, out, table.entry(id).data, table.entry(id).size, id)
    if strings.scarce:
        strings.stamps[slot] = strings.record
    return slot


# Put a string into the next slot that this record does not use; `id` -1: for this record only.
cdef inline int64_t register_string(
    StringSlots* strings, Records* out, const uint8_t* data, int64_t length, int32_t id
) noexcept nogil:
    cdef int32_t slot = strings.last
    if length > MAX_TEXT:
        return TEXT_TOO_LONG
    if not reserve(out, length):
        return NO_MEMORY
    while True:
        slot = slot + 1 if slot + 1 < STRING_SLOTS else 1
        if not strings.scarce or strings.stamps[slot] != strings.record:
            break
    strings.last = slot
    if strings.owners[slot]:
        strings.taken += 1
        strings.slots[strings.owners[slot] - 1] = 0
    strings.owners[slot] = id + 1
    if id >= 0:
        strings.slots[id] = <uint16_t>slot
    strings.stamps[slot] = strings.record
    strings.registered += 1
    strings.scarce = strings.registered > STRING_SLOTS - SCARCE
    put_word(out, STRING | <uint64_t>(1 + (padded(length) >> 3)) << 4 | <uint64_t>slot << 16 | <uint64_t>length << 32)
    put_stream(out, data, length)
    return slot


# The slot for the thread of the next event, which the event's record registers if it is NEWLY there; or NO_THREAD.
cdef inline int16_t next_thread_slot(ThreadSlots* threads, int32_t thread) noexcept nogil:
    cdef int16_t slot
    if thread < 0:
        return 0
    if thread >= threads.count:
        return NO_THREAD
    slot = threads.slots[thread]
    if rarely(slot == 0):
        slot = threads.last + 1 if threads.last + 1 < THREAD_SLOTS else 1
        threads.last = slot
        if threads.owners[slot]:
            threads.slots[threads.owners[slot] - 1] = 0
        threads.owners[slot] = thread + 1
        threads.slots[thread] = <uint8_t>slot
        threads.seen[thread] = 1
        slot |= NEWLY
    return slot


# Put the record of a thread at `at`, where there are THREAD_BYTES for it.
cdef inline void put_thread(uint8_t* at, const ThreadSlots* threads, int32_t thread, int slot, bint swap) noexcept nogil:
    store64(at, THREAD | <uint64_t>3 << 4 | <uint64_t>slot << 16, swap)
    store64(at + 8, threads.koids[2 * thread], swap)
    store64(at + 16, threads.koids[2 * thread + 1], swap)


# Add a thread after those known; false without memory.
cdef inline bint thread_add(ThreadSlots* threads, uint64_t pid, uint64_t tid) noexcept nogil:
    cdef int64_t room
    cdef void* moved
    if threads.count == threads.room:
        room = threads.room * 2 + 64
        if room > 0x3fffffff:
            return False
        moved = realloc(threads.koids, room * 2 * sizeof(uint64_t))
        if moved is NULL:
            return False
        threads.koids = <uint64_t*>moved
        moved = realloc(threads.slots, room)
        if moved is NULL:
            return False
        threads.slots = <uint8_t*>moved
        moved = realloc(threads.seen, room)
        if moved is NULL:
            return False
        threads.seen = <uint8_t*>moved
        threads.room = room
    threads.koids[2 * threads.count] = pid
    threads.koids[2 * threads.count + 1] = tid
    threads.slots[threads.count] = 0
    threads.seen[threads.count] = 0
    threads.count += 1
    return True


# Forget what all slots hold: what is referred to next is registered again.
cdef inline void slots_forget(StringSlots* strings, ThreadSlots* threads) noexcept nogil:
    if strings.slots is not NULL:
        memset(strings.slots, 0, strings.room * sizeof(uint16_t))
    memset(strings.owners, 0, sizeof(strings.owners))
    strings.last = 0
    strings.registered = 0
    strings.scarce = False
    if threads.slots is not NULL:
        memset(threads.slots, 0, threads.count)
    memset(threads.owners, 0, sizeof(threads.owners))
    threads.last = 0


cdef inline void slots_free(StringSlots* strings, ThreadSlots* threads) noexcept nogil:
    free(strings.slots)
    free(threads.koids)
    free(threads.slots)
    free(threads.seen)
