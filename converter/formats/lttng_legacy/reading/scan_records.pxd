# Positions of the blocks and records of a file, as a scanner walks over them.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from converter.formats.lttng_legacy.headers cimport HeaderForm
from converter.formats.lttng_legacy.reading.markers cimport MarkerTable

cdef enum:
    # Results of reading a record.
    RECORD = 0
    INCOMPLETE = 1
    UNDECODABLE = 2
    BLOCK_END = 3


cdef struct Record:
    uint64_t tsc
    uint32_t id
    # The payload's offset from the start of the window; -1 for a size that the header does not give.
    int64_t start
    int64_t size
    # `whole`: its header has all bits of the time; `blank`: it is nothing but zeros.
    bint whole, blank


cdef class RecordWalk:
    cdef MarkerTable _table
    # Offsets of the members of a block's header.
    cdef int64_t _header_size, _magic_at, _begin_at, _end_at, _data_at, _size_at, _lost_at, _corrupt_at
    cdef bint _own_sizes, _swap
    cdef int64_t _block_size
    cdef HeaderForm _form
    cdef int32_t _native_class, _discarded_class
    # The file: what comes next, and the block that it is in.
    cdef readonly int64_t position
    cdef int64_t _block, _data_end, _next_block
    cdef bint _unclosed
    cdef uint64_t _tsc, _begin, _end
    # True if the next event, or block, is to be looked for; where the last one ended.
    cdef bint _seeking
    cdef int64_t _behind
    cdef int64_t _hurt
    cdef int64_t _holes_left
    cdef uint32_t _lost, _corrupt
    cdef readonly int64_t damaged, first_damage, mismatches, first_mismatch, undeclared, unclosed, blocks
    # Position of the damage after which nothing was looked for any more, -1 for nowhere.
    cdef readonly int64_t given_up
    cdef readonly bint truncated

    cdef bint _may_seek(self) noexcept nogil
    cdef bint _is_block(self, const uint8_t* header) noexcept nogil
    cdef void _damage(self, int64_t place) noexcept nogil
    cdef void _close(self) noexcept nogil
    cdef int _open(self, uint8_t* window, int64_t at, int64_t length, int64_t file_size, Record* record) noexcept nogil
    cdef int _next(self, const uint8_t* window, int64_t at, int64_t limit, Record* record) noexcept nogil
    cdef int _tail(self, const uint8_t* window, int64_t at, int64_t limit) noexcept nogil
