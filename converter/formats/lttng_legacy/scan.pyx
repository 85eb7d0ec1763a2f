# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Blocks of legacy LTTng files into columns.

A scanner walks one file, window by window: block headers, event headers of each version, and payloads by the programs
that format texts compile to, since most event headers do not say how long the payload is. It stops where a window ends
and goes on with the next, so that blocks of any size take no more memory than a window.

Sources: block and event headers of LTTV's tracefile.c and the tracer's ltt-tracer.h; see docs/formats/lttng_legacy.md.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy

from converter.formats.lttng_legacy.headers cimport (
    EventHeader, HEADER_2, HEADER_32, HeaderForm, period, read_header,
)
from converter.formats.lttng_legacy.markers cimport (
    HEARTBEAT, HEARTBEAT_64, Marker, MarkerTable, ON_THREAD, ThreadIndex,
)
from converter.formats.lttng_legacy.payload cimport padding, walk
from converter.kernels.byte_order cimport HOST_IS_BIG, load32, load64

cdef enum:
    # What became of a record.
    RECORD = 0
    INCOMPLETE = 1
    UNDECODABLE = 2
    BLOCK_END = 3
    # So many zeros, whose time is not that of their block's beginning, are a hole in the file.
    HOLE = 16
    # So many events must follow each other behind damage, or these and then the block's end.
    IN_A_ROW = 8
    UP_TO_THE_END = 3
    # Events that are looked for take no more, and of what the bits of a time can say only such a part is between two.
    LARGEST_SOUGHT = 4096
    # Behind the first place at which events may go on, others are tried so far.
    NEAR = 512
    # Of larger blocks the rest is not looked at.
    LARGEST_BLOCK = 1 << 26
    PART = 16
    # Places where events go on that are told.
    TOLD = 8

# What `scan` ended with.
DONE = 0
FULL = 1
NEEDS_DATA = 2

cdef enum:
    ENDED = 0
    NO_ROOM = 1
    NO_DATA = 2


cdef struct Record:
    uint64_t tsc
    uint32_t id
    # Of the payload, from the start of the window; -1 for a size that the header does not tell.
    int64_t start
    int64_t size
    # Whether its header has all bits of the time, and whether it is nothing but zeros.
    bint whole, blank


cdef bint _is_hole(const uint8_t* window, int64_t at, int64_t limit) noexcept nogil:
    cdef int64_t i
    for i in range(at, min(at + HOLE, limit)):
        if window[i]:
            return False
    return True


cdef class Scanner:
    cdef MarkerTable _table
    cdef ThreadIndex _threads
    # Where members of a block's header are.
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
    # Whether the next event, or block, is to be looked for; where the last one ended.
    cdef bint _seeking
    cdef int64_t _behind
    cdef int64_t _hurt
    cdef int64_t _holes_left
    cdef int64_t _told[TOLD][3]
    cdef uint32_t _lost, _corrupt
    cdef readonly int64_t damaged, first_damage, mismatches, first_mismatch, undeclared, unclosed, blocks, resumed
    # Where damage was behind which nothing was looked for any more, -1 for nowhere.
    cdef readonly int64_t given_up
    cdef readonly bint truncated

    def __init__(self, MarkerTable table not None, ThreadIndex threads, header, geometry, int64_t holes):
        self._table = table
        self._threads = threads
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

    @property
    def holes(self):
        return [tuple(self._told[i]) for i in range(min(self.resumed, TOLD))]

    def scan(
        self,
        uint8_t[::1] data,
        int64_t base,
        int64_t file_size,
        int64_t[::1] ts,
        int32_t[::1] class_id,
        int32_t[::1] thread,
        uint32_t[::1] start,
        uint32_t[::1] size,
    ):
        cdef int64_t room = ts.shape[0]
        cdef int64_t length = data.shape[0]
        cdef int64_t count = 0
        cdef int64_t limit
        cdef int found, status
        cdef Record record
        cdef Marker* marker
        cdef uint8_t* window
        if class_id.shape[0] != room or thread.shape[0] != room or start.shape[0] != room or size.shape[0] != room:
            raise ValueError("the columns differ in length")
        if base < 0 or self.position < base or self.position > base + length or length > 0xffffffff:
            raise ValueError("the window is not the next one")
        if length == 0:
            return 0, ENDED
        window = &data[0]
        status = ENDED
        with nogil:
            while True:
                if count == room:
                    status = NO_ROOM
                    break
                if self._seeking:
                    # What is left of a block is looked at as a whole; of the file, piece after piece.
                    limit = file_size if self._block < 0 else min(self._data_end, file_size)
                    if self._block >= 0 and base + length < limit:
                        status = NO_DATA
                        break
                    self._seek(window, base, length, file_size)
                    if self._seeking:
                        status = NO_DATA
                        break
                    continue
                if self._block < 0:
                    found = self._open(window, self.position - base, length, file_size, &record)
                    if found == INCOMPLETE:
                        status = NO_DATA
                        break
                    if found == BLOCK_END:
                        break
                    if found == RECORD:
                        ts[count] = <int64_t>record.tsc
                        class_id[count] = self._discarded_class
                        thread[count] = -1
                        start[count] = <uint32_t>record.start
                        size[count] = 8
                        count += 1
                    continue
                if self.position >= self._data_end:
                    self._close()
                    continue
                limit = min(self._data_end - base, length)
                found = self._next(window, self.position - base, limit, &record)
                if found == RECORD:
                    marker = &self._table._markers[record.id] if record.id < self._table._count else NULL
                    self.position = self._behind = base + record.start + record.size
                    self._tsc = record.tsc
                    if marker is NULL or marker.class_id < 0:
                        if marker is not NULL and marker.kind >= HEARTBEAT:
                            if marker.kind == HEARTBEAT_64 and record.size >= 8:
                                self._tsc = load64(window + record.start + record.size - 8, self._swap)
                            continue
                        self.undeclared += 1
                        # The record's id stands right before its size; both are kept for the record's bytes.
                        class_id[count] = self._native_class
                        thread[count] = <int32_t>record.id
                    else:
                        class_id[count] = marker.class_id
                        thread[count] = -1
                        if marker.kind == ON_THREAD and record.size >= 8 and self._threads is not None:
                            thread[count] = self._thread_of(window + record.start + record.size - 8)
                    ts[count] = <int64_t>record.tsc
                    start[count] = <uint32_t>record.start
                    size[count] = <uint32_t>record.size
                    count += 1
                    continue
                if found == INCOMPLETE and limit < self._data_end - base:
                    if base + length < file_size:
                        status = NO_DATA
                        break
                    self.truncated = True
                    self._damage(self.position)
                    self.position = file_size
                    self._block = -1
                    break
                if found != BLOCK_END and not self._unclosed:
                    self._damage(self.position)
                    if min(self._data_end, file_size) - self.position <= LARGEST_BLOCK and self._may_seek():
                        continue
                self._close()
        return count, status

    # Whether what comes next is to be looked for behind damage at `position`.
    cdef inline bint _may_seek(self) noexcept nogil:
        if self._holes_left == 0:
            if self.given_up < 0:
                self.given_up = self.position
            return False
        self._holes_left -= 1
        self._seeking = True
        return True

    # Go on at the next block's header or, within a block, at events that follow each other, from `position` on.
    cdef void _seek(self, uint8_t* window, int64_t base, int64_t length, int64_t file_size) noexcept nogil:
        cdef int64_t end = base + length
        cdef int64_t limit = end if self._block < 0 else min(self._data_end, end)
        cdef int64_t place = self.position
        cdef int64_t step = max(min(self._form.alignment, 4), 1)
        cdef int64_t best = -1, farthest = -1, tried = 0, reached
        cdef uint64_t unseen = 0, missing = 0
        while place < limit:
            if place + self._header_size > end and self._block < 0:
                break
            if place + self._header_size <= end and self._is_block(window + place - base):
                self._block = -1
                self._go_on(place, load64(window + place - base + self._begin_at, self._swap))
                return
            if self._block >= 0 and place > self.position and (place - self._block) % step == 0 and self._are_events(window, base, place, limit):
                # Fields of events can look like others; then one of the next places leads farther.
                reached = self._reach(window, base, place, limit, &unseen)
                if reached > farthest:
                    farthest, best, missing = reached, place, unseen
                tried += 1
            if best >= 0 and (tried == IN_A_ROW or place - best >= NEAR or farthest > limit):
                break
            place += 1
        if best >= 0:
            self._go_on(best, self._tsc + missing)
            return
        if self._block >= 0:
            self._seeking = False
            self._close()
            return
        self.position = place
        if end >= file_size:
            self._seeking = False
            self.position = file_size

    cdef inline void _go_on(self, int64_t place, uint64_t tsc) noexcept nogil:
        cdef int64_t* told
        if self.resumed < TOLD:
            told = self._told[self.resumed]
            told[0], told[1], told[2] = self._behind, place, <int64_t>self._tsc
        self.resumed += 1
        self._tsc = tsc
        self.position = place
        self._seeking = False

    cdef inline bint _is_block(self, const uint8_t* header) noexcept nogil:
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

    # Whether events follow each other from `place` on, each of a marker that is declared, as long as that says, and
    # not long behind the one before.
    cdef bint _are_events(self, const uint8_t* window, int64_t base, int64_t place, int64_t limit) noexcept nogil:
        cdef int64_t position = self.position
        cdef uint64_t tsc = self._tsc
        cdef int64_t mismatches = self.mismatches, first_mismatch = self.first_mismatch
        cdef int64_t end, count = 0
        cdef int found
        cdef bint are = False
        cdef uint64_t unit = period(&self._form)
        cdef Record record
        self.position = place
        while True:
            if count == IN_A_ROW or (self.position == self._data_end and count >= UP_TO_THE_END):
                are = True
                break
            end = min(limit, self.position + LARGEST_SOUGHT)
            found = self._next(window, self.position - base, end - base, &record)
            if found == BLOCK_END and end == self._data_end:
                are = count >= UP_TO_THE_END
                break
            if found != RECORD or record.blank or self.mismatches != mismatches or not self._is_declared(record.id):
                break
            # Of other times at least so much is known.
            if self._end >= self._begin and record.tsc > self._end:
                break
            if record.whole:
                if record.tsc < self._tsc:
                    break
            elif count and (record.tsc - self._tsc > unit // PART or (record.tsc == self._tsc and not self._form.truncate)):
                break
            self._tsc = record.tsc
            self.position = base + record.start + record.size
            count += 1
        self.position, self._tsc = position, tsc
        self.mismatches, self.first_mismatch = mismatches, first_mismatch
        return are

    cdef inline bint _is_declared(self, uint32_t id) noexcept nogil:
        cdef Marker* marker
        if id >= self._table._count:
            return False
        marker = &self._table._markers[id]
        return marker.class_id >= 0 or marker.kind >= HEARTBEAT

    # How far events follow each other from `place` on: beyond `limit` where they lead to the block's end.
    #
    # Their time is known but for a multiple of what its bits can say: so much is missing (`unseen`) that the next with
    # all bits, or else the block's end, is not much later than the one before.
    cdef int64_t _reach(
        self, const uint8_t* window, int64_t base, int64_t place, int64_t limit, uint64_t* unseen
    ) noexcept nogil:
        cdef int64_t position = self.position
        cdef uint64_t tsc = self._tsc
        cdef int64_t mismatches = self.mismatches, first_mismatch = self.first_mismatch
        cdef uint64_t unit = period(&self._form)
        cdef int64_t at, reached
        cdef int found
        cdef bint known = unit == 0
        cdef Record record
        unseen[0] = 0
        self.position = place
        while True:
            reached = self.position
            if reached >= limit:
                reached += reached == self._data_end
                break
            found = self._next(window, reached - base, limit - base, &record)
            if found == RECORD and self.mismatches == mismatches and self._is_declared(record.id):
                if self._table._markers[record.id].kind == HEARTBEAT_64 and record.size >= 8:
                    record.tsc = load64(window + record.start + record.size - 8, self._swap)
                    record.whole = True
                if record.whole and not known:
                    known = True
                    unseen[0] = (record.tsc - self._tsc) // unit * unit if record.tsc > self._tsc else 0
                self._tsc = record.tsc
                self.position = base + record.start + record.size
                continue
            # Where a piece is lost the next block begins earlier.
            at = reached - base
            if found == BLOCK_END or (
                limit - reached >= self._header_size and self._is_block(window + at)
            ):
                reached = limit + 1
            break
        if reached > limit and not known and self._end > self._tsc:
            unseen[0] = (self._end - self._tsc) // unit * unit
        self.position, self._tsc = position, tsc
        self.mismatches, self.first_mismatch = mismatches, first_mismatch
        return reached

    cdef inline int32_t _thread_of(self, const uint8_t* context) noexcept nogil:
        cdef uint64_t pid = load32(context, self._swap)
        cdef uint64_t tid = load32(context + 4, self._swap)
        return self._threads.find(pid << 32 | tid)

    cdef inline void _damage(self, int64_t place) noexcept nogil:
        if self.damaged == 0:
            self.first_damage = place
        # No event was found since the last: that a block has no header is the same damage.
        elif self._hurt >= self._behind:
            return
        self._hurt = place
        self.damaged += 1

    cdef inline void _close(self) noexcept nogil:
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
                # The block in front may be shorter than it says, where a piece is lost.
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
        # What the header counts from the beginning of the trace is, in the window, what was lost before this block.
        lost -= self._lost
        corrupt -= self._corrupt
        self._lost += lost
        self._corrupt += corrupt
        memcpy(window + record.start, &lost, 4)
        memcpy(window + record.start + 4, &corrupt, 4)
        return RECORD

    # The record at `at` of the window, which ends, or whose block ends, at `limit`.
    cdef inline int _next(self, const uint8_t* window, int64_t at, int64_t limit, Record* record) noexcept nogil:
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

    # What is left of a block where no event header fits: padding, unless the window ends there.
    cdef inline int _tail(self, const uint8_t* window, int64_t at, int64_t limit) noexcept nogil:
        cdef int64_t i
        for i in range(at, limit):
            if window[i]:
                return INCOMPLETE
        return INCOMPLETE if self._data_end - self.position > limit - at else BLOCK_END
