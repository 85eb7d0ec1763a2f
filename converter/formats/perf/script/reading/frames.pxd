from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from converter.kernels.tables.strings cimport StringTable


cdef class StackTexts:
    cdef StringTable _strings, _frame_texts, _stack_texts
    cdef readonly object function, mapping, source, address, offset, line
    cdef readonly object first, frames, rest, distant
    cdef int32_t[::1] _function, _mapping, _source, _frames, _rest
    cdef uint64_t[::1] _address
    cdef int64_t[::1] _offset, _first
    cdef uint32_t[::1] _line
    cdef uint8_t[::1] _distant
    cdef int64_t _bytes

    cdef void lock(self) noexcept nogil
    cdef void unlock(self) noexcept nogil
    # The number of a stack's text; -1 without memory.
    cdef int32_t find_or_add(self, const uint8_t* base, int64_t start, int64_t end) noexcept nogil
    cdef bint _add(self, const uint8_t* base, int64_t start, int64_t end, int32_t number) noexcept nogil
    cdef bint _add_frame(
        self, const uint8_t* base, int64_t at, int64_t end, int64_t further, int32_t number
    ) noexcept nogil
    cdef void _add_source(self, const uint8_t* base, int64_t at, int64_t end, int32_t number) noexcept nogil
    cdef int32_t _name(self, const uint8_t* base, int64_t start, int64_t end) noexcept nogil


# Where a hexadecimal number ends that a space or the end follows; -1 where there is none.
cdef int64_t address_end(const uint8_t* base, int64_t at, int64_t end) noexcept nogil
# Where the parenthesis in brackets begins that is the last of a text; -1 where there is none.
cdef int64_t last_bracket(const uint8_t* base, int64_t start, int64_t end) noexcept nogil
