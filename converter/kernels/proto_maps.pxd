from libc.stdint cimport int32_t, int64_t, uint64_t


cdef struct KeyEntry:
    uint64_t key
    uint64_t space
    int32_t value
    int32_t used


cdef class KeyMap:
    cdef KeyEntry* _entries
    cdef uint64_t _mask
    cdef int64_t _count

    # The value of a key, `absent` when there is none.
    cdef int32_t find(self, uint64_t key, uint64_t space, int32_t absent) noexcept nogil
    # Set a key's value; -1 when memory runs out.
    cdef int put(self, uint64_t key, uint64_t space, int32_t value) noexcept nogil
    cdef int _resize(self, uint64_t size) noexcept nogil
