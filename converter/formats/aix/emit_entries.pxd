# cython: language_level=3
"""The growing buffer that entries of a raw AIX trace stream are made in, big-endian ("I. General Information", A to C).

An entry is begun, its data are put, and its end is put with their size, which also completes its beginning.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memset

from converter.formats.aix.words cimport __builtin_bswap16, __builtin_bswap32, __builtin_bswap64

cdef enum:
    # An output of this size is to be taken.
    BLOCK = 1 << 20
    # What an entry holds.
    MAX_DATA = 4096
    # Hook word, data word, thread id, time stamp and padding of the largest entry.
    FRAME = 48


cdef struct Output:
    int bits
    uint8_t* data
    int64_t used
    int64_t room


# Room for `size` more bytes; false without memory.
cdef inline bint ensure(Output* out, int64_t size) noexcept nogil:
    cdef int64_t room
    cdef uint8_t* moved
    if out.used + size <= out.room:
        return True
    room = 2 * (out.used + size) + BLOCK
    moved = <uint8_t*>realloc(out.data, room)
    if moved is NULL:
        return False
    out.data = moved
    out.room = room
    return True


# The caller of these has ensured room.
cdef inline void put16(Output* out, uint32_t value) noexcept nogil:
    cdef uint16_t word = __builtin_bswap16(<uint16_t>value)
    memcpy(out.data + out.used, &word, 2)
    out.used += 2


cdef inline void put32(Output* out, uint32_t value) noexcept nogil:
    cdef uint32_t word = __builtin_bswap32(value)
    memcpy(out.data + out.used, &word, 4)
    out.used += 4


cdef inline void put64(Output* out, uint64_t value) noexcept nogil:
    cdef uint64_t word = __builtin_bswap64(value)
    memcpy(out.data + out.used, &word, 8)
    out.used += 8


cdef inline void put_bytes(Output* out, const uint8_t* data, int64_t size) noexcept nogil:
    if size:
        # There may be no data to point to.
        memcpy(out.data + out.used, data, size)
    out.used += size


# The hook word, its length still open, and the data word of a generic entry.
cdef inline void begin_generic(Output* out, uint32_t hook, uint32_t sub, uint64_t word) noexcept nogil:
    if out.bits == 64:
        put16(out, 0)
        put16(out, 0)
        put16(out, hook)
        put16(out, sub)
        put64(out, word)
    else:
        put32(out, 0)
        put32(out, <uint32_t>word)


# Padding, thread id and time stamp behind `size` bytes of data, and the hook word.
cdef inline void end_generic(
    Output* out, uint32_t hook, int64_t size, uint64_t tid, int64_t ts, bint timed
) noexcept nogil:
    cdef int64_t first
    cdef int64_t after = out.used
    if out.bits == 64:
        first = after - size - 16
        memset(out.data + after, 0, 8)
        after += -size & 7
        out.used = first
        put16(out, 0xC000 if timed else 0x4000)
        put16(out, <uint32_t>size)
        out.used = after
        put64(out, tid)
        if timed:
            put64(out, <uint64_t>ts)
    else:
        first = after - size - 8
        memset(out.data + after, 0, 4)
        after += -size & 3
        out.used = first
        put32(out, hook >> 4 << 20 | (0x80000 if timed else 0) | <uint32_t>size)
        out.used = after
        put32(out, <uint32_t>tid)
        if timed:
            put32(out, <uint32_t>ts)
