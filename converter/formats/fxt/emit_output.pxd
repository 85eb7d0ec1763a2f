# The growing buffer that records of FXT are made in: words of either byte order, and room in front of a record.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memmove

from converter.formats.fxt.words cimport fxt_swap64, padded, rarely

cdef enum:
    # Room that a record needs at most, apart from texts and bytes.
    RESERVE = 4096
    # An output larger than this is to be taken: it fits the cache of a processor, with a copy of it.
    BLOCK = 1 << 18


cdef struct Output:
    bint swap
    uint8_t* data
    int64_t used
    int64_t room
    # Where the record under construction begins.
    int64_t record


# Room for texts and bytes of `length`, and RESERVE behind them; false without memory.
cdef inline bint ensure(Output* out, int64_t length) noexcept nogil:
    if rarely(out.used + length + RESERVE > out.room):
        return grow(out, out.used + length + RESERVE)
    return True


cdef inline bint grow(Output* out, int64_t room) noexcept nogil:
    cdef uint8_t* moved
    room = room * 2 if room > BLOCK else 2 * BLOCK
    moved = <uint8_t*>realloc(out.data, room)
    if moved is NULL:
        return False
    out.data = moved
    out.room = room
    return True


cdef inline void store(Output* out, uint8_t* place, uint64_t word) noexcept nogil:
    if out.swap:
        word = fxt_swap64(word)
    memcpy(place, &word, 8)


# A word; the caller has ensured room for it.
cdef inline void put_word(Output* out, uint64_t word) noexcept nogil:
    store(out, out.data + out.used, word)
    out.used += 8


# A stream; the caller has ensured room for it.
cdef inline void put_bytes(Output* out, const uint8_t* data, int64_t length) noexcept nogil:
    cdef uint64_t zero = 0
    if length:
        # The last word first, so that its padding is zero.
        memcpy(out.data + out.used + padded(length) - 8, &zero, 8)
        memcpy(out.data + out.used, data, length)
        out.used += padded(length)


# Write the record's header again, with the size that it now has.
cdef inline void set_size(Output* out, uint64_t header) noexcept nogil:
    store(out, out.data + out.record, header | <uint64_t>((out.used - out.record) >> 3) << 4)


# Room for `size` bytes in front of the record under construction; NULL without memory.
cdef inline uint8_t* insert(Output* out, int64_t size) noexcept nogil:
    cdef uint8_t* place
    if not ensure(out, size):
        return NULL
    place = out.data + out.record
    memmove(place + size, place, out.used - out.record)
    out.record += size
    out.used += size
    return place
