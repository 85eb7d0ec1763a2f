# cython: language_level=3
"""Entries of a raw AIX trace stream under construction, big-endian ("I. General Information", A to C).

An entry is started, its data are put, and its end is put with their size, which also completes its start.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from converter.kernels.io.byte_order cimport HOST_IS_LITTLE, store16, store32
from converter.kernels.io.output cimport Output, put16, put32, put64

cdef enum:
    # An output of this size is to be taken.
    BLOCK = 1 << 20
    # The capacity of an entry.
    MAX_DATA = 4096
    # Hook word, data word, thread id, time stamp and padding of the largest entry.
    FRAME = 48


cdef struct Stream:
    Output out
    int bits


# The caller of both has ensured room: the hook word, its length still open, and the data word of a generic entry.
cdef inline void begin_generic(Stream* to, uint32_t hook, uint32_t sub, uint64_t word) noexcept nogil:
    cdef Output* out = &to.out
    if to.bits == 64:
        put32(out, 0, HOST_IS_LITTLE)
        put16(out, hook, HOST_IS_LITTLE)
        put16(out, sub, HOST_IS_LITTLE)
        put64(out, word, HOST_IS_LITTLE)
    else:
        put32(out, 0, HOST_IS_LITTLE)
        put32(out, <uint32_t>word, HOST_IS_LITTLE)


# Put padding, thread id and time stamp after `size` bytes of data, and the hook word.
cdef inline void end_generic(
    Stream* to, uint32_t hook, int64_t size, uint64_t tid, int64_t ts, bint timed
) noexcept nogil:
    cdef Output* out = &to.out
    cdef uint8_t* end = out.data + out.used
    memset(end, 0, 8)
    if to.bits == 64:
        store16(end - size - 16, 0xC000 if timed else 0x4000, HOST_IS_LITTLE)
        store16(end - size - 14, <uint32_t>size, HOST_IS_LITTLE)
        out.used += -size & 7
        put64(out, tid, HOST_IS_LITTLE)
        if timed:
            put64(out, <uint64_t>ts, HOST_IS_LITTLE)
    else:
        store32(end - size - 8, hook >> 4 << 20 | (0x80000 if timed else 0) | <uint32_t>size, HOST_IS_LITTLE)
        out.used += -size & 3
        put32(out, <uint32_t>tid, HOST_IS_LITTLE)
        if timed:
            put32(out, <uint32_t>ts, HOST_IS_LITTLE)
