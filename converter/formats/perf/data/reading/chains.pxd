# The numbers of call stacks by what they are made of: a call chain as a record has it, and the mappings at the time.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy, memset

from converter.kernels.tables.hashing cimport folded, hash_bytes

cdef enum:
    FEWEST_SLOTS = 1 << 10


# What distinguishes stacks: the states of the mappings of the process and the kernel, and the chain, which
# follows in `Chains.keys`.
cdef struct Key:
    uint64_t process
    uint64_t kernel
    uint32_t size
    int32_t stack


# Of a key; free ones have hash 0.
cdef struct Slot:
    uint64_t hash
    int64_t at


# Zeros, but for `seed`, are a table without keys.
cdef struct Chains:
    uint8_t* keys
    int64_t used
    int64_t room
    Slot* slots
    uint64_t mask
    int64_t count
    uint64_t seed


cdef inline void clear_chains(Chains* of) noexcept nogil:
    cdef uint64_t seed = of.seed
    free(of.keys)
    free(of.slots)
    memset(of, 0, sizeof(Chains))
    of.seed = seed


# Room for one more; false without memory.
cdef inline bint widen_chains(Chains* of, int64_t size) noexcept nogil:
    cdef void* moved
    cdef Slot* slots
    cdef uint64_t mask, i, slot
    if of.room - of.used < size:
        moved = realloc(of.keys, 2 * of.room + size)
        if moved is NULL:
            return False
        of.keys = <uint8_t*>moved
        of.room = 2 * of.room + size
    if of.slots is not NULL and <uint64_t>of.count * 2 < of.mask:
        return True
    mask = FEWEST_SLOTS - 1 if of.slots is NULL else 2 * of.mask + 1
    slots = <Slot*>calloc(mask + 1, sizeof(Slot))
    if slots is NULL:
        return False
    if of.slots is not NULL:
        for i in range(of.mask + 1):
            if of.slots[i].hash:
                slot = of.slots[i].hash & mask
                while slots[slot].hash:
                    slot = (slot + 1) & mask
                slots[slot] = of.slots[i]
    free(of.slots)
    of.slots = slots
    of.mask = mask
    return True


# The stack of a key; of a new one that which it has. Below 0 without memory.
cdef inline int32_t find_or_add_chain(Chains* of, const Key* key, const uint8_t* chain) noexcept nogil:
    cdef uint64_t state = folded(key.process ^ of.seed, key.kernel ^ <uint64_t>0x9E3779B97F4A7C15)
    cdef uint64_t hash = hash_bytes(chain, key.size, of.seed ^ state) | 1
    # Keys are at multiples of 8.
    cdef int64_t size = sizeof(Key) + (<int64_t>key.size + 7) // 8 * 8
    cdef uint64_t slot
    cdef const Key* known
    if not widen_chains(of, size):
        return -1
    slot = hash & of.mask
    while of.slots[slot].hash:
        known = <const Key*>(of.keys + of.slots[slot].at)
        if (
            of.slots[slot].hash == hash
            and known.process == key.process
            and known.kernel == key.kernel
            and known.size == key.size
            and memcmp(known + 1, chain, key.size) == 0
        ):
            return known.stack
        slot = (slot + 1) & of.mask
    memcpy(of.keys + of.used, key, sizeof(Key))
    memcpy(of.keys + of.used + sizeof(Key), chain, key.size)
    of.slots[slot].hash = hash
    of.slots[slot].at = of.used
    of.used += size
    of.count += 1
    return key.stack
