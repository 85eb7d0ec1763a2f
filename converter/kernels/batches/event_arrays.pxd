# The columns of events that kernels read or fill: those that all events have in common, and those of a format by name.

from libc.stdint cimport int32_t, int64_t

cdef enum:
    MOST_COLUMNS = 16
    # Which of the common columns a kernel needs beside the time stamps.
    WITH_CLASS = 1
    WITH_ROW = 2
    WITH_THREAD = 4
    WITH_CPU = 8
    WITH_TRACK = 16


# NULL for columns that are not there.
cdef struct Events:
    int64_t count
    int64_t* ts
    # The event class, or the number of its program.
    int32_t* class_id
    int32_t* row
    int32_t* thread
    int32_t* cpu
    int32_t* track


cdef class EventArrays:
    cdef int64_t count
    cdef Events _events
    cdef dict _numbers
    cdef Py_buffer[MOST_COLUMNS] _buffers
    cdef int _held
    cdef bint _writable

    cdef int _hold(self, str name, column) except -1
    cdef int32_t* _common(self, str name) except? NULL
    # The common columns; ValueError where one of those in `needed` is missing.
    cdef Events common(self, int needed) except *
    # One of the format's own columns, with elements of `width` bytes; ValueError where there is none such.
    cdef void* own(self, str name, int64_t width) except? NULL


# Columns that are filled.
cdef class OutputArrays(EventArrays):
    pass
