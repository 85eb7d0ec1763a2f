from cython cimport final
from libc.stdint cimport int64_t, uint64_t

from converter.kernels.tables.open_slices cimport Lanes


@final
cdef class Kept:
    # The part's first and last time; whether a record that is not before it, and one after it, have been there.
    cdef readonly int64_t first
    cdef readonly int64_t last
    cdef bint opened
    cdef bint passed
    # What is open: `number` and `inside` of an entry are the offset and the size of the record that began it.
    cdef Lanes _open
    # Offset and size of each record that is kept whatever follows it.
    cdef int64_t* _ranges
    cdef int64_t _count
    cdef int64_t _room

    # Keep a record; false without memory.
    cdef bint keep(self, int64_t offset, int64_t size) noexcept nogil
    # Keep a record as long as what it begins is open, on the stack of a key of two words.
    cdef bint begin(self, uint64_t first, uint64_t second, int64_t name, int64_t offset, int64_t size) noexcept nogil
    # Keep a record until the next one of its key.
    cdef bint set(self, uint64_t first, uint64_t second, int64_t offset, int64_t size) noexcept nogil
    # Let go of what an end closes, as `selection.stacks` matches them: the innermost of its name (0: of any), or else
    # the innermost, and all inside it.
    cdef void end(self, uint64_t first, uint64_t second, int64_t name) noexcept nogil
    # Forget stacks on which nothing is open, once there are many; false without memory.
    cdef bint tidy(self) noexcept nogil
