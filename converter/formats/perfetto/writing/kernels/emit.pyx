# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns to TracePackets: each event class has a program of steps, run row by row into a growing buffer, one a thread.

Kernel events are gathered in a bundle for each CPU and batch of them; any other event is a packet of its own, which brings
the interned texts that it is the first to use.
"""

# Stub:
# from converter.kernels.batches.programs import ProgramSet
# from collections.abc import Sequence
# from typing import TypeAlias
# from converter.kernels.batches.event_arrays import EventArrays
# from converter.kernels.tables.strings import StringTable
#
# #: Steps that write a number as a varint: columns of that type. With `table` 1 zeros are left out. A tag of 0 is none.
# U8: int
# U16: int
# U32: int
# U64: int
# I8: int
# I16: int
# I32: int
# I64: int
# #: Numbers in 4 and 8 bytes.
# FIXED32: int
# FIXED64: int
# #: A string or bytes: ids (int32), or (values uint8, offsets int64).
# TEXT: int
# #: Bytes without tag and size: (values, offsets).
# RAW: int
# #: The step's own bytes; takes no column.
# LITERAL: int
# #: Begin and end of a message; take no columns.
# OPEN: int
# CLOSE: int
# #: A string by its number in a table of interned texts (0 categories, 1 event names, 2 annotation names, 3 strings),
# #: given as ids; given as (values, offsets), in place, under the inline tag. Empty ones are left out except in table
# #: 3.
# INTERNED: int
# #: The string whose id is in place of the inline tag, interned; takes no column.
# NAME: int
# #: The uuid of the event's track, if it has any; takes no column.
# PLACE: int
# #: The steps that belong to it for each element of a list: offsets (int64).
# EACH: int
# #: The steps of one of its options: (tags int16, rows int32). Each option is an OPTION with steps of its own.
# UNION: int
# OPTION: int
# #: The steps that belong to it where there is a value: uint8.
# OPTIONAL: int
# #: As U64; values are noted for `take_symbols`.
# SYMBOL: int
# #: The common_flags of a kernel event (uint32), which the bundle says where there are any.
# FLAGS: int
# #: The kind of a program's output: packets with a TrackEvent, FtraceEvents, events lost before a bundle, packets as
# #: they are, packets of any other sort (time, sequence and the program's fields).
# FRAME_TRACK: int
# FRAME_FTRACE: int
# FRAME_LOST: int
# FRAME_RAW: int
# FRAME_RECORD: int
# FRAME_SWITCH: int
# FRAME_WAKING: int
# OK: int
# BAD_COLUMN: int
# BAD_CPU: int
# TOO_LARGE: int
# #: A result of `Emitter.emit`: the next event is the first to use a text.
# NEW_TEXT: int
# #: A step: (kind, tag, inline tag, table, number of steps after it that belong to it, bytes).
# Step: TypeAlias = tuple[int, int, int, int, int, bytes]

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

import numpy as np

from converter.formats.perfetto.writing.kernels.emit_bundles cimport KernelEvents, put_bundle
from converter.formats.perfetto.writing.kernels.emit_compact cimport is_compact
from converter.formats.perfetto.writing.kernels.emit_instructions cimport Emission
from converter.formats.perfetto.writing.kernels.emit_interning cimport (
    Interning, TABLES, follow_strings, free_interned, free_interning,
)
from converter.formats.perfetto.writing.kernels.emit_output cimport BLOCK, MAX_OPEN, put
from converter.formats.perfetto.writing.kernels.emit_packets cimport put_packets
from converter.formats.perfetto.writing.kernels.emit_programs cimport (
    STEPS, STEP_ROOM, Program, Step, count_rows, fFTRACE, fLOST, fRAW, fRECORD, fSWITCH,
    fTRACK, fWAKING, in_bundles,
    sCLOSE, sEACH, sFIXED32, sFIXED64, sFLAGS, sI16, sI32, sI64, sI8, sINTERNED, sLITERAL, sNAME, sOPEN, sOPTION, sOPTIONAL,
    sPLACE, sRAW, sSYMBOL, sTEXT, sU16, sU32, sU64, sU8, sUNION,
)
from converter.formats.perfetto.writing.kernels.emit_symbols cimport Addresses, note_address
from converter.kernels.batches.column_view cimport (
    AHEAD, ColumnView, TAKES_BYTES, TAKES_LIST, TAKES_NOTHING, TAKES_SCALAR, TAKES_TEXT, TAKES_UNION, TAKES_VALIDITY,
    Takes, bits_of,
)
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.batches.event_arrays cimport (
    EventArrays, Events, WITH_CLASS, WITH_CPU, WITH_ROW, WITH_THREAD, WITH_TRACK,
)
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load64
from converter.kernels.io.output cimport Blocks, ensure, put_bytes
from converter.kernels.batches.programs cimport ProgramSet
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    MAX_CPUS = 1024

U8, U16, U32, U64, I8, I16, I32, I64 = sU8, sU16, sU32, sU64, sI8, sI16, sI32, sI64
FIXED32, FIXED64, TEXT, RAW, LITERAL, OPEN, CLOSE = sFIXED32, sFIXED64, sTEXT, sRAW, sLITERAL, sOPEN, sCLOSE
INTERNED, NAME, PLACE, EACH = sINTERNED, sNAME, sPLACE, sEACH
UNION, OPTION, OPTIONAL, SYMBOL, FLAGS = sUNION, sOPTION, sOPTIONAL, sSYMBOL, sFLAGS
FRAME_TRACK, FRAME_FTRACE, FRAME_LOST, FRAME_RAW, FRAME_RECORD = fTRACK, fFTRACE, fLOST, fRAW, fRECORD
FRAME_SWITCH, FRAME_WAKING = fSWITCH, fWAKING

# The input that each step takes, and the bytes of a value or element.
cdef Takes[STEPS] TAKES
TAKES[:] = [
    TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR,
    TAKES_SCALAR, TAKES_SCALAR, TAKES_TEXT, TAKES_BYTES, TAKES_NOTHING, TAKES_NOTHING, TAKES_NOTHING, TAKES_TEXT,
    TAKES_NOTHING, TAKES_NOTHING, TAKES_LIST, TAKES_UNION, TAKES_NOTHING, TAKES_VALIDITY, TAKES_SCALAR, TAKES_SCALAR,
]
cdef int[STEPS] WIDTHS
WIDTHS[:] = [1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 8, 4]


cdef class PacketSequence(ProgramSet):
    """A sequence of packets: what its packets refer to, and how they are made of events.

    For each batch: `bind` columns to the programs of its classes, `begin`, have emitters emit all events, and `release`
    the columns. `bind` takes a column for each step that takes any, in order. Only `Emitter.emit` and
    `Emitter.emit_bundles` may be at work on several threads.
    """

    cdef uint64_t _sequence
    cdef Interning _interning
    cdef Program* _programs
    cdef int64_t* _tids
    cdef uint64_t* _thread_uuids
    cdef int64_t _threads
    cdef uint64_t* _track_uuids
    cdef int64_t _tracks
    cdef Addresses _addresses
    cdef list _new_symbols
    cdef list _literals
    # Of the batch: what is known of its events, and which of them are a kernel's, by CPU.
    cdef EventArrays _columns_of_events
    cdef Events _events
    cdef const int32_t[::1] _order

    def __cinit__(self, StringTable strings not None, uint32_t sequence, *, uint32_t writer=0, uint32_t writers=1):
        """`writer` is the number of this emitter among `writers` that write an output together, each the events of some
        batches.

        Interned texts have numbers that no other writer uses.
        """
        if not writer < writers:
            raise ValueError(f"no writer {writer} of {writers}")
        self._interning.last = <uint64_t>writer + 1
        self._interning.step = writers
        self._sequence = sequence
        self._literals = []
        self._new_symbols = []

    def __dealloc__(self):
        free_interning(&self._interning)
        free(self._tids)
        free(self._thread_uuids)
        free(self._track_uuids)
        free(self._addresses.slots)

    def set_threads(self, const int64_t[:] tids, const uint64_t[:] uuids) -> None:
        """Set the names of threads: by tid in kernel events, by the uuid of their track elsewhere."""
        cdef int64_t i
        cdef int64_t count = tids.shape[0]
        cdef void* moved
        if uuids.shape[0] != count:
            raise ValueError("tids and uuids differ in length")
        moved = realloc(self._tids, (count + 1) * 8)
        if moved is NULL:
            raise MemoryError
        self._tids = <int64_t*>moved
        moved = realloc(self._thread_uuids, (count + 1) * 8)
        if moved is NULL:
            raise MemoryError
        self._thread_uuids = <uint64_t*>moved
        self._threads = count
        for i in range(count):
            self._tids[i] = tids[i]
            self._thread_uuids[i] = uuids[i]

    def set_tracks(self, const uint64_t[:] uuids) -> None:
        """The uuids of tracks."""
        cdef int64_t i
        cdef void* moved = realloc(self._track_uuids, (uuids.shape[0] + 1) * 8)
        if moved is NULL:
            raise MemoryError
        self._track_uuids = <uint64_t*>moved
        self._tracks = uuids.shape[0]
        for i in range(self._tracks):
            self._track_uuids[i] = uuids[i]

    # Programs

    def add_program(self, int frame, steps: Sequence[Step], int middle=0, uint32_t sequence=0) -> int:
        """A program; its number. Of a record that is two packets `middle` is the first step of the second.

        `sequence` is that of its packets; 0 is the one of all others.

        Raises ValueError when the steps make no program.
        """
        cdef Program* program
        cdef BoundColumns columns
        if not 0 <= frame <= fWAKING:
            raise ValueError(f"no frame {frame}")
        if middle and (frame != fRECORD or not 0 < middle < len(steps)):
            raise ValueError(f"no second packet at step {middle}")
        for step in steps:
            if not 0 <= step[0] < STEPS:
                raise ValueError(f"no step {step}")
        columns = BoundColumns(sum(TAKES[<int>step[0]] != TAKES_NOTHING for step in steps))
        program = <Program*>self.add(sizeof(Program), columns, len(steps) * sizeof(Step))
        self._programs = <Program*>self._programs_memory
        program.frame = frame
        program.steps = len(steps)
        program.middle = middle
        program.sequence = sequence
        self._set_steps(program, steps, columns)
        return self._program_count - 1

    cdef int _set_steps(self, Program* program, steps, BoundColumns columns) except -1:
        cdef int i, op, depth = 0
        cdef int64_t used = 0
        program.enclosed = program.frame == fFTRACE and program.steps > 1
        for i in range(program.steps):
            self._set_step(&program.step[i], steps[i], program.steps - i)
            op = program.step[i].op
            if program.frame != fTRACK and op in (sINTERNED, sNAME):
                raise ValueError("only track events bring texts")
            if TAKES[op] != TAKES_NOTHING:
                columns.need(used, TAKES[op], WIDTHS[op])
                program.step[i].view = &columns.views[used]
                used += 1
            program.room += STEP_ROOM + program.step[i].literal_size
            depth += (op == sOPEN) - (op == sCLOSE)
            if not 0 <= depth < MAX_OPEN - 4 or (i == program.middle - 1 and depth):
                raise ValueError("messages nest too deep, or not at all")
            if depth == 0 and i < program.steps - 1:
                program.enclosed = False
        if depth:
            raise ValueError("messages are not closed")
        if program.frame >= fSWITCH and not is_compact(program):
            raise ValueError("compact_sched has other columns")
        if program.frame == fRAW and (program.steps != 1 or program.step[0].op != sTEXT):
            raise ValueError("a raw packet is one field")
        return 0

    cdef int _set_step(self, Step* step, given, int left) except -1:
        """A step of those that `left` are still to come, itself included."""
        cdef uint64_t tag, inline_tag
        cdef const uint8_t[::1] literal
        op, tag, inline_tag, table, count, data = given
        if not 0 <= op < STEPS or tag >> 32 or inline_tag >> 31 or not 0 <= count < left:
            raise ValueError(f"no step {given}")
        if op in (sINTERNED, sNAME) and not 0 <= table < TABLES:
            raise ValueError(f"no table {table}")
        step.op = op
        if tag:
            step.tag_size = <int32_t>(put(<uint8_t*>&step.tag, tag) - <uint8_t*>&step.tag)
            step.tag = load64(<uint8_t*>&step.tag, HOST_IS_BIG)
        step.inline_tag = inline_tag
        step.table = table
        step.count = count
        if data:
            literal = <bytes?>data
            self._literals.append(data)
            step.literal = &literal[0]
            step.literal_size = literal.shape[0]
        return 0

    cdef int64_t _bound(self, int64_t number, int64_t rows, BoundColumns columns) except -1:
        cdef Program* program = &self._programs[number]
        cdef const ColumnView* view
        cdef int i
        for i in range(program.steps):
            view = program.step[i].view
            if view is not NULL:
                program.step[i].data = view.data
                program.step[i].stride = view.stride
                program.step[i].ahead = AHEAD * view.stride
                if program.step[i].op == sSYMBOL:
                    self._note_symbols(view)
        # How many rows the columns of nested steps have only their rows can tell.
        return min(rows, count_rows(program.step, 0, program.steps))

    cdef int _note_symbols(self, const ColumnView* view) except -1:
        cdef uint64_t value
        cdef int64_t k
        cdef int new
        for k in range(view.length):
            value = bits_of(view, k, 8)
            new = note_address(&self._addresses, value)
            if new < 0:
                raise MemoryError
            if new:
                self._new_symbols.append(value)
        return 0

    def release(self):
        self._columns_of_events = self._order = None
        ProgramSet.release(self)

    def take_symbols(self) -> list[int]:
        """The values of symbol columns that were bound for the first time since the last call; zero is none."""
        values, self._new_symbols = self._new_symbols, []
        return values

    # Events

    def begin(self, EventArrays columns not None) -> None:
        """The events that are emitted from now on: `class_id` are the programs."""
        cdef Events events = columns.common(WITH_CLASS | WITH_ROW | WITH_THREAD | WITH_CPU | WITH_TRACK)
        cdef int64_t i
        cdef uint32_t highest = 0
        for i in range(events.count):
            highest |= <uint32_t>(<uint32_t>events.class_id[i] >= <uint32_t>self._program_count)
        if highest:
            raise ValueError("no such program")
        if not follow_strings(&self._interning, len(self._strings)):
            raise MemoryError
        self._columns_of_events, self._events = columns, events
        self._order = None

    def group(self) -> tuple[int, list[tuple[int, int]], int]:
        """Put the kernel's events in the order of their CPUs: (OK, from where to where each CPU's are in it, any).

        Without a valid CPU: (BAD_CPU, any, number of the event).
        """
        cdef const int32_t* program = self._events.class_id
        cdef const int32_t* cpu = self._events.cpu
        cdef int64_t count
        cdef int64_t i
        cdef int64_t ends[MAX_CPUS + 1]
        cdef int32_t[::1] order
        if self._columns_of_events is None:
            raise ValueError("no events")
        count = self._events.count
        memset(ends, 0, sizeof(ends))
        for i in range(count):
            if in_bundles(self._programs[program[i]].frame):
                if not 0 <= cpu[i] < MAX_CPUS:
                    return BAD_CPU, None, i
                ends[cpu[i] + 1] += 1
        for i in range(MAX_CPUS):
            ends[i + 1] += ends[i]
        runs = [(ends[i], ends[i + 1]) for i in range(MAX_CPUS) if ends[i] < ends[i + 1]]
        order = np.empty(ends[MAX_CPUS], np.int32)
        for i in range(count):
            if in_bundles(self._programs[program[i]].frame):
                order[ends[cpu[i]]] = <int32_t>i
                ends[cpu[i]] += 1
        self._order = order
        return OK, runs, count


cdef class Emitter:
    """Emits packets of a sequence into a buffer: one for each thread."""

    cdef PacketSequence _of
    cdef Emission _to
    cdef Blocks _blocks

    def __cinit__(self, PacketSequence sequence not None):
        self._of = sequence
        self._blocks = Blocks()
        self._to.interning = &sequence._interning

    def __dealloc__(self):
        free(self._to.messages.out.data)
        free_interned(&self._to.interned)

    @property
    def size(self) -> int:
        """Bytes since the last `take`."""
        return self._to.messages.out.used

    def take(self) -> memoryview:
        """Return the output since the last call: a block that nobody changes, reused when the caller releases it."""
        return self._blocks.hand_over(&self._to.messages.out)

    def put(self, const uint8_t[::1] data) -> None:
        """Append bytes."""
        if data.shape[0]:
            if not ensure(&self._to.messages.out, data.shape[0], 2 * BLOCK):
                raise MemoryError
            put_bytes(&self._to.messages.out, &data[0], data.shape[0])

    def emit(self, int64_t start, int64_t stop, bint follows) -> tuple[int, int]:
        """Emit events other than the kernel's from number `start` on until a block is full: (status, the next one).

        If they follow all that were emitted (`follows`), they register the texts that they are the first to use;
        otherwise emitting ends before such an event with NEW_TEXT. On statuses other than OK the next one cannot be
        emitted. Releases the GIL.
        """
        cdef PacketSequence of = self._of
        cdef const int64_t* ts = of._events.ts
        cdef const int32_t* program = of._events.class_id
        cdef const int32_t* row = of._events.row
        cdef const int32_t* thread = of._events.thread
        cdef const int32_t* track = of._events.track
        cdef int64_t at = start
        cdef int64_t done
        cdef int status = OK
        if of._columns_of_events is None or not 0 <= start <= stop <= of._events.count:
            raise ValueError("no such event")
        self._to.interns = follows
        with nogil:
            while at < stop and self._to.messages.out.used < BLOCK:
                if not in_bundles(of._programs[program[at]].frame):
                    if track[at] >= of._tracks or thread[at] >= of._threads:
                        status = BAD_COLUMN
                        break
                    self._to.placed = track[at] >= 0 or thread[at] >= 0
                    if self._to.placed:
                        self._to.place = of._track_uuids[track[at]] if track[at] >= 0 else of._thread_uuids[thread[at]]
                    done = self._to.messages.out.used
                    status = put_packets(
                        &self._to, of._strings, &of._programs[program[at]], of._sequence, ts[at], row[at]
                    )
                    if status != OK:
                        # Write both of two packets or none.
                        self._to.messages.out.used = done
                        break
                at += 1
        if status == NO_MEMORY:
            raise MemoryError
        return status, at

    def emit_bundles(self, int64_t start, int64_t stop) -> tuple[int, int]:
        """Emit bundles that begin with some of the kernel's events, as `emit`: (status, the next event).

        Numbers of events are in the order of `group`; when a status is not OK, that of the event itself. The first
        event must be one that a bundle begins with. The last bundle may have events from `stop` on. Releases the GIL.
        """
        cdef PacketSequence of = self._of
        cdef int64_t at = start
        cdef KernelEvents events
        if of._order is None or not 0 <= start <= stop <= of._order.shape[0]:
            raise ValueError("no such events of a kernel")
        events.batch, events.order = of._events, &of._order[0]
        events.count = of._order.shape[0]
        events.programs = of._programs
        events.tids, events.threads = of._tids, of._threads
        self._to.status = OK
        with nogil:
            while at < stop and self._to.messages.out.used < BLOCK:
                if not put_bundle(&self._to, of._strings, &events, of._sequence, &at):
                    break
        if self._to.status == NO_MEMORY:
            raise MemoryError
        return self._to.status, at if self._to.status == OK else of._order[at]
