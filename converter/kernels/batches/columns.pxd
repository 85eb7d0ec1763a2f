"""The columns that the program of a class takes in one batch; other buffers, held as long as they are needed."""

from libc.stdint cimport int64_t, uint8_t

from converter.kernels.batches.column_view cimport ColumnView, Takes


# What a column is to have: see `BoundColumns.bind`.
cdef struct Need:
    Takes takes
    int64_t width


cdef class BoundColumns:
    cdef ColumnView* views
    cdef int64_t count
    cdef Py_buffer* _buffers
    cdef int64_t _held
    cdef Need* _needs

    # What view number i is to have, for `bind_all`, which takes a column for each.
    cdef int need(self, int64_t i, Takes takes, int64_t width) except -1
    cdef int bind_all(self, columns) except -1
    # View number i, of what an operation takes: see columns.pyx.
    cdef ColumnView* bind(self, int64_t i, Takes takes, int64_t width, given, int64_t rows) except NULL
    cdef Py_buffer* _hold(self, array, int64_t width, bint adjoining) except NULL
    # Raise ValueError where a column has fewer than `rows` values.
    cdef int check_rows(self, int64_t rows) except -1
    cdef int check_list(self, int64_t i) except -1
    cdef void release(self)


cdef class HeldBuffers:
    cdef Py_buffer* _views
    cdef const uint8_t** data
    cdef int64_t* sizes
    cdef int64_t count
