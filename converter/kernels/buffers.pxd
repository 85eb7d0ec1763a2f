"""Buffers of Python objects that kernels read, held as long as they are needed."""

from libc.stdint cimport int64_t, uint8_t


cdef class HeldColumn:
    cdef Py_buffer _view
    cdef bint _filled
    cdef const uint8_t* data
    cdef int64_t length
    cdef int64_t width
    cdef int64_t stride

    cdef int adjoin(self) except -1
    cdef const int64_t* offsets(self) except NULL


cdef class HeldList:
    cdef Py_buffer _ends
    cdef Py_buffer _values
    cdef int _filled
    cdef const int64_t* offsets
    cdef const uint8_t* data
    cdef int64_t length


cdef class HeldBuffers:
    cdef Py_buffer* _views
    cdef const uint8_t** data
    cdef int64_t* sizes
    cdef int64_t count
