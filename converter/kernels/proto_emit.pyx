# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns to TracePackets: each event class has a program of steps, run row by row into one growing buffer.

Kernel events are gathered in a bundle for each CPU and batch of them; any other event is a packet of its own, which brings
the interned texts that it is the first to use.
"""

from cpython.buffer cimport Py_buffer, PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize

from libc.stdint cimport int16_t, int32_t, int64_t, int8_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memmove, memset

import numpy as np

from converter.kernels.strings cimport Entry, StringTable

cdef extern from *:
    int __builtin_clzll(unsigned long long) nogil

cdef enum:
    sU8 = 0
    sU16 = 1
    sU32 = 2
    sU64 = 3
    sI8 = 4
    sI16 = 5
    sI32 = 6
    sI64 = 7
    sFIXED32 = 8
    sFIXED64 = 9
    sTEXT = 10
    sRAW = 11
    sLITERAL = 12
    sOPEN = 13
    sCLOSE = 14
    sINTERNED = 15
    sNAME = 16
    sPLACE = 17
    sCHOICE = 18
    sEACH = 19
    sUNION = 20
    sOPTION = 21
    sOPTIONAL = 22
    sSYMBOL = 23
    STEPS = 24

    fPACKET = 0
    fFTRACE = 1
    fLOST = 2
    fRAW = 3

    MAX_CPUS = 1024
    MAX_OPEN = 128
    # Room for the scalars of a step.
    MARGIN = 64
    BLOCK = 1 << 20
    # A bundle ends at whichever comes first.
    BUNDLE_EVENTS = 1024
    BUNDLE_BYTES = 1 << 16
    # Bytes kept free for a bundle's size: it is moved where that takes fewer or more.
    BUNDLE_SIZE = 3
    TABLES = 4

U8, U16, U32, U64, I8, I16, I32, I64 = sU8, sU16, sU32, sU64, sI8, sI16, sI32, sI64
FIXED32, FIXED64, TEXT, RAW, LITERAL, OPEN, CLOSE = sFIXED32, sFIXED64, sTEXT, sRAW, sLITERAL, sOPEN, sCLOSE
INTERNED, NAME, PLACE, CHOICE, EACH = sINTERNED, sNAME, sPLACE, sCHOICE, sEACH
UNION, OPTION, OPTIONAL, SYMBOL = sUNION, sOPTION, sOPTIONAL, sSYMBOL
FRAME_PACKET, FRAME_FTRACE, FRAME_LOST, FRAME_RAW = fPACKET, fFTRACE, fLOST, fRAW

cpdef enum:
    OK = 0
    NO_MEMORY = -1
    BAD_COLUMN = -2
    BAD_CPU = -3
    TOO_LARGE = -4

# Bytes of a value of each step's column; 0: none, -1: a list or another shape of its own.
cdef int WIDTHS[STEPS]
WIDTHS[:] = [1, 2, 4, 8, 1, 2, 4, 8, 4, 8, -1, -1, 0, 0, 0, -1, 0, 0, -1, -1, -1, 0, 1, 8]
# Fields of InternedData, by table.
cdef uint8_t INTERNED_TAGS[TABLES]
INTERNED_TAGS[:] = [1 << 3 | 2, 2 << 3 | 2, 3 << 3 | 2, 0]


cdef struct Step:
    int32_t op
    int32_t tag_size
    int32_t table
    # Steps that belong to this one, and follow it.
    int32_t count
    uint8_t tag[8]
    # The tag of the form that is not interned.
    uint64_t inline_tag
    uint8_t* literal
    int64_t literal_size
    const uint8_t* data
    int64_t stride
    const int64_t* offsets
    # Of a list of bytes: how many there are. Of `sCHOICE` and `sUNION`: the second column.
    int64_t size
    const uint8_t* second
    int64_t second_stride
    int64_t rows


cdef struct Program:
    int32_t frame
    int32_t steps
    uint64_t number
    int64_t rows
    Step* step


cdef inline uint8_t* put(uint8_t* at, uint64_t value) noexcept nogil:
    """A varint; the place behind it. Writes up to ten bytes."""
    cdef int size
    if value < 0x80:
        at[0] = <uint8_t>value
        return at + 1
    if value < 0x4000:
        at[0] = <uint8_t>(value | 0x80)
        at[1] = <uint8_t>(value >> 7)
        return at + 2
    if value >> 56 == 0:
        # Seven bits a byte, by moving ever smaller groups apart.
        size = (70 - __builtin_clzll(value)) // 7
        value = (value & <uint64_t>0x000000000FFFFFFF) | ((value & <uint64_t>0x00FFFFFFF0000000) << 4)
        value = (value & <uint64_t>0x00003FFF00003FFF) | ((value & <uint64_t>0x0FFFC0000FFFC000) << 2)
        value = (value & <uint64_t>0x007F007F007F007F) | ((value & <uint64_t>0x3F803F803F803F80) << 1)
        value |= <uint64_t>0x8080808080808080 & ((<uint64_t>1 << (8 * (size - 1))) - 1)
        memcpy(at, &value, 8)
        return at + size
    while value >= 0x80:
        at[0] = <uint8_t>(value | 0x80)
        value >>= 7
        at += 1
    at[0] = <uint8_t>value
    return at + 1


cdef inline int varint_size(uint64_t value) noexcept nogil:
    return 1 if value < 0x80 else (70 - __builtin_clzll(value)) // 7


cdef class Held:
    """A one-dimensional buffer of the wanted element size, held as long as this is."""
    cdef Py_buffer view
    cdef bint filled

    def __cinit__(self, array, int width):
        PyObject_GetBuffer(array, &self.view, PyBUF_STRIDES)
        self.filled = True
        if self.view.ndim != 1 or self.view.itemsize != width:
            raise ValueError(f"expected elements of {width} bytes")

    def __dealloc__(self):
        if self.filled:
            PyBuffer_Release(&self.view)


cdef class Emitter:
    cdef StringTable _strings
    cdef int64_t _known
    cdef uint8_t* _out
    cdef int64_t _used
    cdef uint8_t* _end
    cdef uint8_t* _interned_in
    cdef int64_t _interned_room
    # Of the packet under construction, by table: in order of their numbers in InternedData.
    cdef uint8_t* _interned[TABLES]
    cdef int64_t _interned_used[TABLES]
    cdef int64_t _interned_size[TABLES]
    cdef int64_t _opened[MAX_OPEN]
    cdef int _depth
    cdef int _status
    cdef uint64_t _sequence
    cdef Program* _programs
    cdef int _program_count
    cdef int64_t* _tids
    cdef uint64_t* _thread_uuids
    cdef int64_t _threads
    cdef uint64_t* _track_uuids
    cdef int64_t _tracks
    cdef uint64_t* _symbols
    cdef uint64_t _symbol_mask
    cdef int64_t _symbol_count
    cdef bint _has_zero
    cdef list _new_symbols
    cdef list _buffers

    def __cinit__(self, StringTable strings, uint32_t sequence):
        self._strings = strings
        self._sequence = sequence
        self._buffers = []
        self._new_symbols = []
        self._symbol_mask = 1023
        self._symbols = <uint64_t*>calloc(1024, sizeof(uint64_t))
        if self._symbols is NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef int i, k
        for i in range(self._program_count):
            for k in range(self._programs[i].steps):
                free(self._programs[i].step[k].literal)
            free(self._programs[i].step)
        free(self._programs)
        free(self._out)
        free(self._interned_in)
        for i in range(TABLES):
            free(self._interned[i])
        free(self._tids)
        free(self._thread_uuids)
        free(self._track_uuids)
        free(self._symbols)

    @property
    def size(self):
        return self._used

    def take(self):
        """What was emitted since the last time."""
        data = PyBytes_FromStringAndSize(<const char*>self._out, self._used)
        self._used = 0
        return data

    def put(self, const uint8_t[::1] data):
        cdef uint8_t* at
        if data.shape[0]:
            at = self._grow(self._out + self._used, data.shape[0])
            if at is NULL:
                raise MemoryError
            memcpy(at, &data[0], data.shape[0])
            self._used += data.shape[0]

    def set_threads(self, const int64_t[:] tids, const uint64_t[:] uuids):
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

    def set_tracks(self, const uint64_t[:] uuids):
        cdef int64_t i
        cdef void* moved = realloc(self._track_uuids, (uuids.shape[0] + 1) * 8)
        if moved is NULL:
            raise MemoryError
        self._track_uuids = <uint64_t*>moved
        self._tracks = uuids.shape[0]
        for i in range(self._tracks):
            self._track_uuids[i] = uuids[i]

    def add_program(self, int frame, uint64_t number, steps):
        cdef void* moved
        cdef Program* program
        cdef Step* step
        cdef int i, depth = 0
        cdef const uint8_t[::1] literal
        cdef uint64_t tag
        if not 0 <= frame <= fRAW or (frame == fFTRACE and not 0 < number < 1 << 29):
            raise ValueError(f"no frame {frame} for {number}")
        moved = realloc(self._programs, (self._program_count + 1) * sizeof(Program))
        if moved is NULL:
            raise MemoryError
        self._programs = <Program*>moved
        program = &self._programs[self._program_count]
        memset(program, 0, sizeof(Program))
        program.step = <Step*>calloc(len(steps) + 1, sizeof(Step))
        if program.step is NULL:
            raise MemoryError
        self._program_count += 1
        program.frame = frame
        program.number = number
        program.steps = len(steps)
        for i in range(program.steps):
            step = &program.step[i]
            op, tag, inline_tag, table, count, data = steps[i]
            if not 0 <= op < STEPS or tag >> 32 or inline_tag >> 32 or not 0 <= count < program.steps - i:
                raise ValueError(f"no step {steps[i]}")
            if op in (sINTERNED, sNAME) and not 0 <= table < TABLES:
                raise ValueError(f"no table {table}")
            step.op = op
            step.tag_size = <int32_t>(put(step.tag, tag) - step.tag) if tag else 0
            step.inline_tag = inline_tag
            step.table = table
            step.count = count
            depth += (op == sOPEN) - (op == sCLOSE)
            if not 0 <= depth < MAX_OPEN - 4:
                raise ValueError("messages nest too deep, or not at all")
            if data:
                literal = data
                step.literal = <uint8_t*>malloc(len(data))
                if step.literal is NULL:
                    raise MemoryError
                memcpy(step.literal, &literal[0], len(data))
                step.literal_size = len(data)
        if depth:
            raise ValueError("messages are not closed")
        if frame == fRAW and (program.steps != 1 or program.step[0].op != sTEXT):
            raise ValueError("a raw packet is one field")
        return self._program_count - 1

    def bind(self, int number, int64_t rows, columns):
        """Columns for the next `emit`, one for each step that takes any."""
        cdef Program* program
        cdef Step* step
        cdef int i, width
        cdef int64_t k, used = 0
        cdef uint64_t value
        cdef Held held, second
        if not 0 <= number < self._program_count:
            raise ValueError(f"no program {number}")
        program = &self._programs[number]
        program.rows = 0
        for i in range(program.steps):
            step = &program.step[i]
            width = WIDTHS[step.op]
            if width == 0:
                continue
            if used >= len(columns):
                raise ValueError("too few columns")
            given = columns[used]
            used += 1
            step.offsets = NULL
            step.second = NULL
            if step.op == sEACH:
                held = Held(given, 8)
                self._contiguous(held, 8)
                step.offsets = <const int64_t*>held.view.buf
                step.rows = held.view.shape[0] - 1
            elif step.op == sCHOICE or step.op == sUNION:
                held = Held(given[0], 8 if step.op == sCHOICE else 2)
                second = Held(given[1], 1 if step.op == sCHOICE else 4)
                self._buffers.append(second)
                step.second = <const uint8_t*>second.view.buf
                step.second_stride = second.view.strides[0]
                step.rows = held.view.shape[0]
                if second.view.shape[0] != step.rows:
                    raise ValueError("columns differ in length")
            elif width < 0 and isinstance(given, tuple):
                held = Held(given[0], 1)
                second = Held(given[1], 8)
                if held.view.shape[0] > 1:
                    self._contiguous(held, 1)
                self._contiguous(second, 8)
                self._buffers.append(second)
                step.size = held.view.shape[0]
                step.offsets = <const int64_t*>second.view.buf
                step.rows = second.view.shape[0] - 1
            else:
                if step.op == sRAW:
                    raise ValueError("expected a list of bytes")
                held = Held(given, 4 if width < 0 else width)
                step.rows = held.view.shape[0]
            self._buffers.append(held)
            step.data = <const uint8_t*>held.view.buf
            step.stride = held.view.strides[0]
            if step.op == sSYMBOL:
                for k in range(step.rows):
                    memcpy(&value, step.data + k * step.stride, 8)
                    self._note_symbol(value)
        if used != len(columns):
            raise ValueError("too many columns")
        program.rows = rows

    cdef int _contiguous(self, Held held, int width) except -1:
        if held.view.shape[0] == 0 or (held.view.shape[0] > 1 and held.view.strides[0] != width):
            raise ValueError("a column is not contiguous")
        return 0

    def release(self):
        """Let go of the columns that were bound."""
        cdef int i
        for i in range(self._program_count):
            self._programs[i].rows = 0
        self._buffers.clear()

    cdef int _note_symbol(self, uint64_t value) except -1:
        cdef uint64_t slot, old, i
        cdef uint64_t* grown
        if value == 0:
            return 0
        slot = (value * <uint64_t>0x9E3779B97F4A7C15) >> 32 & self._symbol_mask
        while self._symbols[slot]:
            if self._symbols[slot] == value:
                return 0
            slot = (slot + 1) & self._symbol_mask
        self._symbols[slot] = value
        self._symbol_count += 1
        self._new_symbols.append(value)
        if <uint64_t>self._symbol_count * 2 > self._symbol_mask:
            old = self._symbol_mask
            grown = <uint64_t*>calloc(2 * (old + 1), sizeof(uint64_t))
            if grown is NULL:
                raise MemoryError
            self._symbol_mask = 2 * old + 1
            for i in range(old + 1):
                if self._symbols[i]:
                    slot = (self._symbols[i] * <uint64_t>0x9E3779B97F4A7C15) >> 32 & self._symbol_mask
                    while grown[slot]:
                        slot = (slot + 1) & self._symbol_mask
                    grown[slot] = self._symbols[i]
            free(self._symbols)
            self._symbols = grown
        return 0

    def take_symbols(self):
        """The values of symbol fields that were bound for the first time since the last call."""
        values, self._new_symbols = self._new_symbols, []
        return values

    def emit(
        self,
        const int64_t[:] ts,
        const int32_t[:] program,
        const int32_t[:] row,
        const int32_t[:] thread,
        const int32_t[:] cpu,
        const int32_t[:] track,
        int64_t start,
    ):
        """Emit events that are no kernel's from `start` on until a block is full: (status, number of the next)."""
        cdef int64_t count = ts.shape[0]
        cdef int64_t at = start
        cdef int status = OK
        cdef Program* one
        self._check(ts, program, row, thread, cpu, track)
        if not 0 <= start <= count:
            raise ValueError("no such event")
        with nogil:
            while at < count and self._used < BLOCK:
                one = &self._programs[program[at]]
                if one.frame == fPACKET or one.frame == fRAW:
                    status = self._packet(one, ts[at], row[at], thread[at], track[at])
                    if status != OK:
                        break
                at += 1
        if status == NO_MEMORY:
            raise MemoryError
        return status, at

    def group(
        self, const int64_t[:] ts, const int32_t[:] program, const int32_t[:] row, const int32_t[:] thread,
        const int32_t[:] cpu, const int32_t[:] track,
    ):
        """(status, events of kernels by CPU, each CPU's in order); on BAD_CPU the number of the event."""
        cdef int64_t count = ts.shape[0]
        cdef int64_t i, total = 0
        cdef int64_t ends[MAX_CPUS + 1]
        cdef int32_t[::1] order
        cdef int frame
        self._check(ts, program, row, thread, cpu, track)
        memset(ends, 0, sizeof(ends))
        for i in range(count):
            frame = self._programs[program[i]].frame
            if frame == fFTRACE or frame == fLOST:
                if not 0 <= cpu[i] < MAX_CPUS:
                    return BAD_CPU, i
                ends[cpu[i] + 1] += 1
                total += 1
        result = np.empty(total, np.int32)
        if total == 0:
            return OK, result
        order = result
        for i in range(MAX_CPUS):
            ends[i + 1] += ends[i]
        for i in range(count):
            frame = self._programs[program[i]].frame
            if frame == fFTRACE or frame == fLOST:
                order[ends[cpu[i]]] = <int32_t>i
                ends[cpu[i]] += 1
        return OK, result

    def emit_bundles(
        self,
        const int64_t[:] ts,
        const int32_t[:] program,
        const int32_t[:] row,
        const int32_t[:] thread,
        const int32_t[:] cpu,
        const int32_t[:] track,
        const int32_t[::1] order,
        int64_t start,
    ):
        """Emit the kernel events of `group` from its number `start` on until a block is full: (status, the next)."""
        cdef int64_t count = order.shape[0]
        cdef int64_t at = start
        cdef int64_t i, events
        cdef int status = OK
        cdef int32_t one_cpu
        cdef uint8_t* out
        self._check(ts, program, row, thread, cpu, track)
        for i in range(count):
            if not 0 <= order[i] < ts.shape[0]:
                raise ValueError("no such event")
        if not 0 <= start <= count:
            raise ValueError("no such event")
        with nogil:
            while at < count and self._used < BLOCK:
                one_cpu = cpu[order[at]]
                out = self._open_bundle(one_cpu)
                if out is NULL:
                    status = NO_MEMORY
                    break
                events = 0
                i = order[at]
                if self._programs[program[i]].frame == fLOST:
                    # A bundle says with its own fields what was lost in front of it.
                    at += 1
                    if ts[i] != 0:
                        while (
                            at < count and events < BUNDLE_EVENTS and cpu[order[at]] == one_cpu
                            and self._programs[program[order[at]]].frame == fFTRACE
                            and out - (self._out + self._used) < BUNDLE_BYTES
                        ):
                            out = self._kernel_event(order[at], ts, program, row, thread, out)
                            if out is NULL:
                                break
                            events += 1
                            at += 1
                    if out is not NULL:
                        out = self._grow(out, 0)
                    if out is not NULL:
                        out[0] = 3 << 3
                        out[1] = 1
                        out[2] = 10 << 3
                        out = put(out + 3, <uint64_t>ts[i]) if ts[i] else out + 2
                else:
                    while (
                        at < count and events < BUNDLE_EVENTS and cpu[order[at]] == one_cpu
                        and self._programs[program[order[at]]].frame == fFTRACE
                        and out - (self._out + self._used) < BUNDLE_BYTES
                    ):
                        out = self._kernel_event(order[at], ts, program, row, thread, out)
                        if out is NULL:
                            break
                        events += 1
                        at += 1
                if out is NULL or self._close_bundle(out) < 0:
                    status = self._status if self._status else NO_MEMORY
                    break
        self._status = OK
        if status == NO_MEMORY:
            raise MemoryError
        return status, at

    cdef int _check(
        self, const int64_t[:] ts, const int32_t[:] program, const int32_t[:] row, const int32_t[:] thread,
        const int32_t[:] cpu, const int32_t[:] track,
    ) except -1:
        cdef int64_t count = ts.shape[0]
        cdef int64_t i
        cdef bint fine = True
        if (
            program.shape[0] != count or row.shape[0] != count or thread.shape[0] != count or cpu.shape[0] != count
            or track.shape[0] != count
        ):
            raise ValueError("columns differ in length")
        for i in range(count):
            fine &= 0 <= program[i] < self._program_count
        if not fine:
            raise ValueError("no such program")
        self._follow_strings()
        return 0

    cdef int _follow_strings(self) except -1:
        """Room for what is interned of all strings that there are."""
        cdef int64_t count = len(self._strings)
        cdef void* moved
        if count > self._interned_room:
            moved = realloc(self._interned_in, 2 * count)
            if moved is NULL:
                raise MemoryError
            self._interned_in = <uint8_t*>moved
            memset(self._interned_in + self._interned_room, 0, 2 * count - self._interned_room)
            self._interned_room = 2 * count
        self._known = count
        return 0

    # Output

    cdef uint8_t* _grow(self, uint8_t* at, int64_t size) noexcept nogil:
        """Room for `size` bytes and a margin at `at`, which it may move; NULL without memory."""
        cdef int64_t used = at - self._out
        cdef int64_t room
        cdef uint8_t* moved
        if self._out is not NULL and self._end - at >= size + MARGIN:
            return at
        room = 2 * (used + size) + 2 * BLOCK
        moved = <uint8_t*>realloc(self._out, room)
        if moved is NULL:
            self._status = NO_MEMORY
            return NULL
        self._out = moved
        self._end = moved + room
        return moved + used

    cdef inline uint8_t* _open(self, uint8_t* at) noexcept nogil:
        """A length-delimited message: a byte is kept for its size."""
        self._opened[self._depth] = at - self._out
        self._depth += 1
        return at + 1

    cdef inline uint8_t* _close(self, uint8_t* at) noexcept nogil:
        cdef uint8_t* place
        cdef int64_t size
        cdef int more
        self._depth -= 1
        place = self._out + self._opened[self._depth]
        size = at - place - 1
        if size < 0x80:
            place[0] = <uint8_t>size
            return at
        more = varint_size(<uint64_t>size) - 1
        at = self._grow(at, 0)
        if at is NULL:
            return NULL
        place = self._out + self._opened[self._depth]
        memmove(place + 1 + more, place + 1, size)
        self._put_size(place, size, 1 + more)
        return at + more

    cdef inline void _put_size(self, uint8_t* place, int64_t size, int width) noexcept nogil:
        """A size in exactly the bytes that there are for it."""
        cdef int i
        for i in range(width):
            place[i] = <uint8_t>((size >> 7 * i & 0x7F) | (0x80 if i < width - 1 else 0))

    cdef uint8_t* _open_bundle(self, int32_t cpu) noexcept nogil:
        cdef uint8_t* at = self._grow(self._out + self._used, MARGIN)
        if at is NULL:
            return NULL
        at[0] = 1 << 3 | 2
        at[1 + BUNDLE_SIZE] = 1 << 3 | 2
        at += 2 + 2 * BUNDLE_SIZE
        at[0] = 1 << 3
        return put(at + 1, <uint64_t>cpu)

    cdef int _close_bundle(self, uint8_t* at) noexcept nogil:
        """Sizes of bundle and packet, and the packet's sequence."""
        cdef uint8_t* begin
        cdef uint8_t* content
        cdef int64_t size, whole
        cdef int inner, outer
        cdef uint8_t tail[16]
        cdef uint8_t* end = tail
        at = self._grow(at, MARGIN)
        if at is NULL:
            return -1
        begin = self._out + self._used
        content = begin + 2 + 2 * BUNDLE_SIZE
        size = at - content
        end[0] = 10 << 3
        end = put(end + 1, self._sequence)
        end[0] = 13 << 3
        end[1] = 2
        end += 2
        inner = varint_size(<uint64_t>size)
        whole = 1 + inner + size + (end - tail)
        outer = varint_size(<uint64_t>whole)
        if inner + outer != 2 * BUNDLE_SIZE:
            memmove(begin + 2 + inner + outer, content, size)
        self._put_size(begin + 1, whole, outer)
        begin[1 + outer] = 1 << 3 | 2
        self._put_size(begin + 2 + outer, size, inner)
        at = begin + 2 + inner + outer + size
        memcpy(at, tail, end - tail)
        self._used = at + (end - tail) - self._out
        return 0

    cdef inline uint8_t* _kernel_event(
        self, int64_t i, const int64_t[:] ts, const int32_t[:] program, const int32_t[:] row,
        const int32_t[:] thread, uint8_t* at,
    ) noexcept nogil:
        """An FtraceEvent: timestamp, pid and then the event, which is the order that Perfetto reads fast."""
        cdef Program* one = &self._programs[program[i]]
        cdef int32_t of = thread[i]
        at = self._grow(at, MARGIN)
        if at is NULL:
            return NULL
        at[0] = 2 << 3 | 2
        at = self._open(at + 1)
        at[0] = 1 << 3
        at = put(at + 1, <uint64_t>ts[i])
        if of >= 0:
            if of >= self._threads:
                self._status = BAD_COLUMN
                return NULL
            at[0] = 2 << 3
            at = put(at + 1, <uint64_t>(<uint32_t>self._tids[of]))
        if row[i] < 0 or row[i] >= one.rows:
            self._status = BAD_COLUMN
            return NULL
        at = self._run(one, 0, one.steps, row[i], at)
        if at is NULL:
            return NULL
        return self._close(at)

    cdef int _packet(self, Program* one, int64_t ts, int32_t row, int32_t thread, int32_t track) noexcept nogil:
        cdef uint8_t* at = self._grow(self._out + self._used, MARGIN)
        cdef int64_t size = 0
        cdef int i
        if at is NULL:
            return NO_MEMORY
        if row < 0 or row >= one.rows:
            return BAD_COLUMN
        self._status = OK
        self._depth = 0
        for i in range(TABLES):
            self._interned_used[i] = 0
        if one.frame == fRAW:
            at = self._run(one, 0, one.steps, row, at)
            if at is NULL:
                return self._failed()
            self._used = at - self._out
            return OK
        at[0] = 1 << 3 | 2
        at = self._open(at + 1)
        at[0] = 8 << 3
        at = put(at + 1, <uint64_t>ts)
        at[0] = 10 << 3
        at = put(at + 1, self._sequence)
        at[0] = 11 << 3 | 2
        at = self._open(at + 1)
        # The place is asked for by a step of the program, where the number of its field puts it.
        at = self._run_placed(one, row, thread, track, at)
        if at is not NULL:
            at = self._close(at)
        for i in range(TABLES):
            size += self._interned_used[i]
        if at is not NULL and size:
            at = self._grow(at, size)
            if at is not NULL:
                at[0] = 12 << 3 | 2
                at = put(at + 1, <uint64_t>size)
                for i in range(TABLES):
                    if self._interned_used[i]:
                        memcpy(at, self._interned[i], self._interned_used[i])
                        at += self._interned_used[i]
        if at is not NULL:
            at = self._grow(at, 0)
        if at is not NULL:
            at[0] = 13 << 3
            at[1] = 2
            at = self._close(at + 2)
        if at is NULL:
            return self._failed()
        self._used = at - self._out
        return OK

    cdef int _failed(self) noexcept nogil:
        cdef int status = self._status
        self._status = OK
        return status if status else NO_MEMORY

    cdef inline uint8_t* _run_placed(
        self, Program* one, int32_t row, int32_t thread, int32_t track, uint8_t* at
    ) noexcept nogil:
        cdef int i
        cdef uint64_t uuid = 0
        for i in range(one.steps):
            if one.step[i].op == sPLACE:
                at = self._run(one, 0, i, row, at)
                if at is NULL:
                    return NULL
                if track >= 0:
                    if track >= self._tracks:
                        self._status = BAD_COLUMN
                        return NULL
                    uuid = self._track_uuids[track]
                elif thread >= 0:
                    if thread >= self._threads:
                        self._status = BAD_COLUMN
                        return NULL
                    uuid = self._thread_uuids[thread]
                if track >= 0 or thread >= 0:
                    at = self._grow(at, 0)
                    if at is NULL:
                        return NULL
                    at[0] = 11 << 3
                    at = put(at + 1, uuid)
                return self._run(one, i + 1, one.steps, row, at)
        return self._run(one, 0, one.steps, row, at)

    cdef inline uint8_t* _bytes(
        self, uint8_t* at, uint64_t tag, const uint8_t* data, int64_t size
    ) noexcept nogil:
        at = self._grow(at, size)
        if at is NULL:
            return NULL
        if size >> 31:
            self._status = TOO_LARGE
            return NULL
        if tag:
            at = put(put(at, tag), <uint64_t>size)
        memcpy(at, data, size)
        return at + size

    cdef int _intern(self, int32_t id, int table) noexcept nogil:
        """Have the packet bring a text unless one before did."""
        cdef Entry* entry
        cdef int64_t size, room
        cdef uint8_t* at
        if self._interned_in[id] >> table & 1:
            return 0
        self._interned_in[id] |= <uint8_t>(1 << table)
        entry = self._strings.entry(id)
        size = entry.size
        if self._interned_used[table] + size + MARGIN > self._interned_size[table]:
            room = 2 * (self._interned_used[table] + size) + 1024
            at = <uint8_t*>realloc(self._interned[table], room)
            if at is NULL:
                self._status = NO_MEMORY
                return -1
            self._interned[table] = at
            self._interned_size[table] = room
        at = self._interned[table] + self._interned_used[table]
        if table == 3:
            at = put(at, 29 << 3 | 2)
        else:
            at[0] = INTERNED_TAGS[table]
            at += 1
        at = put(at, <uint64_t>(1 + varint_size(<uint64_t>id + 1) + 1 + varint_size(<uint64_t>size) + size))
        at[0] = 1 << 3
        at = put(at + 1, <uint64_t>id + 1)
        at[0] = 2 << 3 | 2
        at = put(at + 1, <uint64_t>size)
        memcpy(at, entry.data, size)
        self._interned_used[table] = at + size - self._interned[table]
        return 0

    cdef uint8_t* _run(self, Program* one, int first, int last, int64_t row, uint8_t* at) noexcept nogil:
        """The steps `first` to `last` of a program for one row; NULL when that fails."""
        cdef Step* step
        cdef Entry* entry
        cdef const uint8_t* data
        cdef uint64_t value
        cdef int64_t begin, end, k
        cdef int32_t id
        cdef int16_t tag
        cdef int i = first
        cdef int which, last_option
        while i < last:
            step = &one.step[i]
            i += 1
            if self._end - at < MARGIN:
                at = self._grow(at, 0)
                if at is NULL:
                    return NULL
            if WIDTHS[step.op] != 0 and row >= step.rows:
                self._status = BAD_COLUMN
                return NULL
            data = step.data + row * step.stride
            if step.op <= sI64 or step.op == sSYMBOL:
                if step.op == sU64 or step.op == sI64 or step.op == sSYMBOL:
                    memcpy(&value, data, 8)
                elif step.op == sI32:
                    value = <uint64_t>(<int64_t>(<int32_t*>data)[0])
                elif step.op == sU32:
                    value = (<uint32_t*>data)[0]
                elif step.op == sU8:
                    value = data[0]
                elif step.op == sU16:
                    value = (<uint16_t*>data)[0]
                elif step.op == sI16:
                    value = <uint64_t>(<int64_t>(<int16_t*>data)[0])
                else:
                    value = <uint64_t>(<int64_t>(<int8_t*>data)[0])
                if step.table and value == 0:
                    # A field of the record that only says what is not usual.
                    continue
                memcpy(at, step.tag, 8)
                at = put(at + step.tag_size, value)
            elif step.op == sTEXT:
                if step.offsets is NULL:
                    id = (<int32_t*>data)[0]
                    if id < 0 or id >= self._known:
                        self._status = BAD_COLUMN
                        return NULL
                    entry = self._strings.entry(id)
                    data = entry.data
                    end = entry.size
                else:
                    begin = step.offsets[row]
                    end = step.offsets[row + 1] - begin
                    if begin < 0 or end < 0 or begin + end > step.size or end >> 31:
                        self._status = BAD_COLUMN
                        return NULL
                    data = step.data + begin
                at = self._grow(at, end)
                if at is NULL:
                    return NULL
                memcpy(at, step.tag, 8)
                at = put(at + step.tag_size, <uint64_t>end)
                memcpy(at, data, end)
                at += end
            elif step.op == sFIXED64 or step.op == sFIXED32:
                which = 8 if step.op == sFIXED64 else 4
                memcpy(at, step.tag, 8)
                memcpy(at + step.tag_size, data, which)
                at += step.tag_size + which
            elif step.op == sOPEN:
                memcpy(at, step.tag, 8)
                at = self._open(at + step.tag_size)
            elif step.op == sCLOSE:
                at = self._close(at)
                if at is NULL:
                    return NULL
            elif step.op == sLITERAL:
                at = self._bytes(at, 0, step.literal, step.literal_size)
                if at is NULL:
                    return NULL
            elif step.op == sNAME:
                # The name of an annotation: `count` would be steps, so the id is in the inline tag.
                id = <int32_t>step.inline_tag
                if id >= self._known:
                    self._status = BAD_COLUMN
                    return NULL
                if self._intern(id, step.table) < 0:
                    return NULL
                memcpy(at, step.tag, 8)
                at = put(at + step.tag_size, <uint64_t>id + 1)
            elif step.op == sINTERNED:
                if step.offsets is not NULL:
                    begin = step.offsets[row]
                    end = step.offsets[row + 1]
                    if begin < 0 or end < begin or end > step.size:
                        self._status = BAD_COLUMN
                        return NULL
                    if end > begin or step.table == 3:
                        at = self._bytes(at, step.inline_tag, step.data + begin, end - begin)
                        if at is NULL:
                            return NULL
                    continue
                id = (<int32_t*>data)[0]
                if id < 0 or id >= self._known:
                    self._status = BAD_COLUMN
                    return NULL
                if id or step.table == 3:
                    if self._intern(id, step.table) < 0:
                        return NULL
                    memcpy(at, step.tag, 8)
                    at = put(at + step.tag_size, <uint64_t>id + 1)
            elif step.op == sCHOICE:
                memcpy(&value, data, 8)
                at[0] = step.second[row * step.second_stride]
                at = put(at + 1, value)
            elif step.op == sRAW:
                begin = step.offsets[row]
                end = step.offsets[row + 1]
                if begin < 0 or end < begin or end > step.size:
                    self._status = BAD_COLUMN
                    return NULL
                at = self._bytes(at, 0, step.data + begin, end - begin)
                if at is NULL:
                    return NULL
            elif step.op == sEACH:
                begin = step.offsets[row]
                end = step.offsets[row + 1]
                if begin < 0:
                    self._status = BAD_COLUMN
                    return NULL
                for k in range(begin, end):
                    at = self._run(one, i, i + step.count, k, at)
                    if at is NULL:
                        return NULL
                i += step.count
            elif step.op == sOPTIONAL:
                if data[0]:
                    at = self._run(one, i, i + step.count, row, at)
                    if at is NULL:
                        return NULL
                i += step.count
            elif step.op == sUNION:
                memcpy(&tag, data, 2)
                memcpy(&id, step.second + row * step.second_stride, 4)
                if tag < 0 or id < 0:
                    self._status = BAD_COLUMN
                    return NULL
                # Each option is a step of its own with those of its value behind it.
                last_option = i + step.count
                which = i
                while tag > 0 and which < last_option:
                    which += 1 + one.step[which].count
                    tag -= 1
                if which >= last_option:
                    self._status = BAD_COLUMN
                    return NULL
                at = self._run(one, which + 1, which + 1 + one.step[which].count, id, at)
                if at is NULL:
                    return NULL
                i = last_option
        return at
