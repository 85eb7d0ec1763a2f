# Numbers as decimal text, two digits at a time.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    static const char decimal_pairs[] =
        "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
        "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
    """
    # The numbers 0 to 99, two digits each.
    const char* decimal_pairs

cdef enum:
    # Of 2^64 - 1.
    MOST_DIGITS = 20


# Write the digits of a number, at most MOST_DIGITS; how many they are.
cdef inline int write_digits(uint8_t* to, uint64_t value) noexcept nogil:
    cdef uint8_t digits[MOST_DIGITS]
    cdef int at = MOST_DIGITS
    while value >= 100:
        at -= 2
        memcpy(digits + at, decimal_pairs + 2 * (value % 100), 2)
        value //= 100
    if value >= 10:
        at -= 2
        memcpy(digits + at, decimal_pairs + 2 * value, 2)
    else:
        at -= 1
        digits[at] = <uint8_t>(48 + value)
    memcpy(to, digits + at, MOST_DIGITS - at)
    return MOST_DIGITS - at


# The same with a sign before those of a number below 0: `value` is an int64 then.
cdef inline int write_integer(uint8_t* to, uint64_t value, bint signed) noexcept nogil:
    if not signed or not value >> 63:
        return write_digits(to, value)
    to[0] = 45
    # Negated as unsigned, so that the lowest number has a magnitude too.
    return 1 + write_digits(to + 1, <uint64_t>0 - value)
