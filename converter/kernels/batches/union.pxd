"""The dense union of a batch, for kernels that look at one class after the other."""

from cpython.pythread cimport PyThread_type_lock
from libc.stdint cimport int32_t, int64_t


cdef class RowBounds:
    cdef int64_t* start
    cdef int64_t* end
    cdef int64_t highest
    cdef int64_t rows

    cdef object of_class(self, flat, int64_t number)
    cdef object positions(self, const int32_t[:] class_id, const int32_t[:] row)
    cdef object taken(self, const int32_t[:] class_id, const int32_t[:] row, column)


cdef class DenseUnion:
    cdef object _class_id
    cdef object _row
    cdef dict _lengths
    # Results so far, computed by one thread at a time: positions by class, of all rows, and columns by their ids.
    cdef PyThread_type_lock _lock
    cdef RowBounds _bounds
    cdef dict _positions
    cdef object _flat
    cdef dict _taken
    cdef int64_t* _firsts
    cdef int64_t _highest

    cpdef int64_t first(self, int64_t number) except -1
    cpdef object positions(self, int64_t number)
    cpdef object taken(self, column, int64_t number)
    cdef object _found(self, int64_t number, int64_t one_by_one)
    cdef int _enter(self) except -1
    cdef int _find_firsts(self) except -1
