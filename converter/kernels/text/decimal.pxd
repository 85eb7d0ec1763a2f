# Numbers as decimal text, two or eight digits at a time.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from converter.kernels.io.byte_order cimport HOST_IS_BIG, store64

cdef extern from *:
    """
    #include <stdint.h>
    static const char decimal_pairs[] =
        "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
        "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
    static const uint64_t powers_with_digits[] = {
        0u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u, 10000000000u,
        100000000000u, 1000000000000u, 10000000000000u, 100000000000000u, 1000000000000000u, 10000000000000000u,
        100000000000000000u, 1000000000000000000u, 10000000000000000000u,
    };
    """
    # The numbers 0 to 99, two digits each.
    const char* decimal_pairs
    # 10^i, but 0 for 1, so that 0 has a digit.
    const uint64_t* powers_with_digits
    int __builtin_clzll(unsigned long long) noexcept nogil
    int __builtin_ctzll(unsigned long long) noexcept nogil

cdef enum:
    # The digits of 2^64 - 1.
    MOST_DIGITS = 20
    TEN_TO_8 = 100000000


# Return the number of digits of a number: 1233 / 4096 is a little more than the logarithm of 2.
cdef inline int digits_of(uint64_t value) noexcept nogil:
    cdef int least = (64 - __builtin_clzll(value | 1)) * 1233 >> 12
    return least + (value >= powers_with_digits[least])


# Write the last `count` digits of a number, with leading zeros.
cdef inline void write_last_digits(uint8_t* to, uint64_t value, int count) noexcept nogil:
    while count >= 2:
        count -= 2
        memcpy(to + count, decimal_pairs + 2 * (value % 100), 2)
        value //= 100
    if count:
        to[0] = <uint8_t>(c'0' + value % 10)


# The eight digits of a number below 10^8, a byte each, the first in the lowest: halves are divided apart side by side.
cdef inline uint64_t eight_digits_of(uint64_t value) noexcept nogil:
    cdef uint64_t high = value // 10000
    cdef uint64_t pairs
    value = high | (value - high * 10000) << 32
    # x / 100 up to 9,999, x / 10 up to 99.
    high = (value * 10486 >> 20) & <uint64_t>0x0000007F0000007F
    pairs = high | (value - high * 100) << 16
    high = (pairs * 103 >> 10) & <uint64_t>0x000F000F000F000F
    return high | (pairs - high * 10) << 8


# Write the digits of a number below 10^8, and what does not matter up to eight bytes; how many they are.
cdef inline int write_eight_at_most(uint8_t* to, uint64_t value) noexcept nogil:
    cdef uint64_t digits
    cdef int zeros
    if value < 10:
        to[0] = <uint8_t>(c'0' + value)
        return 1
    digits = eight_digits_of(value)
    zeros = __builtin_ctzll(digits) >> 3
    store64(to, (digits | <uint64_t>0x3030303030303030) >> 8 * zeros, HOST_IS_BIG)
    return 8 - zeros


cdef inline void write_eight(uint8_t* to, uint64_t value) noexcept nogil:
    store64(to, eight_digits_of(value) | <uint64_t>0x3030303030303030, HOST_IS_BIG)


# Write the digits of a number; return their number. The bytes after them, up to MOST_DIGITS, do not matter.
cdef inline int write_digits(uint8_t* to, uint64_t value) noexcept nogil:
    cdef uint64_t upper
    cdef int count
    if value < TEN_TO_8:
        return write_eight_at_most(to, value)
    upper = value // TEN_TO_8
    if upper < TEN_TO_8:
        count = write_eight_at_most(to, upper)
    else:
        count = write_eight_at_most(to, upper // TEN_TO_8)
        write_eight(to + count, upper % TEN_TO_8)
        count += 8
    write_eight(to + count, value % TEN_TO_8)
    return count + 8


# The same with a sign before those of a number below 0: `value` is an int64 then.
cdef inline int write_integer(uint8_t* to, uint64_t value, bint signed) noexcept nogil:
    if not signed or not value >> 63:
        return write_digits(to, value)
    to[0] = c'-'
    # Negated as unsigned, so that the lowest number has a magnitude too.
    return 1 + write_digits(to + 1, <uint64_t>0 - value)
