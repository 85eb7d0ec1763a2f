# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns into blocks of legacy LTTng files: the reverse of `scan`.

Each marker has a program, one operation a column; `BlockEmitter.emit` runs them row by row, in the order of the batch, into
the open block of each event's stream. An event header says as much of the time as its form has room for. Where that is
not enough version 2 has a header with all bits; version 1.0 gets a heartbeat before it, or a new block.

The programs by which `emit` makes payloads: one operation a column, checked against what it is given.
"""

# Stub:
# from collections.abc import Mapping, Sequence
# from converter.kernels.batches.event_arrays import EventArrays
# from converter.kernels.tables.strings import StringTable

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memmove, memset
import numpy as np

from converter.formats.lttng_legacy.headers cimport (
    EventHeader, HEADER_2, HEADER_32, HeaderForm, HEARTBEAT_64_ID, MOST_HEADER, reaches, write_header,
)
from converter.formats.lttng_legacy.writing.emit_blocks cimport (
    BlockForm, close_block, FINE, open_block, OUT_OF_MEMORY, OUT_OF_RANGE, PAGE, Stream, TOO_LARGE,
    UNREPRESENTABLE,
)
from converter.kernels.batches.column_view cimport (
    ColumnView, Takes, TAKES_BYTES, TAKES_SCALAR, TAKES_TEXT, bits_of, put_number, text_of,
)
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.batches.event_arrays cimport EventArrays, Events, WITH_CLASS, WITH_ROW
from converter.kernels.io.byte_order cimport HOST_IS_BIG, HOST_IS_LITTLE
from converter.kernels.io.output cimport Output, ensure, put8, put32, put64, put_bytes
from converter.kernels.tables.strings cimport StringTable

# The input that each operation takes.
cdef Takes[OP_ID + 1] TAKES
TAKES[:] = [TAKES_SCALAR, TAKES_TEXT, TAKES_BYTES, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR]


cdef class BlockEmitter:
    """Blocks of several files that are being written.

    Args:
        strings: of the trace.
        template: a block's header, but for what differs from block to block.
        header: offsets of begin, end, data or lost size, block size and lost events (-1: none) in it.
        geometry: own sizes, big-endian, big-endian ids, block size, alignment, pointer size, tscbits, shift and
            truncation.

    """

    cdef Stream* _streams
    cdef int64_t _count
    cdef StringTable _strings
    cdef int64_t _strings_count
    cdef bytes _template
    cdef BlockForm _blocks
    cdef HeaderForm _headers

    def __init__(self, StringTable strings not None, bytes template, header: Sequence[int], geometry: Sequence[int]):
        cdef BlockForm* blocks = &self._blocks
        cdef HeaderForm* headers = &self._headers
        self._strings = strings
        self._template = template
        blocks.header = <const uint8_t*>self._template
        blocks.header_size = len(template)
        blocks.begin_at, blocks.end_at, blocks.data_at, blocks.size_at, blocks.lost_at = header
        (blocks.own_sizes, big, ids_big, blocks.block_size, headers.alignment, headers.arch_size, headers.tscbits,
         headers.shift, headers.truncate) = geometry
        for at, size in ((blocks.begin_at, 8), (blocks.end_at, 8), (blocks.data_at, 4), (blocks.size_at, 4)):
            if not 0 <= at <= blocks.header_size - size:
                raise ValueError("a member lies outside the block's header")
        if not -1 <= blocks.lost_at <= blocks.header_size - 8:
            raise ValueError("the counts of lost events lie outside the block's header")
        if not blocks.header_size + MOST_HEADER < blocks.block_size < 1 << 31:
            raise ValueError(f"blocks of {blocks.block_size} bytes")
        if headers.alignment not in (0, 1, 2, 4, 8, 16) or headers.arch_size not in (4, 8):
            raise ValueError("no such alignment")
        if headers.tscbits > headers.shift or headers.shift > 32 or headers.truncate > 31:
            raise ValueError("no event header is such")
        blocks.swap = headers.swap = bool(big) != HOST_IS_BIG
        headers.ids_swap = bool(ids_big) != HOST_IS_BIG

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._count):
            free(self._streams[i].out.data)
        free(self._streams)

    def add_stream(self, int form) -> int:
        """A new file, with event headers of this form (see `scan`); its number."""
        cdef Stream* streams
        if not HEADER_32 <= form <= HEADER_2:
            raise ValueError(f"no event header {form}")
        streams = <Stream*>realloc(self._streams, (self._count + 1) * sizeof(Stream))
        if streams is NULL:
            raise MemoryError
        self._streams = streams
        memset(&streams[self._count], 0, sizeof(Stream))
        streams[self._count].start = -1
        streams[self._count].headers = self._headers
        streams[self._count].headers.form = form
        self._count += 1
        return self._count - 1

    def begin(self, int64_t stream, uint64_t ts) -> None:
        """Start a block at this time."""
        if not 0 <= stream < self._count:
            raise ValueError("no such stream")
        if open_block(&self._blocks, &self._streams[stream], ts) != FINE:
            raise MemoryError

    def put(self, int64_t stream, uint64_t ts, uint32_t id, const uint8_t[::1] payload) -> bool:
        """Append one event; False when it fits no block."""
        cdef Rows rows
        cdef int status
        if not 0 <= stream < self._count or id >= 65536:
            raise ValueError("no such stream or id")
        memset(&rows, 0, sizeof(Rows))
        rows.largest = 1
        status = self._reserve(&self._streams[stream], &rows, id, ts, payload.shape[0], 0)
        if status == OUT_OF_MEMORY:
            raise MemoryError
        if status != FINE:
            return False
        if payload.shape[0]:
            put_bytes(&self._streams[stream].out, &payload[0], payload.shape[0])
        return True

    def emit(self, EventArrays given not None, tables: Mapping[int, MarkerColumns]) -> tuple[int, int]:
        """Append events, each to its stream, in order; those of classes without columns are left out.

        Returns how many are done and, where that is not all, why: 1 for an event that is larger than a block, 4 for one
        that its header cannot hold. The columns have `stream`, `pid` and `tid` beside the common ones. ValueError for
        events without row, stream, time or string. Releases the GIL.
        """
        cdef Events events = given.common(WITH_CLASS | WITH_ROW)
        cdef const int32_t* stream = <const int32_t*>given.own("stream", 4)
        cdef const int32_t* pid = <const int32_t*>given.own("pid", 4)
        cdef const int32_t* tid = <const int32_t*>given.own("tid", 4)
        cdef int64_t i = 0
        cdef int status = FINE
        cdef int32_t id
        cdef MarkerColumns columns
        cdef Rows** by_class
        cdef int64_t classes = max(tables, default=-1) + 1
        if min(tables, default=0) < 0:
            raise ValueError("negative numbers of classes")
        by_class = <Rows**>calloc(classes + 1, sizeof(Rows*))
        if by_class is NULL:
            raise MemoryError
        self._strings_count = len(self._strings)
        try:
            for number, held in tables.items():
                columns = <MarkerColumns?>held
                by_class[<int64_t>number] = &columns._rows
            with nogil:
                while i < events.count:
                    # A class without a table has no events in the output.
                    id = events.class_id[i]
                    if id < 0 or not 0 <= stream[i] < self._count or events.ts[i] < 0:
                        status = OUT_OF_RANGE
                        break
                    if id < classes and by_class[id] is not NULL:
                        status = self._emit_one(
                            by_class[id], events.row[i], &self._streams[stream[i]], <uint64_t>events.ts[i], pid[i], tid[i]
                        )
                        if status != FINE:
                            break
                    i += 1
        finally:
            free(by_class)
        if status == OUT_OF_MEMORY:
            raise MemoryError
        if status == OUT_OF_RANGE:
            raise ValueError(f"event {i} has no row, stream, time or string of its own")
        return i, status

    cdef int _emit_one(
        self, Rows* rows, int64_t row, Stream* stream, uint64_t ts, int32_t pid, int32_t tid
    ) noexcept nogil:
        cdef Output* out = &stream.out
        cdef const Operation* operation
        cdef const ColumnView* view
        cdef const uint8_t* text = NULL
        cdef int64_t length = 0
        cdef int64_t i, payload
        cdef int64_t size = 0
        cdef uint32_t inside = 0
        cdef uint32_t id = rows.id
        cdef bint swap = self._blocks.swap
        cdef int status
        if row < 0 or row >= rows.length:
            return OUT_OF_RANGE
        for i in range(rows.count):
            operation = &rows.operations[i]
            view = &rows.views[i]
            if operation.code == OP_INTEGER:
                size += (-size & (operation.alignment - 1)) + operation.width
            elif operation.code == OP_INLINE:
                # The low bytes: the header has fewer.
                inside = <uint32_t>bits_of(view, row, operation.width)
            elif operation.code == OP_ID:
                id = <uint32_t>bits_of(view, row, 2)
            elif operation.code == OP_LOST:
                return self._start_after_lost(rows, row, stream, ts)
            else:
                if not text_of(view, self._strings, self._strings_count, row, &text, &length):
                    return OUT_OF_RANGE
                size += length + (operation.code == OP_STRING)
        if rows.context:
            size += 8
        status = self._reserve(stream, rows, id, ts, size, inside)
        if status != FINE:
            return status
        payload = out.used
        for i in range(rows.count):
            operation = &rows.operations[i]
            view = &rows.views[i]
            if operation.code == OP_INTEGER:
                while out.used - payload & (operation.alignment - 1):
                    put8(out, 0)
                put_number(out, view, row, operation.width, HOST_IS_LITTLE if operation.big else swap)
            elif operation.code == OP_STRING or operation.code == OP_RAW:
                text_of(view, self._strings, self._strings_count, row, &text, &length)
                put_bytes(out, text, length)
                if operation.code == OP_STRING:
                    put8(out, 0)
        if rows.context:
            put32(out, <uint32_t>pid, swap)
            put32(out, <uint32_t>tid, swap)
        return FINE

    # Room for an event with a payload of `size` bytes, which comes next: its header is written.
    cdef int _reserve(
        self, Stream* stream, Rows* rows, uint32_t id, uint64_t ts, int64_t size, uint32_t inside
    ) noexcept nogil:
        cdef const BlockForm* form = &self._blocks
        cdef const HeaderForm* headers = &stream.headers
        cdef int64_t needed = MOST_HEADER + size
        cdef int64_t fill = stream.out.used - stream.start
        cdef EventHeader header
        cdef int64_t at
        cdef int status
        cdef bint full = stream.start < 0 or (
            # In blocks of one size a record may need the last bytes of an empty one.
            fill + needed > form.block_size and (form.own_sizes or fill > form.header_size)
        )
        if not full and headers.form != HEADER_2 and not reaches(headers, stream.tsc, ts):
            full = not self._beat(stream, ts, needed)
        if full:
            if not form.own_sizes and form.header_size + size > form.block_size:
                return TOO_LARGE
            status = open_block(form, stream, ts)
            if status != FINE:
                return status
        if not ensure(&stream.out, needed, PAGE):
            return OUT_OF_MEMORY
        header.tsc = ts
        header.id = id
        header.size = size
        fill = stream.out.used - stream.start
        at = write_header(
            headers, stream.out.data + stream.start, fill, &header, stream.tsc, rows.sized, rows.largest, inside
        )
        if at < 0:
            return UNREPRESENTABLE
        if not form.own_sizes and at + size > form.block_size:
            return TOO_LARGE
        stream.out.used = stream.start + at
        stream.tsc = stream.last = ts
        return FINE

    # Write a heartbeat with all bits of a time, if there is room for it and the `needed` bytes after it.
    cdef bint _beat(self, Stream* stream, uint64_t ts, int64_t needed) noexcept nogil:
        cdef EventHeader header
        cdef int64_t fill = stream.out.used - stream.start
        cdef int64_t at
        needed += MOST_HEADER + 8
        if fill + needed > self._blocks.block_size or not ensure(&stream.out, needed, PAGE):
            return False
        header.tsc = ts
        header.id = HEARTBEAT_64_ID
        header.size = 8
        at = write_header(
            &stream.headers, stream.out.data + stream.start, fill, &header, stream.tsc, False, 1, 0
        )
        if at < 0:
            return False
        stream.out.used = stream.start + at
        put64(&stream.out, ts, self._blocks.swap)
        stream.tsc = ts
        return True

    cdef int _start_after_lost(self, Rows* rows, int64_t row, Stream* stream, uint64_t ts) noexcept nogil:
        cdef uint32_t lost, corrupt
        cdef int status
        if rows.count != 2 or self._blocks.lost_at < 0:
            return UNREPRESENTABLE
        lost = <uint32_t>bits_of(&rows.views[0], row, 4)
        corrupt = <uint32_t>bits_of(&rows.views[1], row, 4)
        status = open_block(&self._blocks, stream, ts)
        stream.lost += lost
        stream.corrupt += corrupt
        return status

    def finish(self, int64_t stream, bint shrink) -> None:
        """End the open block; with `shrink` the only block of a file takes no more than the pages that it needs."""
        if not 0 <= stream < self._count:
            raise ValueError("no such stream")
        if close_block(&self._blocks, &self._streams[stream], shrink) != FINE:
            raise MemoryError

    def take(self, int64_t stream) -> NDArray[uint8] | None:
        """All whole blocks so far, None for none."""
        cdef Stream* held
        cdef int64_t size
        if not 0 <= stream < self._count:
            raise ValueError("no such stream")
        held = &self._streams[stream]
        size = held.out.used if held.start < 0 else held.start
        if size == 0:
            return None
        result = np.empty(size, np.uint8)
        cdef uint8_t[::1] view = result
        memcpy(&view[0], held.out.data, size)
        memmove(held.out.data, held.out.data + size, held.out.used - size)
        held.out.used -= size
        if held.start >= 0:
            held.start = 0
        return result


INTEGER = OP_INTEGER
STRING = OP_STRING
RAW = OP_RAW
INLINE = OP_INLINE
LOST = OP_LOST
RECORD_ID = OP_ID


cdef class MarkerProgram:
    """The program for the payloads of a marker.

    Operations are (code, bytes, alignment, always big-endian): INTEGER; STRING, with its NUL; RAW bytes; INLINE bits of
    a compact header; LOST, twice, the counts of the next block's header; RECORD_ID, in place of `id`. With `context` a
    pid and a tid come at the end, with `sized` the header always says the payload's size.
    """

    # Stub:
    # id: int

    def __init__(self, int64_t id, const int32_t[:, ::1] operations, int64_t largest, bint context, bint sized):
        cdef int64_t i
        cdef Operation* operation
        if self._rows.operations is not NULL:
            raise TypeError("a program cannot be set anew")
        if operations.shape[0] > MAX_OPERATIONS or (operations.shape[0] and operations.shape[1] != 4):
            raise ValueError("a marker's program has at most 2,048 operations of four numbers")
        if not 0 <= id < 65536 or not 0 < largest <= 16 or largest & (largest - 1):
            raise ValueError("no marker has such an id or alignment")
        self._rows.operations = <Operation*>calloc(operations.shape[0] + 1, sizeof(Operation))
        if self._rows.operations is NULL:
            raise MemoryError
        for i in range(operations.shape[0]):
            operation = &self._rows.operations[i]
            operation.code = operations[i, 0]
            operation.width = operations[i, 1]
            operation.alignment = operations[i, 2]
            operation.big = operations[i, 3]
            if not OP_INTEGER <= operation.code <= OP_ID:
                raise ValueError(f"no operation {operation.code}")
            if operation.code == OP_ID and operation.width != 2 or operation.code == OP_LOST and operation.width != 4:
                raise ValueError("ids have two bytes, counts four")
            if operation.width not in (1, 2, 4, 8) or operation.alignment not in (1, 2, 4, 8, 16):
                raise ValueError(f"a field of {operation.width} bytes, aligned to {operation.alignment}")
        self.id = id
        self._rows.id = <uint32_t>id
        self._rows.sized = sized
        self._rows.context = context
        self._rows.largest = largest
        self._rows.count = operations.shape[0]

    def __dealloc__(self):
        free(self._rows.operations)


cdef class MarkerColumns:
    """A program and its columns in a batch, one an operation: integers, ids of strings, or (values, offsets)."""

    def __init__(
        self,
        MarkerProgram program not None,
        columns: Sequence[NDArray[int32] | tuple[NDArray[uint8], NDArray[int64]]],
        int64_t length,
    ):
        cdef const Operation* operation
        cdef const ColumnView* view
        cdef int64_t i
        if self._program is not None:
            raise TypeError("columns cannot be set anew")
        if len(columns) != program._rows.count:
            raise ValueError("a marker's program has not a column for each operation")
        self._program = program
        self._columns = BoundColumns(program._rows.count)
        for i in range(program._rows.count):
            operation = &program._rows.operations[i]
            view = self._columns.bind(
                i, TAKES[operation.code], 1 if operation.code == OP_RAW else operation.width, columns[i], length
            )
            if view.length != length:
                raise ValueError("the columns differ in length")
        self._rows = program._rows
        self._rows.views = self._columns.views
        self._rows.length = length
