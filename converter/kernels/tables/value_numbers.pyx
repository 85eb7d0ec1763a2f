# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Numbers by value: a look into a table for each value of a column of integers."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


ctypedef fused Value:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t


def numbers_of_values(
    const Value[:] column: NDArray[Any], const int32_t[::1] numbers, int32_t unknown, int32_t[::1] out
) -> bool:
    """Put the number of each value into `out`; whether all are known: that of value v is ``numbers[v + 1]``."""
    cdef int64_t size = numbers.shape[0]
    cdef int64_t i, value
    cdef int32_t number
    cdef bint known = True
    if out.shape[0] != column.shape[0]:
        raise ValueError("the columns differ in length")
    with nogil:
        for i in range(column.shape[0]):
            # Values from 2^63 on are below -1 so.
            value = <int64_t>column[i]
            if value < -1 or value + 1 >= size:
                known = False
                break
            number = numbers[value + 1]
            if number == unknown:
                known = False
                break
            out[i] = number
    return known
