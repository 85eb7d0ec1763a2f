"""Tables and recipes, for kernels that make the tables of many classes."""

from cpython.pythread cimport PyThread_type_lock


cdef class Table:
    cdef Py_ssize_t _length
    cdef list _columns
    cdef PyThread_type_lock _lock
    # Who holds the lock, 0 for nobody, and how often: a column may be made of others of its table.
    cdef unsigned long _holder
    cdef int _held

    cpdef object column(self, Py_ssize_t index)
    cpdef object made(self, part, context)
    cpdef Table derived(self, recipe, context)
    cpdef tuple settled(self, parts, context)
    cdef int _enter(self) except -1
    cdef int _leave(self) except -1


cdef class LazyColumn:
    cdef readonly Table table
    cdef readonly Py_ssize_t index


cdef class ComputedColumn:
    cdef readonly object function
    cdef readonly tuple columns
    cdef readonly object context


cdef class Together:
    cdef object _make
    cdef list _columns

    cdef object made(self, Py_ssize_t number)


cdef class TogetherColumn:
    cdef Together _together
    cdef Py_ssize_t _number
