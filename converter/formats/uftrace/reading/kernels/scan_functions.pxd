# Functions at the addresses of records; streams that wait for their turn.
from libc.stdint cimport int32_t, int64_t, uint64_t

from converter.formats.uftrace.arguments.values cimport Program
from converter.formats.uftrace.reading.kernels.scan_addresses cimport Cached, Module, Space
from converter.formats.uftrace.reading.kernels.scan_streams cimport Heap, Stream
from converter.kernels.tables.strings cimport StringTable


cdef enum:
    # Results of `resolve`.
    RESOLVED = 0
    SITE_MISSING = 1
    OUT_OF_MEMORY = 2


cdef class FunctionTable:
    cdef StringTable _strings
    cdef Module* _modules
    cdef int64_t _module_count
    cdef Space* _spaces
    cdef int64_t space_count
    cdef Program* programs
    cdef int64_t _program_count
    # By `cache_slot`.
    cdef Cached* cache
    # The largest class of a program.
    cdef int32_t highest_class
    cdef list _kept
    cdef readonly int32_t module
    cdef readonly int64_t symbol

    # Fill a place of the cache with the site of an address. Where that is missing, `module` and `symbol` say whose it is.
    # Call with the lock of the strings held.
    cdef int resolve(self, Cached* cached, uint64_t address, int32_t space) noexcept nogil


# Room for one element more; the array may move.
cdef void* grown(void* array, int64_t count, size_t size) except NULL


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
