# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Pages of the kernel's ring buffer: filling them with records made from columns.

The reverse of `ring_buffer`, and laid out as the kernel lays pages out (kernel/trace/ring_buffer.c): a record's word
has its length in words up to 28, longer ones carry their length behind the word; a gap of 27 bits or more, and a time
that goes back, takes a time stamp of its own; a page ends where the next record does not fit.

Each event class has a `RecordLayout`: the bytes that all its records share, and a short program of operations, one for
each column. `PageEmitter.emit` runs the programs row by row in stream order into the pages of each stream.
"""

import sys

import numpy as np

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memmove, memset

from converter.kernels.byte_order cimport load16, load32, load64, store16, store32, store64
from converter.kernels.ring_buffer cimport (
    LENGTH_FOLLOWS, MISSED_EVENTS, MISSED_STORED, RECORD, TIME_STAMP, PageCursor, next_record, open_page,
)
from converter.kernels.strings cimport Entry, StringTable

cdef bint HOST_IS_BIG = sys.byteorder == "big"

cdef enum:
    # Operations: see the .pyi.
    OP_INTEGER = 0
    OP_INLINE = 1
    OP_TAIL = 2
    OP_DATA_LOC = 3
    OP_REL_LOC = 4
    OP_MISSED = 5
    # What a column is.
    INTEGERS = 0
    STRINGS = 1
    LISTS = 2
    MAX_OPERATIONS = 1024
    # The longest payload whose length is in the record's word.
    MAX_SHORT = 112
    # The reach of a data location.
    MAX_PLACE = 0xffff
    MAX_PAGE = 1 << 26

INTEGER = OP_INTEGER
INLINE = OP_INLINE
TAIL = OP_TAIL
DATA_LOC = OP_DATA_LOC
REL_LOC = OP_REL_LOC
MISSED = OP_MISSED


cdef struct Operation:
    int32_t code
    int32_t offset
    int32_t width
    int32_t room
    int32_t terminated


cdef struct ColumnView:
    int kind
    const uint8_t* data
    int64_t stride
    # Of lists.
    const int64_t* offsets
    int64_t values


# The layout of a class and its columns in a batch.
cdef struct Rows:
    const uint8_t* template
    int64_t size
    int64_t pid_offset
    Operation* operations
    int64_t count
    bint varies
    bint missed
    ColumnView* views
    int64_t length


cdef struct Span:
    const uint8_t* data
    int64_t size


cdef struct Stream:
    # Pages: `done` bytes of whole ones, then the open one if `fill` >= 0, which counts from its header's end.
    uint8_t* data
    int64_t room
    int64_t done
    int64_t fill
    uint64_t ts
    # Flags of the open page's commit word, and what it keeps free for the count of missed events.
    uint32_t flags
    int64_t kept
    int64_t missed


# `size` bytes, each `width` of them an element.
cdef inline void copy_elements(uint8_t* to, const uint8_t* data, int64_t size, int32_t width, bint swap) noexcept nogil:
    cdef int64_t at = 0
    if size == 0:
        # There may be no data to point to.
        return
    if not swap or width == 1:
        memcpy(to, data, size)
    elif width == 2:
        while at + 2 <= size:
            store16(to + at, load16(data + at, False), True)
            at += 2
    elif width == 4:
        while at + 4 <= size:
            store32(to + at, load32(data + at, False), True)
            at += 4
    else:
        while at + 8 <= size:
            store64(to + at, load64(data + at, False), True)
            at += 8


cdef class RecordLayout:
    cdef bytes _template
    cdef const uint8_t* _bytes
    cdef int64_t _size
    cdef int64_t _pid_offset
    cdef int64_t _count
    cdef bint _varies
    cdef bint _missed
    cdef Operation* _operations

    def __init__(self, bytes template, const int32_t[:, ::1] operations, int64_t pid_offset):
        cdef int64_t i, end, size
        cdef Operation* operation
        cdef int64_t count = operations.shape[0]
        if self._operations is not NULL:
            raise TypeError("a layout cannot be set anew")
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
            operation.terminated = operations[i, 4]
            if operation.width != 1 and operation.width != 2 and operation.width != 4 and operation.width != 8:
                raise ValueError(f"an element of {operation.width} bytes")
            if operation.code == OP_INTEGER:
                end = operation.offset + operation.width
            elif operation.code == OP_INLINE:
                end = <int64_t>operation.offset + operation.room
            elif operation.code == OP_DATA_LOC or operation.code == OP_REL_LOC:
                # The data location itself has 4 bytes, in the oldest formats 2.
                if operation.room != 2 and operation.room != 4:
                    raise ValueError(f"a data location of {operation.room} bytes")
                end = operation.offset + operation.room
            elif operation.code == OP_TAIL or operation.code == OP_MISSED:
                end = operation.offset
            else:
                raise ValueError(f"no operation {operation.code}")
            if operation.offset < 0 or operation.room < 0 or end > size:
                raise ValueError("an operation writes outside the record")
            self._missed = self._missed or operation.code == OP_MISSED
            self._varies = self._varies or operation.code in (OP_TAIL, OP_DATA_LOC, OP_REL_LOC)
        if self._missed and (count != 1 or self._operations[0].width != 8):
            raise ValueError("missed events are one column of 64 bits")
        self._count = count
        self._template = template
        self._bytes = <const uint8_t*>self._template
        self._size = size
        self._pid_offset = pid_offset

    def __dealloc__(self):
        free(self._operations)


cdef class RecordColumns:
    cdef RecordLayout _layout
    cdef Rows _rows
    cdef ColumnView* _views
    cdef Py_buffer* _buffers
    cdef int64_t _buffer_count

    def __init__(self, RecordLayout layout not None, columns, int64_t length):
        cdef int64_t i
        cdef ColumnView* view
        cdef Operation* operation
        cdef Py_buffer* buffer
        if self._views is not NULL:
            raise TypeError("columns cannot be set anew")
        if len(columns) != layout._count:
            raise ValueError("a record's program has not a column for each operation")
        self._layout = layout
        self._views = <ColumnView*>calloc(layout._count + 1, sizeof(ColumnView))
        self._buffers = <Py_buffer*>calloc(2 * layout._count + 1, sizeof(Py_buffer))
        if self._views is NULL or self._buffers is NULL:
            raise MemoryError
        for i in range(layout._count):
            view = &self._views[i]
            operation = &layout._operations[i]
            column = columns[i]
            if isinstance(column, tuple):
                offsets, values = column
                buffer = self._hold(offsets, PyBUF_SIMPLE)
                if buffer.len != 8 * (length + 1):
                    raise ValueError("a list has not a value for each row")
                view.kind = LISTS
                view.offsets = <const int64_t*>buffer.buf
                buffer = self._hold(values, PyBUF_SIMPLE)
                view.data = <const uint8_t*>buffer.buf
                view.values = buffer.len // operation.width
                self._check_offsets(view, length)
                if operation.code in (OP_INTEGER, OP_MISSED):
                    raise ValueError("a list where integers are expected")
                continue
            buffer = self._hold(column, PyBUF_STRIDED_RO)
            if buffer.ndim != 1 or buffer.shape[0] != length:
                raise ValueError("the columns differ in length")
            view.data = <const uint8_t*>buffer.buf
            view.stride = buffer.strides[0]
            view.kind = STRINGS
            if operation.code in (OP_INTEGER, OP_MISSED):
                view.kind = INTEGERS
                if buffer.itemsize != operation.width:
                    raise ValueError(f"a column of {buffer.itemsize} bytes for a field of {operation.width}")
            elif buffer.itemsize != 4 or operation.width != 1:
                raise ValueError("ids of strings are int32, and characters bytes")
        self._rows.template = layout._bytes
        self._rows.size = layout._size
        self._rows.pid_offset = layout._pid_offset
        self._rows.operations = layout._operations
        self._rows.count = layout._count
        self._rows.varies = layout._varies
        self._rows.missed = layout._missed
        self._rows.views = self._views
        self._rows.length = length

    cdef Py_buffer* _hold(self, column, int flags) except NULL:
        cdef Py_buffer* buffer = &self._buffers[self._buffer_count]
        PyObject_GetBuffer(column, buffer, flags)
        self._buffer_count += 1
        return buffer

    cdef _check_offsets(self, ColumnView* view, int64_t length):
        cdef int64_t i
        cdef bint fits = view.offsets[0] >= 0 and view.offsets[length] <= view.values
        with nogil:
            for i in range(length):
                fits &= view.offsets[i] <= view.offsets[i + 1]
        if not fits:
            raise ValueError("a list lies outside its values")

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._buffer_count):
            PyBuffer_Release(&self._buffers[i])
        free(self._buffers)
        free(self._views)

cdef enum:
    DONE = 0
    TOO_LARGE = 1
    OUT_OF_MEMORY = 2
    OUT_OF_RANGE = 3
    OUT_OF_REACH = 4


# The bytes of row `row` in column `i`, which is one of strings or lists; size -1 for a string that does not exist.
cdef inline Span span_of(Rows* rows, int64_t i, int64_t row, StringTable strings, int64_t strings_count) noexcept nogil:
    cdef ColumnView* view = &rows.views[i]
    cdef int32_t width = rows.operations[i].width
    cdef Span span
    cdef int32_t id
    cdef Entry* entry
    if view.kind == LISTS:
        span.data = view.data + view.offsets[row] * width
        span.size = (view.offsets[row + 1] - view.offsets[row]) * width
        return span
    memcpy(&id, view.data + row * view.stride, 4)
    span.data = NULL
    span.size = -1
    if 0 <= id < strings_count:
        entry = strings.entry(id)
        span.data = entry.data
        span.size = entry.size
    return span


cdef class PageEmitter:
    cdef int64_t _page_size
    cdef int64_t _long_size
    cdef int64_t _header
    cdef bint _big
    cdef bint _swap
    cdef Stream* _streams
    cdef int64_t _count
    cdef StringTable _strings
    cdef int64_t _strings_count

    def __init__(self, int64_t page_size, int64_t long_size, bint big_endian, StringTable strings not None):
        if page_size < 64 or page_size > MAX_PAGE or page_size & (page_size - 1):
            raise ValueError(f"pages of {page_size} bytes")
        if long_size != 4 and long_size != 8:
            raise ValueError(f"longs of {long_size} bytes")
        self._page_size = page_size
        self._long_size = long_size
        self._header = 8 + long_size
        self._big = big_endian
        self._strings = strings
        self._swap = big_endian != HOST_IS_BIG

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._count):
            free(self._streams[i].data)
        free(self._streams)

    @property
    def page_size(self):
        return self._page_size

    def add_stream(self):
        cdef Stream* streams = <Stream*>realloc(self._streams, (self._count + 1) * sizeof(Stream))
        if streams is NULL:
            raise MemoryError
        self._streams = streams
        memset(&streams[self._count], 0, sizeof(Stream))
        streams[self._count].fill = -1
        self._count += 1
        return self._count - 1

    def emit(
        self,
        int64_t start,
        const int64_t[::1] ts,
        const int32_t[:] class_id,
        const int32_t[:] row,
        const int32_t[:] stream,
        const int32_t[:] pid,
        tables,
    ):
        cdef int64_t count = ts.shape[0]
        cdef int64_t i = start
        cdef int64_t size = 0
        cdef int status = DONE
        cdef int32_t id
        cdef RecordColumns columns
        cdef Rows** by_class
        cdef int64_t classes = max(tables, default=-1) + 1
        if class_id.shape[0] != count or row.shape[0] != count or stream.shape[0] != count or pid.shape[0] != count:
            raise ValueError("the columns differ in length")
        if start < 0 or min(tables, default=0) < 0:
            raise ValueError("negative numbers of events or classes")
        by_class = <Rows**>calloc(classes + 1, sizeof(Rows*))
        if by_class is NULL:
            raise MemoryError
        self._strings_count = len(self._strings)
        try:
            for number, held in tables.items():
                columns = <RecordColumns?>held
                by_class[<int64_t>number] = &columns._rows
            with nogil:
                while i < count:
                    id = class_id[i]
                    if id < 0 or id >= classes or by_class[id] is NULL or not 0 <= stream[i] < self._count:
                        status = OUT_OF_RANGE
                        break
                    status = self._emit_one(
                        by_class[id], row[i], &self._streams[stream[i]], <uint64_t>ts[i], pid[i], &size
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
        cdef ColumnView* view
        cdef Operation* operation
        cdef Span span
        cdef int64_t i, at, padded
        cdef int64_t size = rows.size
        cdef uint8_t* record
        cdef int status
        if row < 0 or row >= rows.length:
            return OUT_OF_RANGE
        if rows.missed:
            return self._start_after_missed(stream, ts, rows.views[0].data + row * rows.views[0].stride)
        if rows.varies:
            for i in range(rows.count):
                operation = &rows.operations[i]
                if operation.code <= OP_INLINE:
                    continue
                span = span_of(rows, i, row, self._strings, self._strings_count)
                if span.size < 0:
                    return OUT_OF_RANGE
                size += span.size + (1 if operation.terminated else 0)
        padded = (size + 3) & ~<int64_t>3
        if padded == 0:
            padded = 4
        status = self._reserve(stream, ts, padded, &record, needed)
        if status != DONE:
            return status
        memcpy(record, rows.template, rows.size)
        if rows.pid_offset >= 0:
            store32(record + rows.pid_offset, <uint32_t>pid, self._swap)
        if rows.varies:
            memset(record + rows.size, 0, padded - rows.size)
        at = rows.size
        for i in range(rows.count):
            operation = &rows.operations[i]
            view = &rows.views[i]
            if operation.code == OP_INTEGER:
                if not self._swap:
                    # The usual widths at compile time, so that each is one load and one store.
                    if operation.width == 4:
                        memcpy(record + operation.offset, view.data + row * view.stride, 4)
                    elif operation.width == 8:
                        memcpy(record + operation.offset, view.data + row * view.stride, 8)
                    else:
                        memcpy(record + operation.offset, view.data + row * view.stride, operation.width)
                else:
                    copy_elements(
                        record + operation.offset,
                        view.data + row * view.stride,
                        operation.width,
                        operation.width,
                        True,
                    )
                continue
            span = span_of(rows, i, row, self._strings, self._strings_count)
            if operation.code == OP_INLINE:
                if span.size < 0:
                    return OUT_OF_RANGE
                if span.size > operation.room:
                    span.size = operation.room
                copy_elements(record + operation.offset, span.data, span.size, operation.width, self._swap)
                continue
            size = span.size + (1 if operation.terminated else 0)
            if operation.code == OP_TAIL:
                # Tails come first, so that this is the end of the fixed part unless other fields lie behind it.
                copy_elements(record + operation.offset, span.data, span.size, operation.width, self._swap)
                at = max(at, operation.offset + size)
                continue
            if at > MAX_PLACE or size > MAX_PLACE:
                return OUT_OF_REACH
            copy_elements(record + at, span.data, span.size, operation.width, self._swap)
            self._locate(record, operation, at, size)
            at += size
        return DONE

    cdef inline void _locate(self, uint8_t* record, Operation* operation, int64_t at, int64_t size) noexcept nogil:
        cdef int64_t place = at
        if operation.code == OP_REL_LOC:
            place -= operation.offset + operation.room
        if operation.room == 2:
            store16(record + operation.offset, <uint16_t>place, self._swap)
        else:
            store32(record + operation.offset, <uint32_t>(size << 16 | place), self._swap)

    # Room for a record with a payload of `size` bytes, a multiple of 4; its word is written.
    cdef int _reserve(
        self, Stream* stream, uint64_t ts, int64_t size, uint8_t** record, int64_t* needed
    ) noexcept nogil:
        cdef int64_t head = 4 if size <= MAX_SHORT else 8
        cdef uint64_t delta = 0
        cdef uint8_t* to
        cdef int status
        if stream.fill >= 0:
            delta = ts - stream.ts
            if delta >> 27:
                status = self._stamp(stream, ts, head + size)
                if status != DONE:
                    return status
                delta = 0
        if stream.fill < 0 or stream.fill + head + size > self._page_size - self._header - stream.kept:
            if head + size > self._page_size - self._header:
                needed[0] = head + size + self._header
                return TOO_LARGE
            status = self._open(stream, ts)
            if status != DONE:
                return status
            delta = 0
        to = stream.data + stream.done + self._header + stream.fill
        if head == 4:
            self._word(to, <uint32_t>(size >> 2), <uint32_t>delta)
        else:
            self._word(to, LENGTH_FOLLOWS, <uint32_t>delta)
            store32(to + 4, <uint32_t>(size + 4), self._swap)
        # The last word holds whatever the payload does not fill.
        memset(to + head + size - 4, 0, 4)
        record[0] = to + head
        stream.fill += head + size
        stream.ts = ts
        return DONE

    # A time stamp before a record of `following` bytes in all; a new page where a stamp cannot say it.
    cdef int _stamp(self, Stream* stream, uint64_t ts, int64_t following) noexcept nogil:
        cdef uint8_t* to
        if (ts ^ stream.ts) >> 59 or stream.fill + 8 + following > self._page_size - self._header - stream.kept:
            self._close(stream)
            return DONE
        to = stream.data + stream.done + self._header + stream.fill
        self._word(to, TIME_STAMP, <uint32_t>(ts & 0x7ffffff))
        store32(to + 4, <uint32_t>(ts >> 27), self._swap)
        stream.fill += 8
        stream.ts = ts
        return DONE

    cdef inline void _word(self, uint8_t* to, uint32_t type_len, uint32_t delta) noexcept nogil:
        store32(to, type_len << 27 | delta if self._big else delta << 5 | type_len, self._swap)

    # Finish the open page and start one at `ts`.
    cdef int _open(self, Stream* stream, uint64_t ts) noexcept nogil:
        cdef uint8_t* grown
        cdef int64_t room
        self._close(stream)
        if stream.done + self._page_size > stream.room:
            room = 2 * stream.room + 16 * self._page_size
            grown = <uint8_t*>realloc(stream.data, room)
            if grown is NULL:
                return OUT_OF_MEMORY
            stream.data = grown
            stream.room = room
        store64(stream.data + stream.done, ts, self._swap)
        stream.fill = 0
        stream.ts = ts
        stream.flags = 0
        stream.kept = 0
        return DONE

    # Write the open page's length, count of missed events and zeros up to its end.
    cdef void _close(self, Stream* stream) noexcept nogil:
        cdef uint8_t* page = stream.data + stream.done
        cdef int64_t end = self._header + stream.fill
        if stream.fill < 0:
            return
        if self._long_size == 8:
            store64(page + 8, stream.flags | <uint64_t>stream.fill, self._swap)
        else:
            store32(page + 8, stream.flags | <uint32_t>stream.fill, self._swap)
        memset(page + end, 0, self._page_size - end)
        if stream.flags & <uint32_t>MISSED_STORED:
            if self._long_size == 8:
                store64(page + end, <uint64_t>stream.missed, self._swap)
            else:
                store32(page + end, <uint32_t>stream.missed, self._swap)
        stream.done += self._page_size
        stream.fill = -1

    cdef int _start_after_missed(self, Stream* stream, uint64_t ts, const uint8_t* count) noexcept nogil:
        cdef int status = self._open(stream, ts)
        if status != DONE:
            return status
        memcpy(&stream.missed, count, 8)
        stream.flags = <uint32_t>MISSED_EVENTS
        if stream.missed != -1:
            stream.flags |= <uint32_t>MISSED_STORED
            stream.kept = self._long_size
        return DONE

    def append_pages(self, int64_t stream, const uint8_t[::1] pages, int64_t page_size):
        cdef int64_t at = 0
        cdef int64_t total = pages.shape[0]
        cdef int status = DONE
        cdef PageCursor cursor
        if not 0 <= stream < self._count:
            raise ValueError("no such stream")
        if page_size < self._header or page_size > self._page_size:
            raise ValueError("the pages are larger than those that they are to become")
        cursor.big_endian = self._big
        cursor.swap = self._swap
        with nogil:
            while at < total and status == DONE:
                if not open_page(&cursor, &pages[at], min(page_size, total - at), self._long_size):
                    break
                status = self._append_page(&self._streams[stream], &cursor, min(page_size, total - at))
                at += page_size
        if status != DONE:
            raise MemoryError

    # The records of a page as a run: their times count from the page's, which a time stamp in front of them gives.
    cdef int _append_page(self, Stream* stream, PageCursor* cursor, int64_t available) noexcept nogil:
        cdef const uint8_t* records = cursor.page + cursor.at
        cdef uint64_t ts = cursor.ts
        cdef int64_t size
        cdef int status = DONE
        # Up to the last record that makes sense; the walk also gives its time.
        while next_record(cursor) == RECORD:
            pass
        size = cursor.at - self._header
        if stream.fill >= 0 and not cursor.flags:
            status = self._stamp(stream, ts, size)
        if status == DONE and (stream.fill < 0 or cursor.flags):
            status = self._open(stream, ts)
        if status != DONE:
            return status
        if cursor.flags:
            stream.flags = <uint32_t>MISSED_EVENTS
            if cursor.flags & <uint32_t>MISSED_STORED and cursor.end + self._long_size <= available:
                stream.flags |= <uint32_t>MISSED_STORED
                stream.kept = self._long_size
                if self._long_size == 8:
                    stream.missed = <int64_t>load64(cursor.page + cursor.end, self._swap)
                else:
                    stream.missed = load32(cursor.page + cursor.end, self._swap)
        memcpy(stream.data + stream.done + self._header + stream.fill, records, size)
        stream.fill += size
        stream.ts = cursor.ts
        return DONE

    def finish(self, int64_t stream):
        if not 0 <= stream < self._count:
            raise ValueError("no such stream")
        self._close(&self._streams[stream])

    def take(self, int64_t stream, int64_t multiple):
        cdef Stream* held
        cdef int64_t size
        if not 0 <= stream < self._count or multiple < 1:
            raise ValueError("no such stream or multiple")
        held = &self._streams[stream]
        size = held.done - held.done % (multiple * self._page_size)
        if size == 0:
            return None
        result = np.empty(size, np.uint8)
        cdef uint8_t[::1] view = result
        cdef int64_t left = held.done - size
        if held.fill >= 0:
            left += self._header + held.fill
        memcpy(&view[0], held.data, size)
        memmove(held.data, held.data + size, left)
        held.done -= size
        return result
