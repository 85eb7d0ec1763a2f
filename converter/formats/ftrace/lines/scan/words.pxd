# Digits and spaces of lines.

from libc.stdint cimport int64_t, uint8_t, uint64_t


cdef inline bint is_digit(uint8_t letter) noexcept nogil:
    return c"0" <= letter <= c"9"


# A decimal number of at most `most` digits; -1 for none, or more.
cdef inline int64_t digits(const uint8_t* base, int64_t* at, int64_t end, int most) noexcept nogil:
    cdef int64_t value = 0
    cdef int count = 0
    while at[0] < end and is_digit(base[at[0]]):
        if count == most:
            return -1
        value = value * 10 + base[at[0]] - c"0"
        at[0] += 1
        count += 1
    return value if count else -1


# seconds.fraction with up to nine decimals as nanoseconds; -1 for none, or more than 63 bits.
cdef inline int64_t nanoseconds(const uint8_t* base, int64_t* at, int64_t end) noexcept nogil:
    cdef int64_t seconds = digits(base, at, end, 18), fraction, first
    if seconds < 0 or at[0] >= end or base[at[0]] != c".":
        return -1
    at[0] += 1
    first = at[0]
    fraction = digits(base, at, end, 9)
    if fraction < 0:
        return -1
    for _ in range(9 - (at[0] - first)):
        fraction *= 10
    # The last time of 63 bits.
    if seconds >> 34 or <uint64_t>seconds * 1000000000 + <uint64_t>fraction >> 63:
        return -1
    return seconds * 1000000000 + fraction


# The value of a hexadecimal digit; -1 for another letter.
cdef inline int hexadecimal(uint8_t letter) noexcept nogil:
    if is_digit(letter):
        return letter - c"0"
    if c"a" <= letter <= c"f":
        return letter - c"a" + 10
    return -1


cdef inline int64_t after_spaces(const uint8_t* base, int64_t at, int64_t end) noexcept nogil:
    while at < end and (base[at] == c" " or base[at] == c"\t"):
        at += 1
    return at


cdef inline int64_t before_spaces(const uint8_t* base, int64_t at, int64_t end) noexcept nogil:
    while end > at and (base[end - 1] == c" " or base[end - 1] == c"\t"):
        end -= 1
    return end
