from libc.stdint cimport int64_t, uint8_t, uint64_t


# The entry of a number: a text, with PADDING readable bytes after it, and another number; `data` is NULL where there is
# none.
cdef struct Found:
    const uint8_t* data
    int64_t size
    uint64_t number


cdef struct Place:
    uint64_t key
    bint taken
    Found found


cdef class Directory:
    cdef object _ask
    cdef object _told
    cdef Place* _places
    cdef uint64_t _mask
    cdef int64_t _count
    # The texts, kept alive.
    cdef dict _texts

    # Find the entry of a key, which is asked for when it has not been before. Call without the GIL.
    cdef int find(self, uint64_t key, Found* found) except -1 nogil
    cdef int ask(self, uint64_t key, Found* found) except -1
    # A text for a key that comes with an event.
    cdef int learn(self, uint64_t key, text) except -1
    cdef int put(self, uint64_t key, entry) except -1
    cdef Place* _place(self, uint64_t key) noexcept nogil
    cdef int _grow(self) except -1
