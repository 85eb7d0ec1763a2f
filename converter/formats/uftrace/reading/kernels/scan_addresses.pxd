# Addresses to functions: the mappings of a session, the symbols of each file, and a cache before both.
from libc.stdint cimport int32_t, int64_t, uint64_t


cdef enum:
    CACHE_BITS = 14
    CACHE_SIZE = 1 << 14
    # `count` of a module whose symbols nobody has read yet, and the symbol that `locate` finds in it.
    UNLOADED = -1


cdef struct Site:
    # A function: ids of its name and of its file's, and the programs that decode its arguments and return value.
    int32_t name
    int32_t category
    int32_t entry
    int32_t exit
    # The place in the source, the id of a text; -1 where it is not known.
    int32_t source


cdef struct Module:
    # Symbols by ascending address, relative to the file's base: symbol i covers starts[i] up to ends[i].
    const uint64_t* starts
    const uint64_t* ends
    # The site of each symbol, -1 where nobody has asked for it.
    int32_t* sites
    int64_t count


cdef struct Space:
    # Mappings by ascending address, none overlapping another.
    const uint64_t* starts
    const uint64_t* ends
    const uint64_t* bases
    const int32_t* modules
    int64_t count


cdef struct Cached:
    uint64_t address
    int32_t space
    Site site


# The last of `count` ascending values that is not above `value`, -1 if all are.
cdef inline int64_t last_not_above(const uint64_t* values, int64_t count, uint64_t value) noexcept nogil:
    cdef int64_t low = 0
    cdef int64_t high = count
    cdef int64_t middle
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - 1


cdef inline uint64_t cache_slot(uint64_t address, int32_t space) noexcept nogil:
    return ((address ^ (<uint64_t>space << 50)) * <uint64_t>0x9E3779B97F4A7C15) >> (64 - CACHE_BITS)


# The symbol at an address of a space, as module and symbol number; False where there is none.
cdef inline bint locate(
    const Space* space, const Module* modules, uint64_t address, int32_t* module, int64_t* symbol
) noexcept nogil:
    cdef int64_t at = last_not_above(space.starts, space.count, address)
    cdef const Module* found
    cdef uint64_t relative
    if at < 0 or address >= space.ends[at]:
        return False
    module[0] = space.modules[at]
    if module[0] < 0:
        return False
    found = &modules[module[0]]
    if found.count == UNLOADED:
        symbol[0] = UNLOADED
        return True
    relative = address - space.bases[at]
    symbol[0] = last_not_above(found.starts, found.count, relative)
    return symbol[0] >= 0 and relative < found.ends[symbol[0]]
