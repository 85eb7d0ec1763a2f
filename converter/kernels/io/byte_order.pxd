# Integers of either byte order at any place.
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #define TRACECONV_HOST_IS_BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
    """
    # Known when this is compiled: `load32(data, HOST_IS_BIG)` is one instruction for little-endian data on most machines.
    const bint HOST_IS_BIG "TRACECONV_HOST_IS_BIG"
    # The same for big-endian data.
    const bint HOST_IS_LITTLE "(!TRACECONV_HOST_IS_BIG)"

    uint16_t __builtin_bswap16(uint16_t) noexcept nogil
    uint32_t __builtin_bswap32(uint32_t) noexcept nogil
    uint64_t __builtin_bswap64(uint64_t) noexcept nogil


cdef inline uint16_t load16(const uint8_t* data, bint swap) noexcept nogil:
    cdef uint16_t value
    memcpy(&value, data, 2)
    return __builtin_bswap16(value) if swap else value


cdef inline uint32_t load32(const uint8_t* data, bint swap) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, data, 4)
    return __builtin_bswap32(value) if swap else value


cdef inline uint64_t load64(const uint8_t* data, bint swap) noexcept nogil:
    cdef uint64_t value
    memcpy(&value, data, 8)
    return __builtin_bswap64(value) if swap else value


cdef inline void store16(uint8_t* to, uint16_t value, bint swap) noexcept nogil:
    if swap:
        value = __builtin_bswap16(value)
    memcpy(to, &value, 2)


cdef inline void store32(uint8_t* to, uint32_t value, bint swap) noexcept nogil:
    if swap:
        value = __builtin_bswap32(value)
    memcpy(to, &value, 4)


cdef inline void store64(uint8_t* to, uint64_t value, bint swap) noexcept nogil:
    if swap:
        value = __builtin_bswap64(value)
    memcpy(to, &value, 8)
