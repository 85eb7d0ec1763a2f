"""The columns that the program of a class takes in one batch; other buffers, held as long as they are needed."""

from libc.stdint cimport int64_t, uint8_t

from converter.kernels.batches.column_view cimport ColumnView, Takes


cdef class BoundColumns:
    cdef ColumnView* views
    cdef int64_t count
    cdef Py_buffer* _buffers
    cdef int64_t _held

    # View number i, of what an operation takes: see columns.pyi.
    cdef ColumnView* bind(self, int64_t i, Takes takes, int64_t width, given, int64_t rows) except NULL
    cdef Py_buffer* _hold(self, array, int64_t width, bint adjoining) except NULL
    cdef int check_list(self, int64_t i) except -1
    cdef void release(self)


cdef class HeldBuffers:
    cdef Py_buffer* _views
    cdef const uint8_t** data
    cdef int64_t* sizes
    cdef int64_t count
