"""Buffers in which a batch's records lie, for kernels that gather the columns of a class."""

from cython cimport final

from libc.stdint cimport int64_t, uint32_t, uint8_t

from converter.kernels.batches.columns cimport HeldBuffers
from converter.kernels.tables.strings cimport StringTable


cdef class Segments(HeldBuffers):
    # The bytes of a record or span, NULL when it is not wholly within its segment.
    @final
    cdef inline const uint8_t* _at(self, int64_t location, int64_t size) noexcept nogil:
        cdef int64_t segment = location >> 32
        cdef int64_t offset = location & <int64_t>0xffffffff
        if segment < 0 or segment >= self.count or size > self.sizes[segment] - offset:
            return NULL
        return self.data[segment] + offset

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
