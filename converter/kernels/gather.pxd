"""Buffers in which a batch's records lie, for kernels that gather the columns of a class."""

from libc.stdint cimport int64_t, uint32_t, uint8_t

from converter.kernels.columns cimport HeldBuffers
from converter.kernels.strings cimport StringTable


cdef class Segments(HeldBuffers):
    cdef const uint8_t* _at(self, int64_t location, int64_t size) noexcept nogil
    cdef void _fetch(self, const int64_t[::1] location, int64_t i, int64_t offset) noexcept nogil
    cpdef list gathered(
        self,
        const int64_t[::1] location,
        const uint32_t[::1] size,
        const int64_t[:, ::1] places,
        bint big_endian,
        list dtypes,
    )
    cpdef list gathered_with_texts(
        self,
        const int64_t[::1] location,
        const uint32_t[::1] size,
        const int64_t[:, ::1] places,
        const int64_t[:, ::1] texts,
        StringTable strings,
        bint big_endian,
        list dtypes,
    )
    cdef int _gather(
        self,
        const int64_t[::1] location,
        const uint32_t[::1] size,
        const int64_t[:, ::1] places,
        const int64_t[:, ::1] texts,
        StringTable strings,
        bint big_endian,
        list outs,
    ) except -1
