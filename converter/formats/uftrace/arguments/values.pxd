# Values of uftrace's argument records: integers and floats of the recorded program's byte order.
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcpy

from converter.kernels.io.byte_order cimport HOST_IS_BIG, load16, load32, load64


cdef extern from "<math.h>" nogil:
    double ldexp(double, int)


cdef enum:
    # Operations of programs.
    O_UNSIGNED = 0
    O_SIGNED = 1
    O_FLOAT80 = 2
    O_TEXT = 3
    O_BYTES = 4
    # A signed integer as wide as a register, which int arguments fill by half.
    O_REGISTER = 5
    MOST_VALUES = 256


cdef struct Program:
    # Pairs of operation and size in bytes.
    int32_t* operations
    int32_t count
    int32_t class_id
    int32_t unmatched


cdef inline int64_t padded(int64_t size, int64_t multiple) noexcept nogil:
    return (size + multiple - 1) & ~(multiple - 1)


cdef inline uint64_t integer(const uint8_t* data, int64_t size, bint signed, bint swap) noexcept nogil:
    cdef uint64_t value
    if size == 8:
        return load64(data, swap)
    if size == 4:
        value = load32(data, swap)
        return <uint64_t><int64_t><int32_t>value if signed else value
    if size == 2:
        value = load16(data, swap)
        return <uint64_t><int64_t><int16_t>value if signed else value
    value = data[0]
    return <uint64_t><int64_t><int8_t>value if signed else value


# Return the value of a register as uftrace reads it: a small negative int whose upper half is zero is one.
cdef inline uint64_t register_value(uint64_t value) noexcept nogil:
    if value >> 16 == 0xffff and value & 0xffff:
        return <uint64_t><int64_t><int32_t>value
    return value


# The bits of the double nearest to an x87 number: 64 bits of mantissa, 15 of exponent, a sign. `rounded` counts those
# that are another number, or too small for a double of full precision.
cdef inline uint64_t float80(const uint8_t* data, bint swap, bint big_endian, int64_t* rounded) noexcept nogil:
    cdef uint64_t mantissa, bits
    cdef uint16_t head
    cdef double value
    cdef int exponent
    if big_endian:
        head = load16(data, swap)
        mantissa = load64(data + 2, swap)
    else:
        mantissa = load64(data, swap)
        head = load16(data + 8, swap)
    exponent = head & 0x7fff
    if exponent == 0x7fff:
        bits = <uint64_t>0x7ff << 52
        if mantissa << 1:
            bits |= <uint64_t>1 << 51
    else:
        value = ldexp(<double>mantissa, exponent - 16383 - 63)
        memcpy(&bits, &value, 8)
        # Bits that a double has no room for, and numbers that are too large or too small for one.
        if mantissa & 0x7ff or (mantissa and not 0x3c01 <= exponent <= 0x43fe):
            rounded[0] += 1
    return bits | <uint64_t>(head >> 15) << 63


# Append the values that begin at `payload` to `words`: numbers take one, texts and bytes two, location and length, as
# `location` is that of the payload. Returns the size of the values, or -1 where the window ends within; `count` is of
# words.
cdef inline int64_t decode_values(
    const Program* program, const uint8_t* payload, int64_t left, int64_t location, bint swap, uint64_t* words,
    int64_t* count, int64_t* rounded,
) noexcept nogil:
    cdef int64_t at = 0
    cdef int64_t size
    cdef int64_t done = count[0]
    cdef int32_t i, code
    for i in range(program.count):
        code = program.operations[2 * i]
        size = program.operations[2 * i + 1]
        if code == O_TEXT:
            if left - at < 2:
                return -1
            size = load16(payload + at, swap)
            if left - at < padded(2 + size, 4):
                return -1
            words[done] = <uint64_t>(location + at + 2)
            words[done + 1] = size
            done += 2
            at += padded(2 + size, 4)
            continue
        if left - at < padded(size, 4):
            return -1
        if code == O_BYTES:
            words[done] = <uint64_t>(location + at)
            words[done + 1] = size
            done += 2
        else:
            if code == O_FLOAT80:
                words[done] = float80(payload + at, swap, swap != HOST_IS_BIG, rounded)
            elif code == O_REGISTER:
                words[done] = register_value(integer(payload + at, size, False, swap))
            else:
                words[done] = integer(payload + at, size, code == O_SIGNED, swap)
            done += 1
        at += padded(size, 4)
    at = padded(at, 8)
    if at > left:
        return -1
    count[0] = done
    return at
