# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Distinct values of columns whose values lie far apart: addresses, identities. A hash table instead of a sort."""

import os

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free

# So that nobody can choose values that all fall into one slot.
cdef uint64_t SEED = int.from_bytes(os.urandom(8), "little") | 1


cdef inline uint64_t mix(uint64_t value) noexcept nogil:
    value = (value ^ SEED) * <uint64_t>0x9E3779B97F4A7C15
    value = (value ^ (value >> 32)) * SEED
    return value ^ (value >> 29)


# The number of the value, which gets the next when it is new; `slots` holds numbers + 1, and at least one 0.
cdef inline int32_t number_of(
    uint64_t value, int32_t* slots, uint64_t mask, uint64_t* values, int32_t* count
) noexcept nogil:
    cdef uint64_t slot = mix(value) & mask
    while slots[slot]:
        if values[slots[slot] - 1] == value:
            return slots[slot] - 1
        slot = (slot + 1) & mask
    values[count[0]] = value
    count[0] += 1
    slots[slot] = count[0]
    return count[0] - 1


# A table of `size` slots with the numbers of `count` values; NULL without memory.
cdef int32_t* table_of(uint64_t* values, int32_t count, uint64_t size) noexcept nogil:
    cdef int32_t* slots = <int32_t*>calloc(size, sizeof(int32_t))
    cdef uint64_t slot
    cdef int32_t i
    if slots is NULL:
        return NULL
    for i in range(count):
        slot = mix(values[i]) & (size - 1)
        while slots[slot]:
            slot = (slot + 1) & (size - 1)
        slots[slot] = i + 1
    return slots


def number_values(const uint64_t[:] column):
    cdef int64_t rows = column.shape[0]
    cdef int64_t i
    cdef uint64_t size = 1 << 10
    cdef int32_t count = 0
    cdef int32_t* slots
    if rows > 1 << 30:
        raise ValueError(f"{rows} rows")
    held = np.empty(rows + 1, np.uint64)
    numbers = np.empty(rows, np.int32)
    cdef uint64_t[::1] values = held
    cdef int32_t[::1] number = numbers
    with nogil:
        slots = table_of(&values[0], 0, size)
        for i in range(rows):
            if slots is NULL:
                break
            number[i] = number_of(column[i], slots, size - 1, &values[0], &count)
            if <uint64_t>count * 2 >= size:
                free(slots)
                size *= 4
                slots = table_of(&values[0], count, size)
    if slots is NULL:
        raise MemoryError("no room for distinct values")
    free(slots)
    return held[:count].copy(), numbers
