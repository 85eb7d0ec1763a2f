# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Texts made of parts: literals, numbers in decimal, and strings, laid end to end row by row."""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcpy

from converter.kernels.strings cimport Entry, StringTable

cdef enum:
    LITERAL = 0
    NUMBER = 1
    UNSIGNED = 2
    STRING = 3
    LIST = 4
    # Digits of 2^64 and a sign.
    MOST_DIGITS = 21


cdef struct Part:
    int kind
    const uint8_t* text
    int64_t size
    const int64_t* numbers
    const int32_t* ids
    const int64_t* offsets
    const uint8_t* forbidden
    int64_t forbidden_size


cdef int64_t digits_of(uint64_t number, bint negative, uint8_t* to) noexcept nogil:
    cdef uint8_t buffer[MOST_DIGITS]
    cdef int64_t at = MOST_DIGITS
    while True:
        at -= 1
        buffer[at] = c'0' + <uint8_t>(number % 10)
        number //= 10
        if number == 0:
            break
    if negative:
        at -= 1
        buffer[at] = c'-'
    memcpy(to, &buffer[at], MOST_DIGITS - at)
    return MOST_DIGITS - at


def join_texts(int64_t count, parts, StringTable strings not None):
    cdef int64_t number_of_parts = len(parts)
    cdef Part* held = <Part*>calloc(number_of_parts + 1, sizeof(Part))
    cdef int64_t i, row
    cdef int64_t strings_count = len(strings)
    cdef int64_t total = 0
    cdef int64_t changed = 0
    cdef bint fits = True
    cdef const int64_t[::1] numbers
    cdef const uint64_t[::1] unsigned
    cdef const int32_t[::1] ids
    cdef const int64_t[::1] bounds
    cdef const uint8_t[::1] characters
    cdef int64_t[::1] offsets
    cdef uint8_t[::1] values
    cdef uint8_t nothing = 0
    cdef uint8_t* to
    if held is NULL:
        raise MemoryError
    alive = []
    try:
        for i in range(number_of_parts):
            part = parts[i]
            if isinstance(part, bytes):
                held[i].kind = LITERAL
                held[i].text = <const uint8_t*>PyBytes_AS_STRING(part)
                held[i].size = PyBytes_GET_SIZE(part)
                alive.append(part)
            elif not isinstance(part, tuple):
                if part.dtype == np.uint64:
                    unsigned = part
                    held[i].kind = UNSIGNED
                    held[i].numbers = <const int64_t*>&unsigned[0] if unsigned.shape[0] else NULL
                    fits &= unsigned.shape[0] == count
                else:
                    numbers = part
                    held[i].kind = NUMBER
                    held[i].numbers = &numbers[0] if numbers.shape[0] else NULL
                    fits &= numbers.shape[0] == count
                alive.append(part)
            else:
                column, forbidden = part
                held[i].forbidden = <const uint8_t*>PyBytes_AS_STRING(forbidden)
                held[i].forbidden_size = PyBytes_GET_SIZE(forbidden)
                alive.append(part)
                if isinstance(column, tuple):
                    bounds, characters = column
                    held[i].kind = LIST
                    fits &= bounds.shape[0] == count + 1
                    if not fits:
                        break
                    held[i].offsets = &bounds[0]
                    held[i].text = &characters[0] if characters.shape[0] else &nothing
                    fits &= bounds[0] >= 0 and bounds[count] <= characters.shape[0]
                    for row in range(count):
                        fits &= bounds[row] <= bounds[row + 1]
                else:
                    ids = column
                    held[i].kind = STRING
                    held[i].ids = &ids[0] if ids.shape[0] else NULL
                    fits &= ids.shape[0] == count
                    if fits:
                        for row in range(count):
                            fits &= 0 <= ids[row] < strings_count
        if not fits:
            raise ValueError("a part has not a text for each row")
        offsets_array = np.empty(count + 1, np.int64)
        offsets = offsets_array
        with nogil:
            offsets[0] = 0
            for row in range(count):
                for i in range(number_of_parts):
                    total += most_of(&held[i], row, strings)
                offsets[row + 1] = total
        values_array = np.empty(total, np.uint8)
        values = values_array
        if total:
            to = &values[0]
            with nogil:
                total = 0
                for row in range(count):
                    for i in range(number_of_parts):
                        total += put(&held[i], row, strings, to + total, &changed)
                    offsets[row + 1] = total
    finally:
        free(held)
    return offsets_array, values_array[:total], changed


# No fewer bytes than the part takes in this row.
cdef int64_t most_of(Part* part, int64_t row, StringTable strings) noexcept nogil:
    if part.kind == LITERAL:
        return part.size
    if part.kind == STRING:
        return strings.entry(part.ids[row]).size
    if part.kind == LIST:
        return part.offsets[row + 1] - part.offsets[row]
    return MOST_DIGITS


cdef int64_t put(Part* part, int64_t row, StringTable strings, uint8_t* to, int64_t* changed) noexcept nogil:
    cdef const uint8_t* text = part.text
    cdef int64_t size = part.size
    cdef int64_t number, i
    cdef Entry* entry
    if part.kind == NUMBER:
        number = part.numbers[row]
        return digits_of(<uint64_t>0 - <uint64_t>number if number < 0 else <uint64_t>number, number < 0, to)
    if part.kind == UNSIGNED:
        return digits_of(<uint64_t>part.numbers[row], False, to)
    if part.kind == STRING:
        entry = strings.entry(part.ids[row])
        text, size = entry.data, entry.size
    elif part.kind == LIST:
        text = part.text + part.offsets[row]
        size = part.offsets[row + 1] - part.offsets[row]
    if size:
        memcpy(to, text, size)
    if part.forbidden_size:
        for i in range(size):
            if memchr(part.forbidden, to[i], part.forbidden_size) is not NULL:
                to[i] = c'_'
                changed[0] += 1
    return size
