# Places that are asked for in another order than that in which they stand.
from libc.stdint cimport int64_t, uint64_t


# Whether so many places are all in columns of that many rows.
cdef inline bint are_within(const int64_t* places, int64_t count, int64_t rows) noexcept nogil:
    cdef int64_t i
    cdef bint beyond = False
    for i in range(count):
        beyond |= <uint64_t>places[i] >= <uint64_t>rows
    return not beyond
