# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Blocks of legacy LTTng files into columns.

A scanner walks one file, window by window. It stops where a window ends and goes on with the next, so that blocks of
any size take no more memory than a window. After damage it goes on where blocks or events follow each other again.
"""

# Stub:
# from converter.formats.lttng_legacy.reading.scan_records import RecordWalk
# from collections.abc import Sequence
# from converter.formats.lttng_legacy.reading.markers import MarkerTable, ThreadIndex

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from converter.formats.lttng_legacy.headers cimport period
from converter.formats.lttng_legacy.reading.markers cimport (
    HEARTBEAT, HEARTBEAT_64, Marker, MarkerTable, ON_THREAD, ThreadIndex,
)
from converter.formats.lttng_legacy.reading.scan_records cimport BLOCK_END, INCOMPLETE, RECORD, Record, RecordWalk
from converter.kernels.io.byte_order cimport load32, load64

cdef enum:
    # This number of events must follow each other after damage, or fewer and then the block's end.
    IN_A_ROW = 8
    UP_TO_THE_END = 3
    # Events that are looked for take no more, and of what the bits of a time can say only such a part is between two.
    LARGEST_SOUGHT = 4096
    # After the first position at which events may continue, others are tried up to this distance.
    NEAR = 512
    # The rest of larger blocks is not read.
    LARGEST_BLOCK = 1 << 26
    PART = 16
    # The most positions where events continue that are reported.
    TOLD = 8

# Results of `scan`.
DONE = 0
FULL = 1
NEEDS_DATA = 2

cdef enum:
    ENDED = 0
    NO_ROOM = 1
    NO_DATA = 2


cdef class Scanner(RecordWalk):
    """One file being scanned.

    `position` is where the next window must begin or contain; `damaged` counts damaged ranges (the first at
    `first_damage`), `mismatches` payloads whose stored size is not that of their format, `undeclared` records of ids
    that nobody declared, `unclosed` blocks that the tracer never closed; `truncated` says that the file ends within
    one. `resumed` counts positions where events continue after damage, `holes` are the first of them: where the last
    event before it ends, where the next begins, and the time of the one before. `given_up` is where no more were looked
    for.

    Args:
        table: the channel's markers.
        threads: for markers of kind 1.
        header: size of a block's header, then the offsets of magic, begin, end, data or lost size, block size, lost
            events and corrupt sub-buffers (-1: none) in it.
        geometry: own sizes, big-endian, big-endian ids, block size, alignment, pointer size, layout of event headers
            (0: 32-bit time, 1: 64-bit, 2: compact, 3: version 2), tscbits, shift, truncation, classes of native
            records and of lost events.
        holes: positions of the file where reading continues after damage.
    """

    # Stub:
    # resumed: int

    cdef ThreadIndex _threads
    cdef int64_t _told[TOLD][3]
    cdef readonly int64_t resumed

    def __init__(
        self,
        MarkerTable table not None,
        ThreadIndex threads: ThreadIndex | None,
        header: Sequence[int],
        geometry: Sequence[int],
        int64_t holes,
    ):
        super().__init__(table, header, geometry, holes)
        self._threads = threads

    @property
    def holes(self) -> list[tuple[int, int, int]]:
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
    ) -> tuple[int, int]:
        """Decode the window `data`, which begins at offset `base` of the file, from `position` on.

        Counts of lost events are changed in the window to what each block adds. The thread of a native record is its
        id. Returns the number of events and DONE, FULL (the columns are) or NEEDS_DATA. Releases the GIL.
        """
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
                    # The rest of a block is searched as a whole; that of the file, part after part.
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
                        # The record's id is stored right before its size; both are kept for the record's bytes.
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

    cdef void _go_on(self, int64_t place, uint64_t tsc) noexcept nogil:
        cdef int64_t* told
        if self.resumed < TOLD:
            told = self._told[self.resumed]
            told[0], told[1], told[2] = self._behind, place, <int64_t>self._tsc
        self.resumed += 1
        self._tsc = tsc
        self.position = place
        self._seeking = False

    # Return True if events follow each other from `place` on, each of a declared marker, as long as that says, and not
    # long after the one before.
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
            # At least this much is known of other times.
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

    cdef bint _is_declared(self, uint32_t id) noexcept nogil:
        cdef Marker* marker
        if id >= self._table._count:
            return False
        marker = &self._table._markers[id]
        return marker.class_id >= 0 or marker.kind >= HEARTBEAT

    # Return how far events follow each other from `place` on: beyond `limit` where they lead to the block's end. Their
    # time is known up to a multiple of its period: the multiple (`unseen`) is such that the next event with all bits,
    # or else the block's end, is not much later than the one before.
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
            # Where a part is lost the next block begins earlier.
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

    cdef int32_t _thread_of(self, const uint8_t* context) noexcept nogil:
        cdef uint64_t pid = load32(context, self._swap)
        cdef uint64_t tid = load32(context + 4, self._swap)
        return self._threads.find(pid << 32 | tid)
