# The records of FXT under construction: words of either byte order.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from converter.formats.fxt.words cimport padded
from converter.kernels.io.byte_order cimport store64
from converter.kernels.io.output cimport Output, ensure, put64

cdef enum:
    # Room that a record needs at most, apart from texts and bytes.
    RESERVE = 4096
    # An output larger than this is to be taken. Each is handed over by the interpreter, for which others wait.
    BLOCK = 1 << 20


cdef struct Records:
    Output out
    bint swap
    # The start of the record under construction.
    int64_t begin


# Make room for texts and bytes of `length`, and RESERVE after them; false without memory.
cdef inline bint reserve(Records* to, int64_t length) noexcept nogil:
    return ensure(&to.out, length + RESERVE, 2 * BLOCK)


# A word; the caller has reserved room for it.
cdef inline void put_word(Records* to, uint64_t word) noexcept nogil:
    put64(&to.out, word, to.swap)


# A stream; the caller has reserved room for it.
cdef inline void put_stream(Records* to, const uint8_t* data, int64_t length) noexcept nogil:
    cdef uint8_t* at = to.out.data + to.out.used
    if length:
        store_stream(at, data, length)
        to.out.used += padded(length)


# The last word first, so that its padding is zero. There is one byte at least.
cdef inline void store_stream(uint8_t* at, const uint8_t* data, int64_t length) noexcept nogil:
    cdef uint64_t zero = 0
    memcpy(at + padded(length) - 8, &zero, 8)
    memcpy(at, data, length)


cdef inline void begin_record(Records* to) noexcept nogil:
    to.begin = to.out.used


cdef inline int64_t record_size(const Records* to) noexcept nogil:
    return to.out.used - to.begin


# Write the record's header again, with the size that it now has.
cdef inline void set_size(Records* to, uint64_t header) noexcept nogil:
    store64(to.out.data + to.begin, header | <uint64_t>(record_size(to) >> 3) << 4, to.swap)
