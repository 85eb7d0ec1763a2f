# Keys of one or two words of 64 bits, numbered from 0 in the order in which they come: a hash table with open
# addressing. A key can have an item of the caller's, which is stored at the key's number.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset

cdef enum:
    # Values in place of a number: the key is not there, or there is no room for it.
    UNKNOWN = -1
    FAILED = -2
    # Bits of a slot's number at first, and at most.
    FEWEST_BITS = 8
    MOST_BITS = 31


# Zeros, but for `item_size` and `seed`, are a table without keys. All keys of one have as many words.
cdef struct Numbers:
    uint64_t* keys
    # Zeros when their key is added. They move when a key is added, and only then: a pointer to one is good until the next key.
    void* items
    int64_t item_size
    int64_t count
    # A number and 1, or 0; half of them at most are used.
    int32_t* slots
    uint64_t mask
    # 64 bits shifted by this are the number of a slot.
    int shift
    # Keys chosen by a file are mixed with a seed that its maker does not know, or they could all be made to share a
    # slot.
    uint64_t seed


cdef inline void free_numbers(Numbers* of) noexcept nogil:
    free(of.keys)
    free(of.items)
    free(of.slots)


cdef inline uint64_t slot_of(const Numbers* of, uint64_t first, uint64_t second, int words) noexcept nogil:
    cdef uint64_t mixed = (first ^ of.seed) * <uint64_t>0x9E3779B97F4A7C15
    if words == 2:
        mixed = (mixed ^ mixed >> 32 ^ second) * <uint64_t>0x9E3779B97F4A7C15
    # Every bit of a key has its part in the uppermost.
    return mixed >> of.shift


# The number of a key, and its slot, or where it belongs. There are slots.
cdef inline int32_t number_at(
    const Numbers* of, uint64_t first, uint64_t second, int words, uint64_t* slot
) noexcept nogil:
    cdef int64_t number
    slot[0] = slot_of(of, first, second, words)
    while True:
        number = of.slots[slot[0]] - 1
        if number < 0:
            return UNKNOWN
        if of.keys[words * number] == first and (words == 1 or of.keys[2 * number + 1] == second):
            return <int32_t>number
        slot[0] = (slot[0] + 1) & of.mask


# Room for more; false without memory, or where there are too many keys.
cdef inline bint widen(Numbers* of, int words) noexcept nogil:
    cdef int bits = 65 - of.shift if of.slots is not NULL else FEWEST_BITS
    cdef uint64_t size = <uint64_t>1 << bits
    cdef void* moved
    cdef int32_t* slots
    cdef uint64_t slot
    cdef int64_t i
    if bits > MOST_BITS:
        return False
    moved = realloc(of.keys, size // 2 * words * sizeof(uint64_t))
    if moved is NULL:
        return False
    of.keys = <uint64_t*>moved
    if of.item_size:
        moved = realloc(of.items, size // 2 * of.item_size)
        if moved is NULL:
            return False
        of.items = moved
    slots = <int32_t*>calloc(size, sizeof(int32_t))
    if slots is NULL:
        return False
    free(of.slots)
    of.slots = slots
    of.mask = size - 1
    of.shift = 64 - bits
    for i in range(of.count):
        number_at(of, of.keys[words * i], of.keys[words * i + words - 1], words, &slot)
        slots[slot] = <int32_t>(i + 1)
    return True


cdef inline int32_t find_or_add_words(Numbers* of, uint64_t first, uint64_t second, int words) noexcept nogil:
    cdef uint64_t slot = 0
    cdef int32_t number = UNKNOWN
    # A key that is there already must leave the table as it is: callers may have pointers to items.
    if of.slots is not NULL:
        number = number_at(of, first, second, words, &slot)
        if number >= 0:
            return number
    if <uint64_t>of.count * 2 >= of.mask:
        if not widen(of, words):
            return FAILED
        number_at(of, first, second, words, &slot)
    of.keys[words * of.count] = first
    if words == 2:
        of.keys[2 * of.count + 1] = second
    if of.item_size:
        memset(<uint8_t*>of.items + of.count * of.item_size, 0, of.item_size)
    of.count += 1
    of.slots[slot] = <int32_t>of.count
    return of.slots[slot] - 1


# Keys of one word: the number, UNKNOWN where there is none.
cdef inline int32_t find_key(const Numbers* of, uint64_t key) noexcept nogil:
    cdef uint64_t slot
    return UNKNOWN if of.slots is NULL else number_at(of, key, 0, 1, &slot)


# The number, of a new key the next; FAILED where it has no room.
cdef inline int32_t find_or_add_key(Numbers* of, uint64_t key) noexcept nogil:
    return find_or_add_words(of, key, 0, 1)


# The same of two words.
cdef inline int32_t find_pair(const Numbers* of, uint64_t first, uint64_t second) noexcept nogil:
    cdef uint64_t slot
    return UNKNOWN if of.slots is NULL else number_at(of, first, second, 2, &slot)


cdef inline int32_t find_or_add_pair(Numbers* of, uint64_t first, uint64_t second) noexcept nogil:
    return find_or_add_words(of, first, second, 2)
