# The functions that represent slices in a uftrace data directory: numbered as they are first met, found by a hash of
# their properties. A record names only its function, so that what its entry and its exit carry is part of the
# function's identity: two slices of one name whose arguments differ in type are two functions of one name.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from converter.kernels.tables.numbers cimport Numbers, find_or_add_pair

cdef enum:
    # No program, in `Symbol.entry` and `Symbol.exit`.
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
    # Id of its place in the source, -1 where none is known.
    int32_t source
    # The library that it is in, 0 for the program.
    int32_t library


# The number of the function with a key, which is `new` where it is not known; below 0 without memory.
cdef inline int32_t number_of(Numbers* of, int32_t kind, int32_t first, int64_t second, Symbol new) noexcept nogil:
    cdef int64_t before = of.count
    cdef int32_t number = find_or_add_pair(of, <uint64_t>kind << 32 | <uint32_t>first, <uint64_t>second)
    if number == before:
        symbols_of(of)[number] = new
    return number


cdef inline Symbol* symbols_of(const Numbers* of) noexcept nogil:
    return <Symbol*>of.items
