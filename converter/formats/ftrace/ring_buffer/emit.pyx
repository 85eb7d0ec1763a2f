# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Pages of the kernel's ring buffer: filling them with records made from columns.

The reverse of `scan`, and laid out as the kernel lays pages out (kernel/trace/ring_buffer.c): a record's word has its
length in words up to 28, longer ones carry their length after the word; a gap of 27 bits or more, and a time that goes
back, takes a time stamp of its own; a page ends where the next record does not fit.

Each event class has a `RecordLayout`: the bytes that all its records share, and a short program of operations, one for
each column. `PageEmitter.emit` runs the programs row by row in stream order into the pages of each stream.
"""

# Stub:
# from collections.abc import Mapping, Sequence
# from converter.kernels.batches.event_arrays import EventArrays
# from converter.kernels.tables.strings import StringTable
#
# #: Operations of a record's program; rows are (operation, offset, width, room, terminated), one for each column:
# #: INTEGER: an integer of `width` bytes at `offset`.
# INTEGER: int
# #: INLINE: at most `room` bytes, elements of `width`, at `offset`.
# INLINE: int
# #: TAIL: all bytes, from `offset` on. Tails come before data locations.
# TAIL: int
# #: DATA_LOC: all bytes after the fixed part; at `offset` the word (of `room` bytes, 4 or 2) that says where.
# DATA_LOC: int
# #: REL_LOC: the same, the place counting from the word's end.
# REL_LOC: int
# #: MISSED: no record: start a page before which this number of events were lost, -1 if unknown. The only operation of
# #: its class.
# MISSED: int

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memmove, memset

from converter.formats.ftrace.ring_buffer.emit_pages cimport (
    MAX_PAGE, PageForm, Stream, append_page, close_page, reserve, start_after_missed,
)
from converter.formats.ftrace.ring_buffer.emit_records cimport (
    MAX_OPERATIONS, MAX_PLACE, OP_DATA_LOC, OP_INLINE, OP_INTEGER, OP_MISSED, OP_REL_LOC, OP_TAIL, Operation, Rows,
    fill_record, record_size,
)
from converter.formats.ftrace.ring_buffer.emit_results cimport (
    DONE, OUT_OF_MEMORY, OUT_OF_RANGE, OUT_OF_REACH, TOO_LARGE,
)
from converter.formats.ftrace.ring_buffer.scan cimport PageCursor, open_page
from converter.kernels.io.byte_order cimport HOST_IS_BIG
from converter.kernels.batches.column_view cimport TAKES_BYTES, TAKES_SCALAR, TAKES_TEXT, Takes, bits_of
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.batches.event_arrays cimport EventArrays, Events, WITH_CLASS, WITH_ROW
from converter.kernels.tables.strings cimport StringTable

INTEGER = OP_INTEGER
INLINE = OP_INLINE
TAIL = OP_TAIL
DATA_LOC = OP_DATA_LOC
REL_LOC = OP_REL_LOC
MISSED = OP_MISSED


cdef class RecordLayout:
    """The layout of the records of one event class."""

    def __cinit__(self, bytes template not None, const int32_t[:, ::1] operations, int64_t pid_offset):
        """`template` is a record's fixed part, `operations` (n x 5) its program; the pid's offset is -1 if it has none.

        Lists and strings that are `terminated` get a NUL after them. Raises ValueError for operations that are unknown
        or write outside the fixed part.
        """
        cdef int64_t i, end, size
        cdef Operation* operation
        cdef int64_t count = operations.shape[0]
        size = len(template)
        if count > MAX_OPERATIONS or (count and operations.shape[1] != 5):
            raise ValueError("a record's program has at most 1,024 operations of five numbers")
        if size > MAX_PLACE or pid_offset < -1 or (pid_offset >= 0 and pid_offset > size - 4):
            raise ValueError("the pid lies outside the record")
        self._operations = <Operation*>calloc(count + 1, sizeof(Operation))
        if self._operations is NULL:
            raise MemoryError
        for i in range(count):
            operation = &self._operations[i]
            operation.code = operations[i, 0]
            operation.offset = operations[i, 1]
            operation.width = operations[i, 2]
            operation.room = operations[i, 3]
            operation.terminated = operations[i, 4] != 0
            good = operation.width in (1, 2, 4, 8)
            if operation.code == OP_INTEGER:
                end = <int64_t>operation.offset + operation.width
            elif operation.code == OP_TAIL or operation.code == OP_MISSED:
                end = operation.offset
            else:
                end = <int64_t>operation.offset + operation.room
                # The data location itself has 4 bytes, in the oldest formats 2.
                good = good and (
                    operation.code == OP_INLINE
                    or operation.code in (OP_DATA_LOC, OP_REL_LOC) and operation.room in (2, 4)
                )
            if not good or operation.offset < 0 or operation.room < 0 or end > size:
                raise ValueError(f"operation {i} is none, or lies outside the record")
            self._rows.missed |= operation.code == OP_MISSED
            self._rows.varies |= operation.code in (OP_TAIL, OP_DATA_LOC, OP_REL_LOC)
        if self._rows.missed and (count != 1 or self._operations[0].width != 8):
            raise ValueError("missed events are one column of 64 bits")
        self._template = template
        self._rows.template = <const uint8_t*>self._template
        self._rows.size = size
        self._rows.pid_offset = pid_offset
        self._rows.operations = self._operations
        self._rows.count = count

    def __dealloc__(self):
        free(self._operations)


cdef class RecordColumns:
    """The columns of one class in a batch, bound to its layout."""

    def __cinit__(
        self,
        RecordLayout layout not None,
        columns: Sequence[NDArray[Any] | tuple[NDArray[Any], NDArray[int64]]],
        int64_t length,
    ):
        """A column for each operation: integers, int32 ids of strings, or (values, offsets) of lists; contiguous lists.

        Raises ValueError for columns that are too short or of another width.
        """
        cdef int64_t i
        cdef const Operation* operation
        if len(columns) != layout._rows.count:
            raise ValueError("a record's program has not a column for each operation")
        self._layout = layout
        self._columns = BoundColumns(layout._rows.count)
        for i in range(layout._rows.count):
            operation = &layout._operations[i]
            self._columns.bind(i, taken_by(operation), operation.width, columns[i], length)
        self.rows = layout._rows
        self.rows.views = self._columns.views
        self.rows.length = length


# Elements of more than a byte are no characters, so there are no ids of them.
cdef inline Takes taken_by(const Operation* operation) noexcept:
    if operation.code == OP_INTEGER or operation.code == OP_MISSED:
        return TAKES_SCALAR
    return TAKES_TEXT if operation.width == 1 else TAKES_BYTES


cdef class PageEmitter:
    """Pages under construction, of one stream or many. Times count in the buffer's clock, modulo 2^64."""

    cdef PageForm _form
    cdef Stream* _streams
    cdef int64_t _count
    cdef StringTable _strings
    cdef int64_t _known

    def __init__(self, int64_t page_size, int64_t long_size, bint big_endian, StringTable strings not None):
        """Pages of a power of two bytes of a kernel whose longs have 4 or 8 bytes; ValueError for any others."""
        if page_size < 64 or page_size > MAX_PAGE or page_size & (page_size - 1):
            raise ValueError(f"pages of {page_size} bytes")
        if long_size != 4 and long_size != 8:
            raise ValueError(f"longs of {long_size} bytes")
        self._form.size = page_size
        self._form.long_size = long_size
        self._form.header = 8 + long_size
        self._form.big_endian = big_endian
        self._form.swap = big_endian != HOST_IS_BIG
        self._strings = strings

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._count):
            free(self._streams[i].out.data)
        free(self._streams)

    @property
    def page_size(self) -> int:
        """The size of a page in bytes, header included."""
        return self._form.size

    def add_stream(self) -> int:
        """Start another stream; its number."""
        cdef Stream* streams = <Stream*>realloc(self._streams, (self._count + 1) * sizeof(Stream))
        if streams is NULL:
            raise MemoryError
        self._streams = streams
        memset(&streams[self._count], 0, sizeof(Stream))
        streams[self._count].fill = -1
        self._count += 1
        return self._count - 1

    def emit(self, EventArrays given not None, tables: Mapping[int, RecordColumns], int64_t start) -> tuple[int, int]:
        """Append the events from `start` on, in order, each to its stream: (events done, 0).

        An event that does not fit in a page ends this early: (its number, the bytes that a page would have to have).
        Raises ValueError for events without a class, row, stream, string or list, and for data beyond the reach of data
        locations (65,535). The columns have a `stream` and a `pid` beside the common ones. Releases the GIL.
        """
        cdef Events events = given.common(WITH_CLASS | WITH_ROW)
        cdef const int32_t* stream = <const int32_t*>given.own("stream", 4)
        cdef const int32_t* pid = <const int32_t*>given.own("pid", 4)
        cdef int64_t i = start
        cdef int64_t size = 0
        cdef int status = DONE
        cdef int32_t id
        cdef RecordColumns columns
        cdef Rows** by_class
        cdef int64_t classes = max(tables, default=-1) + 1
        if start < 0 or min(tables, default=0) < 0:
            raise ValueError("negative numbers of events or classes")
        by_class = <Rows**>calloc(classes + 1, sizeof(Rows*))
        if by_class is NULL:
            raise MemoryError
        self._known = len(self._strings)
        try:
            for number, held in tables.items():
                columns = <RecordColumns?>held
                by_class[<int64_t>number] = &columns.rows
            with nogil:
                while i < events.count:
                    id = events.class_id[i]
                    if id < 0 or id >= classes or by_class[id] is NULL or not 0 <= stream[i] < self._count:
                        status = OUT_OF_RANGE
                        break
                    status = self._emit_one(
                        by_class[id], events.row[i], &self._streams[stream[i]], <uint64_t>events.ts[i], pid[i], &size
                    )
                    if status != DONE:
                        break
                    i += 1
        finally:
            free(by_class)
        if status == OUT_OF_MEMORY:
            raise MemoryError
        if status == OUT_OF_RANGE:
            raise ValueError(f"event {i} has no class, row, stream or string of its own")
        if status == OUT_OF_REACH:
            raise ValueError(f"event {i} is longer than a data location reaches")
        return i, size if status == TOO_LARGE else 0

    cdef int _emit_one(
        self, Rows* rows, int64_t row, Stream* stream, uint64_t ts, int32_t pid, int64_t* needed
    ) noexcept nogil:
        cdef int64_t size, padded
        cdef uint8_t* record
        cdef int status
        if row < 0 or row >= rows.length:
            return OUT_OF_RANGE
        if rows.missed:
            return start_after_missed(&self._form, stream, ts, <int64_t>bits_of(&rows.views[0], row, 8))
        size = record_size(rows, row, self._strings, self._known)
        if size < 0:
            return OUT_OF_RANGE
        padded = (size + 3) & ~<int64_t>3
        if padded == 0:
            padded = 4
        status = reserve(&self._form, stream, ts, padded, &record, needed)
        if status != DONE:
            return status
        return fill_record(rows, row, pid, record, padded, self._form.swap, self._strings, self._known)

    def append_pages(self, int64_t stream, const uint8_t[::1] pages, int64_t page_size) -> None:
        """Append the records of whole pages, which must not be larger than those here, joining pages where they fit.

        What does not make sense ends its page. Releases the GIL.
        """
        cdef int64_t at = 0
        cdef int64_t total = pages.shape[0]
        cdef int status = DONE
        cdef PageCursor cursor
        if not 0 <= stream < self._count:
            raise ValueError("no such stream")
        if page_size < self._form.header or page_size > self._form.size:
            raise ValueError("the pages are larger than those that they are to become")
        cursor.big_endian = self._form.big_endian
        cursor.swap = self._form.swap
        with nogil:
            while at < total and status == DONE:
                if not open_page(&cursor, &pages[at], min(page_size, total - at), self._form.long_size):
                    break
                status = append_page(&self._form, &self._streams[stream], &cursor, min(page_size, total - at))
                at += page_size
        if status != DONE:
            raise MemoryError

    def finish(self, int64_t stream) -> None:
        """End the open page."""
        if not 0 <= stream < self._count:
            raise ValueError("no such stream")
        close_page(&self._form, &self._streams[stream])

    def take(self, int64_t stream, int64_t multiple) -> NDArray[uint8] | None:
        """Remove and return the finished pages, a `multiple` of pages; None when there are fewer."""
        cdef Stream* held
        cdef int64_t size
        if not 0 <= stream < self._count or multiple < 1:
            raise ValueError("no such stream or multiple")
        held = &self._streams[stream]
        size = held.out.used - held.out.used % (multiple * self._form.size)
        if size == 0:
            return None
        result = np.empty(size, np.uint8)
        cdef uint8_t[::1] view = result
        cdef int64_t left = held.out.used - size
        if held.fill >= 0:
            left += self._form.header + held.fill
        memcpy(&view[0], held.out.data, size)
        memmove(held.out.data, held.out.data + size, left)
        held.out.used -= size
        return result
