# Walking the payload of a marker: the program that a format text compiles to, run over the bytes of one event.
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr


cdef enum:
    # Steps: (code, argument).
    STEP_BYTES = 0  # a number of bytes
    STEP_STRING = 1  # up to a NUL, and that
    STEP_ALIGN = 2  # to a multiple of that, counted from the payload's start


# The padding before a member of `size` bytes at `offset`, where alignment is limited to `alignment` (0: packed).
cdef inline int64_t padding(int64_t offset, int64_t size, int64_t alignment) noexcept nogil:
    if alignment < size:
        size = alignment
    return -offset & (size - 1) if size > 1 else 0


# Return the position after the steps, counted from the payload's start; -1 when that lies beyond `size`.
cdef inline int64_t walk(
    const int32_t* steps, int64_t count, const uint8_t* payload, int64_t size
) noexcept nogil:
    cdef int64_t at = 0
    cdef int64_t i
    cdef const uint8_t* nul
    for i in range(count):
        if steps[2 * i] == STEP_BYTES:
            at += steps[2 * i + 1]
        elif steps[2 * i] == STEP_ALIGN:
            at += -at & (steps[2 * i + 1] - 1)
        else:
            if at >= size:
                return -1
            nul = <const uint8_t*>memchr(payload + at, 0, size - at)
            if nul is NULL:
                return -1
            at = nul - payload + 1
        if at > size:
            return -1
    return at
