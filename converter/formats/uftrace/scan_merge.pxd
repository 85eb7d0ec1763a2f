# Streams that wait for their turn.
from libc.stdint cimport int32_t, int64_t

from converter.formats.uftrace.scan_functions cimport FunctionTable
from converter.formats.uftrace.scan_streams cimport Heap, Stream


cdef class Streams:
    cdef FunctionTable _functions
    cdef bint _close
    cdef bint _swap
    cdef Stream* _streams
    cdef int32_t _stream_count
    cdef Heap _heap
    cdef list _kept
    cdef list _windows

    cdef Stream* _add_stream(self) except NULL
    cdef Stream* _empty(self, int32_t number, bint is_ready, int64_t segment) except NULL
