"""Blanks, numbers and keys in bytes of text; every position is compared with the end before it is read."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp


cdef inline bint is_blank(uint8_t character) noexcept nogil:
    return character == c' ' or character == c'\t' or character == c'\r'


cdef inline int64_t blanks_end(const uint8_t* data, int64_t at, int64_t end) noexcept nogil:
    while at < end and is_blank(data[at]):
        at += 1
    return at


cdef inline int digit_of(uint8_t character, int base) noexcept nogil:
    cdef int digit = -1
    if c'0' <= character <= c'9':
        digit = character - c'0'
    elif c'a' <= character <= c'f':
        digit = character - c'a' + 10
    elif c'A' <= character <= c'F':
        digit = character - c'A' + 10
    return digit if digit < base else -1


# The number that data[at:end] begins with, in `stop` where it ends; False when there is none, or it is too large.
cdef inline bint number_at(
    const uint8_t* data, int64_t at, int64_t end, int base, int64_t* number, int64_t* stop
) noexcept nogil:
    cdef uint64_t total = 0
    cdef bint negative = at < end and data[at] == c'-'
    cdef int digit
    cdef int64_t first
    if negative:
        at += 1
    if base == 16 and at + 1 < end and data[at] == c'0' and (data[at + 1] | 0x20) == c'x':
        at += 2
    first = at
    while at < end:
        digit = digit_of(data[at], base)
        if digit < 0:
            break
        # With one digit more, of base 16 at most, this is still a number of 63 bits.
        if total > (<uint64_t>1 << 58) - 1:
            return False
        total = total * base + digit
        at += 1
    number[0] = -<int64_t>total if negative else <int64_t>total
    stop[0] = at
    return at > first


# Return the position where `key` first occurs in data[start:end], -1 if nowhere.
cdef inline int64_t find(const uint8_t* data, int64_t start, int64_t end, const uint8_t* key, int64_t size) noexcept nogil:
    cdef const uint8_t* found
    if size == 0:
        return start
    while end - start >= size:
        found = <const uint8_t*>memchr(data + start, key[0], end - start - size + 1)
        if found is NULL:
            return -1
        start = found - data
        if memcmp(found, key, size) == 0:
            return start
        start += 1
    return -1
