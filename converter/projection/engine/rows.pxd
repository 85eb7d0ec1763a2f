"""Rows of a class within a batch, for kernels that make those of all classes."""

from converter.ir.tables cimport Table
from converter.kernels.batches.union cimport DenseUnion


cdef class Places:
    cdef DenseUnion _union
    cdef readonly long number
    cdef object _all
    cdef public bint asked

    cdef object of_all(self)


cdef class Rows:
    cdef readonly object batch
    cdef readonly object event_class
    cdef readonly Table table
    cdef readonly object places
    cdef public object on_thread
    cdef public object on_cpu
    cdef public object on_track
    cdef readonly long after
    cdef readonly bint whole
    cdef readonly dict derived

    cdef object positions_of(self)
    cpdef object taken(self, column)


cdef object settled_place(place)
cdef bint is_constant(column) except -1
