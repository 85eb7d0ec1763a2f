# The addresses of functions that have been met: a table of numbers by open addressing, in which zero is none.

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free

cdef struct Addresses:
    uint64_t* slots
    uint64_t mask
    int64_t count


cdef inline uint64_t slot_of(Addresses* known, uint64_t value) noexcept nogil:
    cdef uint64_t slot = (value * <uint64_t>0x9E3779B97F4A7C15) >> 32 & known.mask
    while known.slots[slot] and known.slots[slot] != value:
        slot = (slot + 1) & known.mask
    return slot


# Room for half as many as there are slots; false without memory.
cdef inline bint enlarge(Addresses* known) noexcept nogil:
    cdef Addresses larger
    cdef uint64_t i
    larger.mask = 1023 if known.slots is NULL else 2 * known.mask + 1
    larger.count = known.count
    larger.slots = <uint64_t*>calloc(larger.mask + 1, sizeof(uint64_t))
    if larger.slots is NULL:
        return False
    if known.slots is not NULL:
        for i in range(known.mask + 1):
            if known.slots[i]:
                larger.slots[slot_of(&larger, known.slots[i])] = known.slots[i]
        free(known.slots)
    known[0] = larger
    return True


# 1 where an address is new, 0 where it is known or none; -1 without memory.
cdef inline int note_address(Addresses* known, uint64_t value) noexcept nogil:
    cdef uint64_t slot
    if value == 0:
        return 0
    if known.slots is NULL or <uint64_t>known.count * 2 > known.mask:
        if not enlarge(known):
            return -1
    slot = slot_of(known, value)
    if known.slots[slot]:
        return 0
    known.slots[slot] = value
    known.count += 1
    return 1
