# The functions that stand for slices in a uftrace data directory: numbered as they are first met, found by a hash of
# what they are. A record names only its function, so that what its entry and its exit carry is part of which function
# it is: two slices of one name whose arguments differ in type are two functions of one name.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc

cdef enum:
    # What stands for a program in `Symbol.entry` and `Symbol.exit`.
    NO_PROGRAM = -1
    # Exits without values and names were written: only those with values may be added.
    BARE_EXITS = -2
    # First parts of keys of functions that were not entered.
    KEY_VARIANT = -1
    KEY_UNMATCHED = -2
    KEY_VARIABLE = -3
    KEY_MARK = -4
    # And what the numbers of the programs of named exits are subtracted from.
    KEY_NAMED = -5


cdef struct Symbol:
    # Ids of strings, -1 where it is the function of exits that match no entry. `shown` is what tools show as its name.
    int32_t shown
    int32_t name
    int32_t category
    # The programs of its entries and exits.
    int32_t entry
    int32_t exit


cdef struct Key:
    int32_t kind
    int32_t first
    int32_t second
    int32_t symbol


cdef struct Symbols:
    Symbol* items
    int64_t count
    int64_t room
    # Open addressing; `symbol` is one more than the number, 0 where the slot is free.
    Key* slots
    uint64_t mask


cdef inline uint64_t hashed(int32_t kind, int32_t first, int32_t second) noexcept nogil:
    cdef uint64_t odd = 0x1e3779b97f4a7c15
    cdef uint64_t h = (<uint64_t>kind << 32 ^ <uint64_t><uint32_t>first) * odd
    h = (h ^ h >> 29 ^ <uint64_t><uint32_t>second) * odd
    return h ^ h >> 32


# The slot of a key, or the free one where it belongs. There are always free ones.
cdef inline Key* find(Symbols* of, int32_t kind, int32_t first, int32_t second) noexcept nogil:
    cdef uint64_t at = hashed(kind, first, second) & of.mask
    cdef Key* slot
    while True:
        slot = &of.slots[at]
        if slot.symbol == 0 or (slot.second == second and slot.first == first and slot.kind == kind):
            return slot
        at = (at + 1) & of.mask


# Room for one more symbol; false without memory.
cdef inline bint make_room(Symbols* of) noexcept nogil:
    cdef Symbols larger
    cdef uint64_t i
    cdef void* moved
    if of.count == of.room:
        moved = realloc(of.items, 2 * (of.room + 512) * sizeof(Symbol))
        if moved is NULL:
            return False
        of.items = <Symbol*>moved
        of.room = 2 * (of.room + 512)
    if of.slots is not NULL and <uint64_t>of.count * 2 < of.mask:
        return True
    larger.mask = 4 * of.mask + 3 if of.slots is not NULL else 1023
    larger.slots = <Key*>calloc(larger.mask + 1, sizeof(Key))
    if larger.slots is NULL:
        return False
    if of.slots is not NULL:
        for i in range(of.mask + 1):
            if of.slots[i].symbol:
                find(&larger, of.slots[i].kind, of.slots[i].first, of.slots[i].second)[0] = of.slots[i]
    free(of.slots)
    of.slots = larger.slots
    of.mask = larger.mask
    return True


# The number of the function with a key, made with the other parts when it is new; -1 without memory.
cdef inline int32_t number_of(
    Symbols* of, int32_t kind, int32_t first, int32_t second,
    int32_t shown, int32_t name, int32_t category, int32_t entry, int32_t exit,
) noexcept nogil:
    cdef Key* slot
    if of.slots is not NULL:
        slot = find(of, kind, first, second)
        if slot.symbol:
            return slot.symbol - 1
    if of.count >= 0x7ffffffe or not make_room(of):
        return -1
    slot = find(of, kind, first, second)
    slot.kind = kind
    slot.first = first
    slot.second = second
    of.items[of.count].shown = shown
    of.items[of.count].name = name
    of.items[of.count].category = category
    of.items[of.count].entry = entry
    of.items[of.count].exit = exit
    of.count += 1
    slot.symbol = <int32_t>of.count
    return slot.symbol - 1
