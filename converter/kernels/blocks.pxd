from libc.stdint cimport int64_t, uint8_t

cdef enum:
    # How many blocks wait to be used again, and how large they may be: one that a huge event has grown is let go.
    SPARE_BLOCKS = 8
    MOST_ROOM = 1 << 23


# Memory of malloc: `room` bytes, of which the first `used` are written; NULL is none.
cdef struct Memory:
    uint8_t* data
    int64_t used
    int64_t room


cdef class Blocks:
    cdef Memory[SPARE_BLOCKS] _spare
    cdef int _spares

    # Memory to write to, which is the caller's: one that has come back, or none yet.
    cdef Memory take(self) noexcept
    # A view of the memory, which is the block's from now on.
    cdef object hand_over(self, Memory memory)
    cdef bint _take_back(self, Memory memory) noexcept


cdef class Block:
    cdef Memory _memory
    cdef Blocks _home
