# Copies of few bytes without a call: most texts are short.

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy


# Copy bytes, short ones as their beginning and their end, which may overlap.
cdef inline void copy_run(uint8_t* to, const uint8_t* data, int64_t size) noexcept nogil:
    cdef int64_t i
    if size > 32:
        memcpy(to, data, size)
    elif size >= 16:
        memcpy(to, data, 16)
        memcpy(to + size - 16, data + size - 16, 16)
    elif size >= 8:
        memcpy(to, data, 8)
        memcpy(to + size - 8, data + size - 8, 8)
    elif size >= 4:
        memcpy(to, data, 4)
        memcpy(to + size - 4, data + size - 4, 4)
    else:
        for i in range(size):
            to[i] = data[i]
