# Positions that are looked up in another order than that in which they are stored.
from libc.stdint cimport int64_t, uint64_t


# Return True if all `count` positions are in columns of `rows` rows.
cdef inline bint are_within(const int64_t* places, int64_t count, int64_t rows) noexcept nogil:
    cdef int64_t i
    cdef bint beyond = False
    for i in range(count):
        beyond |= <uint64_t>places[i] >= <uint64_t>rows
    return not beyond
