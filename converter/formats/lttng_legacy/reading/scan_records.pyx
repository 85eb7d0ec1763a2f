# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Blocks and records of legacy LTTng files: headers of blocks, headers of events in each version, and payloads by the
programs that format texts compile to, since most event headers do not say how long the payload is.

Sources: block and event headers of LTTV's tracefile.c and the tracer's ltt-tracer.h; see docs/formats/lttng_legacy.md.
"""

# Stub:
# from collections.abc import Sequence
# from converter.formats.lttng_legacy.reading.markers import MarkerTable

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from converter.formats.lttng_legacy.headers cimport EventHeader, HEADER_2, HEADER_32, read_header
from converter.formats.lttng_legacy.payload cimport padding, walk
from converter.formats.lttng_legacy.reading.markers cimport Marker, MarkerTable
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load32, load64

cdef enum:
    # This number of zeros, whose time is not that of their block's beginning, are a gap in the file.
    HOLE = 16


cdef bint _is_hole(const uint8_t* window, int64_t at, int64_t limit) noexcept nogil:
    cdef int64_t i
    for i in range(at, min(at + HOLE, limit)):
        if window[i]:
            return False
    return True


cdef class RecordWalk:
    """Blocks and records of a file, one after the other; what a scanner makes columns of."""

    # Stub:
    # position: int
    # damaged: int
    # first_damage: int
    # mismatches: int
    # first_mismatch: int
    # undeclared: int
    # unclosed: int
    # blocks: int
    # given_up: int
    # truncated: bool

    def __init__(self, MarkerTable table not None, header: Sequence[int], geometry: Sequence[int], int64_t holes):
        self._table = table
        self._holes_left = holes
        (self._header_size, self._magic_at, self._begin_at, self._end_at, self._data_at, self._size_at, self._lost_at,
         self._corrupt_at) = header
        (self._own_sizes, big, ids_big, self._block_size, self._form.alignment, self._form.arch_size, self._form.form,
         self._form.tscbits, self._form.shift, self._form.truncate, self._native_class,
         self._discarded_class) = geometry
        for at, size in ((self._magic_at, 4), (self._begin_at, 8), (self._end_at, 8), (self._data_at, 4), (self._size_at, 4)):
            if not 0 <= at <= self._header_size - size:
                raise ValueError("a member lies outside the block's header")
        if self._lost_at > self._header_size - 8 or self._corrupt_at != (-1 if self._lost_at < 0 else self._lost_at + 4):
            raise ValueError("the counts of lost events lie outside the block's header")
        if self._block_size < self._header_size:
            raise ValueError("no block is so small")
        if self._form.alignment not in (0, 1, 2, 4, 8, 16) or self._form.arch_size not in (4, 8):
            raise ValueError("no such alignment")
        if not HEADER_32 <= self._form.form <= HEADER_2 or self._form.truncate > 31:
            raise ValueError("no event header is such")
        if self._form.tscbits > self._form.shift or self._form.shift > 32:
            raise ValueError("a compact header has no such bits")
        self._swap = self._form.swap = bool(big) != HOST_IS_BIG
        self._form.ids_swap = bool(ids_big) != HOST_IS_BIG
        self._block = -1
        self.first_damage = self.first_mismatch = self.given_up = -1

    # Return True if the next events are to be looked for after damage at `position`.
    cdef bint _may_seek(self) noexcept nogil:
        if self._holes_left == 0:
            if self.given_up < 0:
                self.given_up = self.position
            return False
        self._holes_left -= 1
        self._seeking = True
        return True

    cdef bint _is_block(self, const uint8_t* header) noexcept nogil:
        cdef uint32_t size, used
        cdef uint64_t begin
        if load32(header + self._magic_at, self._swap) != <uint32_t>0x00D6B7ED:
            return False
        size = load32(header + self._size_at, self._swap)
        used = load32(header + self._data_at, self._swap)
        begin = load64(header + self._begin_at, self._swap)
        if size < self._header_size or (not self._own_sizes and size != self._block_size):
            return False
        return not begin >> 63 and begin >= self._begin and (used <= size or used == <uint32_t>0xffffffff)

    cdef void _damage(self, int64_t place) noexcept nogil:
        if self.damaged == 0:
            self.first_damage = place
        # No event was found since the last: that a block has no header is the same damage.
        elif self._hurt >= self._behind:
            return
        self._hurt = place
        self.damaged += 1

    cdef void _close(self) noexcept nogil:
        self.position = self._next_block
        self._block = -1

    # Read the header of the block that begins at `at` of the window. RECORD: events were lost before it; UNDECODABLE:
    # there is nothing to deliver; BLOCK_END: the file ends.
    cdef int _open(self, uint8_t* window, int64_t at, int64_t length, int64_t file_size, Record* record) noexcept nogil:
        cdef int64_t left = file_size - self.position
        cdef uint8_t* header = window + at
        cdef uint32_t size, used, lost, corrupt
        if left <= 0:
            return BLOCK_END
        if left < self._header_size:
            self.truncated = True
            self._damage(self.position)
            self.position = file_size
            return BLOCK_END
        if length - at < self._header_size:
            return INCOMPLETE
        size = <uint32_t>self._block_size
        if load32(header + self._magic_at, self._swap) != <uint32_t>0x00D6B7ED:
            self._damage(self.position)
            if self._may_seek():
                # The block before may be shorter than it says, where a part is lost.
                self.position = max(self._behind, self.position - at)
                return UNDECODABLE
            # Blocks of one size have a next one all the same.
            self.position = file_size if self._own_sizes else self.position + size
            return UNDECODABLE
        if self._own_sizes:
            size = load32(header + self._size_at, self._swap)
        if size < self._header_size:
            self._damage(self.position)
            if self._may_seek():
                self.position += 1
            else:
                self.position = file_size
            return UNDECODABLE
        self.blocks += 1
        self._begin = self._tsc = load64(header + self._begin_at, self._swap)
        self._end = load64(header + self._end_at, self._swap)
        self._next_block = self.position + size
        if self._tsc >> 63:
            self._damage(self.position)
            self.position = self._next_block
            return UNDECODABLE
        used = load32(header + self._data_at, self._swap)
        self._unclosed = used == <uint32_t>0xffffffff
        if self._unclosed:
            self.unclosed += 1
            used = size
        elif not self._own_sizes:
            used = size - used if used <= size else size + 1
        if used < self._header_size or used > size:
            self._damage(self.position)
            used = size
        self._block = self.position
        self._data_end = self.position + used
        self.position += self._header_size
        self._behind = self.position
        if self._lost_at < 0:
            return UNDECODABLE
        lost = load32(header + self._lost_at, self._swap)
        corrupt = load32(header + self._corrupt_at, self._swap)
        if lost == self._lost and corrupt == self._corrupt:
            return UNDECODABLE
        record.tsc = self._tsc
        record.start = at + self._lost_at
        # The header counts from the beginning of the trace: subtract events lost before this block.
        lost -= self._lost
        corrupt -= self._corrupt
        self._lost += lost
        self._corrupt += corrupt
        memcpy(window + record.start, &lost, 4)
        memcpy(window + record.start + 4, &corrupt, 4)
        return RECORD

    # The record at `at` of the window, which ends, or whose block ends, at `limit`.
    cdef int _next(self, const uint8_t* window, int64_t at, int64_t limit, Record* record) noexcept nogil:
        cdef int64_t inside = self.position - self._block
        cdef int64_t begin = at
        cdef int64_t decoded
        cdef EventHeader header
        cdef Marker* marker
        at = read_header(&self._form, window, at, limit, inside, self._tsc, &header)
        if at < 0:
            return self._tail(window, begin, limit)
        if self._unclosed and header.blank:
            return BLOCK_END
        if header.blank and header.tsc != self._begin:
            if limit - begin < HOLE and limit - begin < self._data_end - self.position:
                return INCOMPLETE
            if _is_hole(window, begin, limit):
                return UNDECODABLE
        if header.tsc >> 63:
            return UNDECODABLE
        record.tsc = header.tsc
        record.id = header.id
        record.whole = header.whole
        record.blank = header.blank
        marker = &self._table._markers[header.id] if header.id < self._table._count else NULL
        if marker is not NULL and marker.size < 0 and marker.count == 0:
            # An id that nobody declared.
            marker = NULL
        if self._form.form == HEADER_2 and marker is not NULL:
            at += padding(inside + at - begin, marker.largest, marker.largest)
        if at > limit:
            return INCOMPLETE
        record.start = at
        if marker is NULL:
            if header.size < 0:
                return UNDECODABLE
            record.size = header.size
            return RECORD if header.size <= limit - at else INCOMPLETE
        if marker.size >= 0:
            decoded = marker.size
            if header.size < 0 and decoded > limit - at:
                return INCOMPLETE
        else:
            decoded = walk(marker.steps, marker.count, window + at, limit - at)
            if decoded < 0 and header.size < 0:
                return INCOMPLETE
        if header.size >= 0:
            if header.size > limit - at:
                return INCOMPLETE
            if decoded != header.size:
                if self.mismatches == 0:
                    self.first_mismatch = self.position
                self.mismatches += 1
            decoded = header.size
        record.size = decoded
        return RECORD

    # Handle the rest of a block where no event header fits: padding, unless the window ends there.
    cdef int _tail(self, const uint8_t* window, int64_t at, int64_t limit) noexcept nogil:
        cdef int64_t i
        for i in range(at, limit):
            if window[i]:
                return INCOMPLETE
        return INCOMPLETE if self._data_end - self.position > limit - at else BLOCK_END
