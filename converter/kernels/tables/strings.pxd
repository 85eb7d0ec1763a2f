from cython cimport final
from cpython.pythread cimport PyThread_type_lock

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef enum:
    # Readable bytes after those of an entry, so that it can be copied in steps of this size.
    PADDING = 16
    BLOCK_BITS = 12
    BLOCK_SIZE = 1 << 12
    BLOCK_MASK = (1 << 12) - 1


cdef struct Entry:
    const uint8_t* data
    uint32_t size
    uint32_t tag


cdef class StringTable:
    cdef Entry** _blocks
    cdef int32_t* _slots
    cdef uint64_t _mask
    cdef uint64_t _seed
    cdef dict _unfit
    cdef int64_t _count
    cdef uint8_t* _arena
    cdef int64_t _arena_left
    cdef void** _arenas
    cdef PyThread_type_lock _lock

    # Kernels bracket a run of `find_or_add` by these; nothing in between may take the GIL.
    cdef void lock(self) noexcept nogil
    cdef void unlock(self) noexcept nogil
    # The id of the bytes, added when new; -1 when memory or ids run out. Call with the lock held.
    cdef int32_t find_or_add(self, const uint8_t* data, uint32_t size) noexcept nogil
    # Entries never move, so reading one that exists needs no lock. `id` must be in range.
    @final
    cdef inline Entry* entry(self, int32_t id) noexcept nogil:
        return &self._blocks[id >> BLOCK_BITS][id & BLOCK_MASK]
    cdef int32_t _grow(self) noexcept nogil
