# The growing output of every emitter: bytes, and numbers in either byte order.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memset

from converter.kernels.io.byte_order cimport store16, store32, store64

cdef extern from *:
    long __builtin_expect(long, long) noexcept nogil

cdef enum:
    # The number of blocks that wait to be reused, and their largest size: one that a huge event has grown is freed.
    SPARE_BLOCKS = 8
    MOST_ROOM = 1 << 23


# Memory of malloc, `room` bytes; the first `used` are written. NULL is none.
cdef struct Output:
    uint8_t* data
    int64_t used
    int64_t room


# Room for `size` bytes more; false without memory. It grows by half of what it has, and by `more`.
cdef inline bint ensure(Output* out, int64_t size, int64_t more = 4096) noexcept nogil:
    if __builtin_expect(size <= out.room - out.used, 1):
        return True
    return grow(out, out.used + size, more)


cdef inline bint grow(Output* out, int64_t needed, int64_t more) noexcept nogil:
    cdef int64_t room = needed + needed // 2 + more
    cdef uint8_t* moved = <uint8_t*>realloc(out.data, room)
    if moved is NULL:
        return False
    out.data = moved
    out.room = room
    return True


# Bytes at the end; false without memory.
cdef inline bint append(Output* out, const uint8_t* data, int64_t size) noexcept nogil:
    if not ensure(out, size):
        return False
    put_bytes(out, data, size)
    return True


# The caller of all that follow has ensured room.
cdef inline void put8(Output* out, uint8_t value) noexcept nogil:
    out.data[out.used] = value
    out.used += 1


cdef inline void put16(Output* out, uint16_t value, bint swap) noexcept nogil:
    store16(out.data + out.used, value, swap)
    out.used += 2


cdef inline void put32(Output* out, uint32_t value, bint swap) noexcept nogil:
    store32(out.data + out.used, value, swap)
    out.used += 4


cdef inline void put64(Output* out, uint64_t value, bint swap) noexcept nogil:
    store64(out.data + out.used, value, swap)
    out.used += 8


cdef inline void put_bytes(Output* out, const uint8_t* data, int64_t size) noexcept nogil:
    if size:
        # There may be no address of zero bytes.
        memcpy(out.data + out.used, data, size)
    out.used += size


cdef inline void put_zeros(Output* out, int64_t size) noexcept nogil:
    memset(out.data + out.used, 0, size)
    out.used += size


cdef class Blocks:
    cdef Output[SPARE_BLOCKS] _spare
    cdef int _spares

    # Memory to write to, which is the caller's: one that has come back, or none yet.
    cdef Output take(self) noexcept
    # A view of what is written, whose memory is the block's from now on; `out` gets other memory.
    cdef object hand_over(self, Output* out)
    cdef bint _take_back(self, Output memory) noexcept


cdef class Block:
    cdef Output _memory
    cdef Blocks _home
