# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns to CTF packets: each event class has a program, run row by row in stream order into the buffer of its stream.

A program is a list of operations, one a column. Those of nested fields follow the one that says which of their rows to
write: all that a list has, the one that a variant has chosen, the one that is there or none. All is little-endian and
starts at whole bytes. Packets have LTTng's header and context, events its large header (CTF 1.8.3, 5 and 6).
"""

# Stub:
# from converter.kernels.batches.programs import ProgramSet
# from collections.abc import Sequence
# from converter.kernels.batches.event_arrays import EventArrays
# from converter.kernels.tables.strings import StringTable

from cpython.bytes cimport PyBytes_FromStringAndSize

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memmove, memset

from converter.formats.ctf.writing.emit_packets cimport (
    MARGIN, Stream, ThreadContext, close_packet, open_packet, put_header,
)
from converter.formats.ctf.writing.emit_programs cimport Operation, Program, run
from converter.kernels.batches.column_view cimport (
    TAKES_BYTES, TAKES_LIST, TAKES_NOTHING, TAKES_SCALAR, TAKES_TEXT, TAKES_UNION, TAKES_VALIDITY, Takes, bits_of,
)
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.batches.event_arrays cimport EventArrays, Events, WITH_CLASS, WITH_ROW, WITH_THREAD, WITH_TRACK
from converter.kernels.batches.programs cimport ProgramSet
from converter.kernels.io.byte_order cimport HOST_IS_BIG
from converter.kernels.io.output cimport ensure, put32
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    MAX_NESTING = 64
    # An output larger than this is to be taken.
    BLOCK = 1 << 22

# The input that each operation takes.
cdef Takes[OP_THREAD + 1] TAKES
TAKES[:] = [
    TAKES_SCALAR, TAKES_TEXT, TAKES_BYTES, TAKES_LIST, TAKES_LIST, TAKES_UNION, TAKES_VALIDITY, TAKES_NOTHING,
    TAKES_NOTHING,
]


cdef class Emitter(ProgramSet):
    """Makes the packets of data streams; each event class has a program.

    A program is a list of (operation, width, number of the following operations that belong to it). Structures are no
    operation of their own: their members follow one another.

    What `bind` takes for an operation is an array (int32 ids for strings); for strings and bytes also (values,
    offsets); for lists and arrays, offsets; for unions, (tags, rows); for groups and threads, None.
    """

    cdef uint8_t[16] _uuid
    cdef int64_t _packet_size
    cdef Program* _programs
    cdef Stream* _streams
    cdef int64_t _stream_count
    cdef ThreadContext* _threads
    cdef int64_t _thread_count
    cdef list _names

    def __cinit__(self, StringTable strings not None, bytes uuid not None, int64_t packet_size):
        """Packets are closed once they have more than `packet_size` bytes."""
        if len(uuid) != 16:
            raise ValueError("a UUID of 16 bytes")
        if not 1 << 10 <= packet_size <= BLOCK:
            raise ValueError(f"packets of {packet_size} bytes")
        memcpy(self._uuid, <const char*>uuid, 16)
        self._packet_size = packet_size
        self._names = []
        # Entry 0 is that of no thread.
        self.add_threads([(-1, -1, b"")])

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._stream_count):
            free(self._streams[i].out.data)
            free(self._streams[i].packets)
        free(self._streams)
        free(self._threads)

    def add_threads(self, threads: Sequence[tuple[int, int, bytes]]) -> None:
        """Threads in the order of their indices: (process id, thread id, name), ids as signed 64-bit numbers."""
        cdef int64_t count = self._thread_count + len(threads)
        cdef ThreadContext* grown
        cdef ThreadContext* one
        cdef const uint8_t[::1] view
        if count == self._thread_count:
            return
        grown = <ThreadContext*>realloc(self._threads, count * sizeof(ThreadContext))
        if grown is NULL:
            raise MemoryError
        self._threads = grown
        for pid, tid, name in threads:
            name = (<bytes?>name).partition(b"\0")[0]
            self._names.append(name)
            one = &self._threads[self._thread_count]
            one.pid = pid
            one.tid = tid
            view = name
            one.name_size = view.shape[0]
            one.name = &view[0] if view.shape[0] else NULL
            self._thread_count += 1

    def add_stream(
        self, uint32_t class_id, uint64_t instance, int32_t cpu, bint tracked, bint timed
    ) -> int:
        """A stream; its number. `cpu` is -1 where its class has none; `tracked`: the context ends with a track; `timed`:
        events have times."""
        cdef Stream* grown = <Stream*>realloc(self._streams, (self._stream_count + 1) * sizeof(Stream))
        if grown is NULL:
            raise MemoryError
        self._streams = grown
        memset(&grown[self._stream_count], 0, sizeof(Stream))
        memcpy(grown[self._stream_count].uuid, self._uuid, 16)
        grown[self._stream_count].class_id = class_id
        grown[self._stream_count].instance = instance
        grown[self._stream_count].cpu = cpu
        grown[self._stream_count].tracked = tracked
        grown[self._stream_count].timed = timed
        grown[self._stream_count].start = -1
        self._stream_count += 1
        return self._stream_count - 1

    def add_program(self, uint32_t id, operations: Sequence[tuple[int, int, int]], int discards, int32_t context=0) -> int:
        """A program for the event record class `id`; its number. The first `context` operations are the common context.

        One that `discards` has one column of 64-bit counts and writes no event: a packet begins at its time. Of
        DISCARDS_EVENTS the stream's counter of discarded events rises, of DISCARDS_PACKETS the packet's number, by more
        than one. Raises ValueError for operations that make no sense.
        """
        cdef Program* program
        cdef BoundColumns columns
        cdef int64_t i
        cdef int32_t code
        cdef int64_t count = len(operations)
        check_nesting(operations, 0, count, 0)
        if discards and [tuple(one) for one in operations] != [(OP_SCALAR, 8, 0)]:
            raise ValueError("a program that discards has one count")
        if not 0 <= context <= count:
            raise ValueError("a context is part of a program")
        if not 0 <= discards <= DISCARDS_PACKETS:
            raise ValueError("a program discards events or packets")
        columns = BoundColumns(count)
        program = <Program*>self.add(sizeof(Program), columns, count * sizeof(Operation))
        self._programs = <Program*>self._programs_memory
        program.id = id
        program.discards = discards
        program.count = count
        program.context = context
        for i in range(count):
            program.operations[i].code, program.operations[i].width, program.operations[i].inner = operations[i]
            code = program.operations[i].code
            columns.need(i, TAKES[code], 1 if code == OP_BYTES else 0)
        return self._program_count - 1

    # How many rows the columns of nested fields have only their rows can tell.
    cdef int64_t _bound(self, int64_t number, int64_t rows, BoundColumns columns) except -1:
        cdef const Program* program = &self._programs[number]
        cdef int64_t i
        for i in range(program.count):
            if program.operations[i].code == OP_SCALAR and program.views[i].width < program.operations[i].width:
                raise ValueError(f"column {i} is too narrow")
        return rows

    def emit(self, EventArrays columns not None, int64_t start) -> tuple[int, int]:
        """Emit events from number `start` on until a stream has much to take: (status, number of the next event).

        `class_id` are the programs; the columns have a `stream` beside the common ones. `ts` are values of the clock,
        never below the last of their stream. Releases the GIL.
        """
        cdef Events events = columns.common(WITH_CLASS | WITH_ROW | WITH_THREAD | WITH_TRACK)
        cdef const int32_t* streams = <const int32_t*>columns.own("stream", 4)
        cdef int64_t at = start
        cdef int status = DONE
        cdef int32_t number
        cdef Stream* to
        if not 0 <= start <= events.count:
            raise ValueError(f"event {start} of {events.count}")
        self._strings_count = len(self._strings)
        with nogil:
            while at < events.count:
                number = events.class_id[at]
                if (
                    number < 0 or number >= self._program_count
                    or streams[at] < 0 or streams[at] >= self._stream_count
                    or events.thread[at] < -1 or events.thread[at] >= self._thread_count - 1
                ):
                    status = OUT_OF_RANGE
                    break
                to = &self._streams[streams[at]]
                status = self._emit(
                    to, &self._programs[number], <uint64_t>events.ts[at], events.row[at], events.thread[at],
                    events.track[at],
                )
                if status != DONE:
                    break
                at += 1
                if to.out.used > BLOCK:
                    status = FULL
                    break
        if status == OUT_OF_MEMORY:
            raise MemoryError
        return status, at

    cdef int _emit(
        self, Stream* to, Program* program, uint64_t ts, int64_t row, int32_t thread, int32_t track
    ) noexcept nogil:
        cdef ThreadContext* context = &self._threads[thread + 1]
        cdef int64_t event
        cdef uint64_t lost
        cdef int status
        if row < 0 or row >= program.rows:
            return OUT_OF_RANGE
        if ts < to.last:
            return BACKWARDS
        if program.discards:
            if row >= program.views[0].length:
                return OUT_OF_RANGE
            lost = bits_of(&program.views[0], row, 8)
            if program.discards == DISCARDS_PACKETS and to.start < 0 and to.number == 0:
                # Numbers that are left out are between those of two packets.
                status = open_packet(to, ts)
                if status != DONE:
                    return status
            status = close_packet(to)
            if status != DONE:
                return status
            if program.discards == DISCARDS_PACKETS:
                to.number += lost
            else:
                to.discarded += lost
            return open_packet(to, ts)
        if to.start >= 0 and to.out.used - to.start > self._packet_size:
            status = close_packet(to)
            if status != DONE:
                return status
        if to.start < 0:
            status = open_packet(to, ts)
            if status != DONE:
                return status
        event = to.out.used
        status = put_header(to, program.id, ts)
        if status != DONE:
            return status
        status = run(&to.out, program, self._strings, self._strings_count, 0, program.context, row, context)
        if status == DONE and to.tracked:
            status = OUT_OF_MEMORY
            if ensure(&to.out, 4, MARGIN):
                put32(&to.out, <uint32_t>track, HOST_IS_BIG)
                status = DONE
        if status == DONE:
            status = run(
                &to.out, program, self._strings, self._strings_count, program.context, program.count, row, context
            )
        if status != DONE:
            to.out.used = event
            return status
        to.last = ts
        return DONE

    def finish(self, int64_t stream) -> None:
        """Close the open packet of a stream."""
        if not 0 <= stream < self._stream_count:
            raise ValueError("no such stream")
        if close_packet(&self._streams[stream]) != DONE:
            raise MemoryError

    def take(self, int64_t stream) -> tuple[bytes, list[tuple[int, int, int, int, int, int]]]:
        """The finished packets of a stream since the last time: their bytes, and of each
        (size and content in bytes, first time, last time, events discarded so far, sequence number)."""
        cdef Stream* held
        cdef int64_t size, i
        if not 0 <= stream < self._stream_count:
            raise ValueError("no such stream")
        held = &self._streams[stream]
        size = held.out.used if held.start < 0 else held.start
        if not size:
            return b"", []
        data = PyBytes_FromStringAndSize(<const char*>held.out.data, size)
        memmove(held.out.data, held.out.data + size, held.out.used - size)
        held.out.used -= size
        if held.start >= 0:
            held.start = 0
        packets = [
            (
                held.packets[i].size, held.packets[i].content, held.packets[i].begin, held.packets[i].end,
                held.packets[i].discarded, held.packets[i].number,
            )
            for i in range(held.packet_count)
        ]
        held.packet_count = 0
        return data, packets

    def pending(self, int64_t stream) -> int:
        """The number of bytes that a stream holds."""
        if not 0 <= stream < self._stream_count:
            raise ValueError("no such stream")
        return self._streams[stream].out.used


def check_nesting(operations, int64_t begin, int64_t end, int64_t depth):
    """Return True if the operations of nested fields lie within those around them."""
    cdef int64_t i = begin
    if depth > MAX_NESTING:
        raise ValueError("operations are nested too deep")
    while i < end:
        code, width, inner = operations[i]
        good = OP_SCALAR <= code <= OP_THREAD and 0 <= inner < end - i
        good = good and (code != OP_SCALAR or 1 <= width <= 8) and (code != OP_UNION or 1 <= width <= 2)
        good = good and not (code in (OP_SCALAR, OP_STRING, OP_BYTES, OP_THREAD) and inner)
        at = i + 1
        while good and code == OP_UNION and at < i + 1 + inner:
            good = operations[at][0] == OP_GROUP
            at += 1 + operations[at][2]
        if not good:
            raise ValueError(f"operation {i} is none: {operations[i]}")
        check_nesting(operations, i + 1, i + 1 + inner, depth + 1)
        i += 1 + inner
