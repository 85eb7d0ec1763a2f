# Numbers and texts in the forms of C's printf(), as bytes. False is always: no memory.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memmove, memset

from converter.kernels.io.output cimport Output, ensure, put8, put_bytes
from converter.kernels.text.decimal cimport MOST_DIGITS, digits_of, write_digits, write_integer, write_last_digits

cdef extern from *:
    """
    static const char lower_digits[] = "0123456789abcdef";
    static const char upper_digits[] = "0123456789ABCDEF";
    """
    const char* lower_digits
    const char* upper_digits
    int __builtin_clzll(unsigned long long) noexcept nogil

cdef enum:
    # The digits of a number in binary.
    MOST_OF_NUMBER = 64
    # The decimals of a second.
    DECIMALS = 9

    LEFT = 1
    ZEROS = 2
    PLUS = 4
    BLANK = 8
    ALTERNATE = 16


# A directive: flags of those above; a precision below 0 is none. `bits` and `conversion` (a letter) are of numbers.
cdef struct Form:
    int64_t flags
    int64_t width
    int64_t precision
    int64_t bits
    int64_t conversion


cdef inline bint put_decimal(Output* out, uint64_t value, bint signed) noexcept nogil:
    if not ensure(out, MOST_DIGITS + 1):
        return False
    out.used += write_integer(out.data + out.used, value, signed)
    return True


# The digits of a number to the base of 8 or 16; how many they are.
cdef inline int write_powers(uint8_t* to, uint64_t value, int shift, const char* digits) noexcept nogil:
    cdef int count = (64 - __builtin_clzll(value | 1) + shift - 1) // shift
    cdef int at = count
    while at:
        at -= 1
        to[at] = <uint8_t>digits[value & ((1 << shift) - 1)]
        value >>= shift
    return count


cdef inline bint put_hexadecimal(Output* out, uint64_t value) noexcept nogil:
    if not ensure(out, MOST_OF_NUMBER):
        return False
    out.used += write_powers(out.data + out.used, value, 4, lower_digits)
    return True


cdef inline uint64_t extended(uint64_t value, int64_t bits) noexcept nogil:
    """The lowest bits of a number, with the sign above them."""
    return <uint64_t>(<int64_t>(value << (64 - bits)) >> (64 - bits))


cdef inline uint64_t lowest(uint64_t value, int64_t bits) noexcept nogil:
    return value << (64 - bits) >> (64 - bits)


# Make what has been written from `start` on as short, and as wide, as a form says.
cdef inline bint fit(Output* out, int64_t start, const Form* form) noexcept nogil:
    cdef int64_t size = out.used - start
    cdef int64_t missing
    if 0 <= form.precision < size:
        size = form.precision
        out.used = start + size
    missing = form.width - size
    if missing <= 0:
        return True
    if not ensure(out, missing):
        return False
    if form.flags & LEFT:
        memset(out.data + out.used, c' ', missing)
    else:
        memmove(out.data + start + missing, out.data + start, size)
        memset(out.data + start, c' ', missing)
    out.used += missing
    return True


cdef inline bint put_number(Output* out, uint64_t value, const Form* form) noexcept nogil:
    cdef uint8_t digits[MOST_OF_NUMBER]
    cdef uint8_t prefix[2]
    cdef int64_t prefixed = 0
    cdef int64_t count = 0
    cdef int64_t zeros = 0
    cdef int64_t start = out.used
    cdef Form padding = form[0]
    cdef int64_t kind = form.conversion
    padding.precision = -1
    value = lowest(value, form.bits)
    if kind == c'c':
        if not ensure(out, 1):
            return False
        if value & 0xFF:
            put8(out, <uint8_t>value)
        return fit(out, start, &padding)
    if kind == c'd' or kind == c'i':
        value = extended(value, form.bits)
        if value >> 63:
            prefix[0] = c'-'
            prefixed = 1
            value = <uint64_t>0 - value
        elif form.flags & (PLUS | BLANK):
            prefix[0] = c'+' if form.flags & PLUS else c' '
            prefixed = 1
    if kind == c'x' or kind == c'X':
        count = write_powers(digits, value, 4, lower_digits if kind == c'x' else upper_digits)
        if form.flags & ALTERNATE and value:
            prefix[0] = c'0'
            prefix[1] = <uint8_t>kind
            prefixed = 2
    elif kind == c'o':
        count = write_powers(digits, value, 3, lower_digits)
    elif kind == c'b':
        count = write_powers(digits, value, 1, lower_digits)
    else:
        count = write_digits(digits, value)
    if form.precision >= 0:
        if value == 0 and form.precision == 0:
            count = 0
        zeros = max(0, form.precision - count)
    if kind == c'o' and form.flags & ALTERNATE and zeros == 0 and (count == 0 or digits[0] != c'0'):
        zeros = 1
    if form.flags & ZEROS and not form.flags & LEFT and form.precision < 0:
        zeros = max(zeros, form.width - prefixed - count)
    if not ensure(out, prefixed + zeros + count):
        return False
    put_bytes(out, prefix, prefixed)
    memset(out.data + out.used, c'0', zeros)
    out.used += zeros
    put_bytes(out, digits, count)
    return fit(out, start, &padding)


# A time as seconds with nine decimals; `nanos` is what is left of it.
cdef inline bint put_seconds(Output* out, uint64_t seconds, uint64_t nanos, bint negative, int64_t width) noexcept nogil:
    cdef int digits = digits_of(seconds)
    cdef int64_t missing = width - (negative + digits + 1 + DECIMALS)
    cdef uint8_t* to
    if not ensure(out, max(0, width) + MOST_DIGITS + DECIMALS + 2):
        return False
    to = out.data + out.used
    while missing > 0:
        to[0] = c' '
        to += 1
        missing -= 1
    if negative:
        to[0] = c'-'
        to += 1
    write_last_digits(to, seconds, digits)
    to[digits] = c'.'
    write_last_digits(to + digits + 1, nanos, DECIMALS)
    out.used = to + digits + 1 + DECIMALS - out.data
    return True
