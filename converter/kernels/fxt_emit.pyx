# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns to FXT records: each event class has a program, run row by row in stream order into one buffer.

A record refers to strings and threads that records before it have registered. What is not registered yet when it is
met, in the middle of a record under construction, is inserted in front of that record.
"""

from cpython.buffer cimport Py_buffer, PyBUF_FORMAT, PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memmove, memset

from converter.kernels.fxt_words cimport INLINE, fxt_swap64, padded
from converter.kernels.strings cimport Entry, StringTable

cdef enum:
    STRING_SLOTS = 0x8000
    THREAD_SLOTS = 0x100
    MAX_INLINE = 0x7fff
    # Slots left when it begins to matter which ones a record under construction uses: a record uses at most 32.
    SCARCE = 64
    MAX_COLUMNS = 24
    MAX_RECORD = 32760
    # Payload bytes of a BLOB record.
    CHUNK = 32000
    # Room that a record needs at most, apart from texts and bytes.
    RESERVE = 4096
    BLOCK = 1 << 20

    SHAPE_DISCARDED = 0x03
    SHAPE_EVENT = 0x40
    SHAPE_BLOB = 0x50
    SHAPE_USERSPACE_OBJECT = 0x60
    SHAPE_KERNEL_OBJECT = 0x70
    SHAPE_LEGACY_SWITCH = 0x80
    SHAPE_SWITCH = 0x81
    SHAPE_WAKEUP = 0x82
    SHAPE_LOG = 0x90
    SHAPE_MODULE = 0xa0
    SHAPE_MAPPING = 0xa1
    SHAPE_SAMPLE = 0xa2
    SHAPE_LARGE_TIMED = 0xf0
    SHAPE_LARGE = 0xf1
    SHAPE_NATIVE = 0x100

    # `mapping.Codec`.
    NULL_VALUE = 0
    STRING = 1
    BYTES = 2
    U8 = 3
    U16 = 4
    U32 = 5
    I32 = 6
    U64 = 7
    I64 = 8
    F64 = 9
    BOOLEAN = 10
    FRAMES = 11
    PAYLOAD = 12
    UNKNOWN = 13

cpdef enum:
    OK = 0
    NO_MEMORY = -1
    TEXT_TOO_LONG = -2
    RECORD_TOO_LARGE = -3
    BAD_COLUMN = -4
    BAD_RECORD = -5

cdef int WIDTHS[14]
WIDTHS[:] = [0, 4, 1, 1, 2, 4, 4, 8, 8, 8, 1, 8, 1, 1]


cdef struct Column:
    const uint8_t* data
    int64_t stride
    # Of lists; NULL for scalars. `length` is then the number of elements.
    const int64_t* offsets
    int64_t length


cdef struct Argument:
    int32_t kind
    int32_t name
    # Once registered, for as long as slots are plenty.
    uint32_t slot


cdef struct Program:
    int32_t shape
    int32_t fields
    int32_t arguments
    bint extended
    int64_t rows
    int32_t codecs[MAX_COLUMNS]
    Column columns[MAX_COLUMNS]
    Argument names[16]


# A text as a record has it: a reference and, if that is inline, the bytes.
cdef struct Text:
    uint32_t reference
    const uint8_t* data
    int64_t length


cdef class Emitter:
    cdef StringTable _strings
    cdef bint _swap
    cdef uint8_t* _out
    cdef int64_t _used
    cdef int64_t _room
    # Where the record under construction begins, and its number.
    cdef int64_t _record
    cdef uint32_t _serial
    cdef bint _all_registered
    # The slot of each string, 0 without one; what each slot holds (plus one); the record that last used it.
    cdef uint16_t* _slots
    cdef int64_t _known
    cdef int32_t _owners[STRING_SLOTS]
    cdef uint32_t _stamps[STRING_SLOTS]
    cdef int32_t _next
    cdef int64_t _registered
    cdef bint _scarce
    cdef uint64_t* _koids
    cdef uint8_t* _thread_slots
    cdef uint8_t* _seen
    cdef int64_t _thread_count
    cdef int64_t _thread_room
    cdef int32_t _thread_owners[THREAD_SLOTS]
    cdef int32_t _next_thread
    cdef Program** _programs
    cdef int64_t _program_count
    cdef list _buffers
    cdef int32_t _process

    def __cinit__(self, StringTable strings, *, bint big_endian):
        self._strings = strings
        self._swap = big_endian
        self._next = 1
        self._next_thread = 1
        self._buffers = []
        self._process = strings.intern(b"process")

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._program_count):
            free(self._programs[i])
        free(self._programs)
        free(self._out)
        free(self._slots)
        free(self._koids)
        free(self._thread_slots)
        free(self._seen)

    @property
    def size(self):
        return self._used

    def take(self):
        """What was emitted since the last time."""
        data = PyBytes_FromStringAndSize(<const char*>self._out, self._used)
        self._used = 0
        return data

    def put(self, const uint8_t[::1] data):
        if data.shape[0]:
            if not self._ensure(data.shape[0]):
                raise MemoryError
            memcpy(self._out + self._used, &data[0], data.shape[0])
            self._used += data.shape[0]

    def add_program(self, int shape, codecs, arguments, bint extended):
        """A program for a class; its number. `arguments` are (type, string id of the name)."""
        cdef Program* program
        cdef void* moved
        cdef int i
        if len(codecs) > MAX_COLUMNS or len(arguments) > 15:
            raise ValueError("too many fields for a record")
        moved = realloc(self._programs, (self._program_count + 1) * sizeof(Program*))
        if moved is NULL:
            raise MemoryError
        self._programs = <Program**>moved
        program = <Program*>calloc(1, sizeof(Program))
        if program is NULL:
            raise MemoryError
        self._programs[self._program_count] = program
        self._program_count += 1
        program.shape = shape
        program.extended = extended
        program.fields = len(codecs)
        program.arguments = len(arguments)
        for i in range(program.fields):
            if not 0 <= codecs[i] <= UNKNOWN:
                raise ValueError(f"no codec {codecs[i]}")
            program.codecs[i] = codecs[i]
        if not shape_fits(program):
            raise ValueError(f"shape {shape:#x} does not have these fields")
        for i in range(program.arguments):
            program.names[i].kind, program.names[i].name = arguments[i]
            if not 0 <= program.names[i].name < len(self._strings):
                raise ValueError(f"no string {program.names[i].name}")
        return self._program_count - 1

    def bind(self, int number, int64_t rows, columns):
        """Columns for the next `emit`: an array each, None for nulls, or (values, offsets) for lists."""
        cdef Program* program
        cdef int i
        cdef int codec
        cdef Column* column
        if not 0 <= number < self._program_count:
            raise ValueError(f"no program {number}")
        program = self._programs[number]
        if len(columns) != program.fields:
            raise ValueError(f"{len(columns)} columns for {program.fields} fields")
        program.rows = 0
        for i in range(program.fields):
            codec = program.codecs[i]
            column = &program.columns[i]
            memset(column, 0, sizeof(Column))
            given = columns[i]
            if codec == NULL_VALUE:
                continue
            if isinstance(given, tuple):
                values, offsets = given
                if codec not in (STRING, BYTES, FRAMES, PAYLOAD, UNKNOWN):
                    raise ValueError(f"column {i} is a list")
                held = Held(values, 8 if codec == FRAMES else 1, len(values))
                ends = Held(offsets, 8, rows + 1)
                if ends.view.strides[0] != 8 or (len(values) > 1 and held.view.strides[0] != held.view.itemsize):
                    raise ValueError(f"column {i} is not contiguous")
                self._buffers.append(ends)
                column.offsets = <const int64_t*>ends.view.buf
                column.length = len(values)
            else:
                if codec in (BYTES, FRAMES, PAYLOAD, UNKNOWN):
                    raise ValueError(f"column {i} is no list")
                held = Held(given, WIDTHS[codec], rows)
                column.stride = held.view.strides[0]
            self._buffers.append(held)
            column.data = <const uint8_t*>held.view.buf
        program.rows = rows

    def add_threads(self, koids):
        """(process koid, thread koid) of the threads that follow those known."""
        cdef int64_t count = self._thread_count + len(koids)
        cdef void* moved
        cdef int64_t room
        if count > self._thread_room:
            room = count * 2 + 64
            moved = realloc(self._koids, room * 2 * sizeof(uint64_t))
            if moved is NULL:
                raise MemoryError
            self._koids = <uint64_t*>moved
            moved = realloc(self._thread_slots, room)
            if moved is NULL:
                raise MemoryError
            self._thread_slots = <uint8_t*>moved
            moved = realloc(self._seen, room)
            if moved is NULL:
                raise MemoryError
            self._seen = <uint8_t*>moved
            self._thread_room = room
        for pid, tid in koids:
            self._koids[2 * self._thread_count] = pid
            self._koids[2 * self._thread_count + 1] = tid
            self._thread_slots[self._thread_count] = 0
            self._seen[self._thread_count] = 0
            self._thread_count += 1

    def name_process(self, uint64_t koid, bytes name):
        """A kernel object record that names a process."""
        self._named(<uint64_t>7 | <uint64_t>1 << 16, koid, name, False, 0)

    def name_thread(self, int64_t thread, bytes name):
        """A kernel object record that names a thread."""
        if not 0 <= thread < self._thread_count:
            raise ValueError(f"no thread {thread}")
        self._seen[thread] = 1
        self._named(
            <uint64_t>7 | <uint64_t>2 << 16 | <uint64_t>1 << 40,
            self._koids[2 * thread + 1], name, True, self._koids[2 * thread],
        )

    def declare_threads(self):
        """Thread records for all threads that no record has mentioned."""
        cdef int64_t i
        for i in range(self._thread_count):
            if not self._seen[i]:
                self._record = self._used
                if self._thread(<int32_t>i) < 0:
                    raise MemoryError

    def emit(
        self,
        const int64_t[:] ts,
        const int32_t[:] program,
        const int32_t[:] row,
        const int32_t[:] thread,
        const int32_t[:] cpu,
        int64_t start,
    ):
        """Emit events from number `start` on until a block is full: (status, number of the next event)."""
        cdef int64_t count = ts.shape[0]
        cdef int64_t at = start
        cdef int status = OK
        if (
            program.shape[0] != count or row.shape[0] != count or thread.shape[0] != count or cpu.shape[0] != count
            or not 0 <= start <= count
        ):
            raise ValueError("columns differ in length")
        self._follow_strings()
        with nogil:
            while at < count and self._used < BLOCK:
                status = self._emit(ts[at], program[at], row[at], thread[at], cpu[at])
                if status != OK:
                    break
                at += 1
        if status == NO_MEMORY:
            raise MemoryError
        return status, at

    def release(self):
        """Let go of the columns that were bound."""
        cdef int64_t i
        for i in range(self._program_count):
            self._programs[i].rows = 0
        self._buffers.clear()

    def _named(self, uint64_t header, uint64_t koid, bytes name, bint process, uint64_t process_koid):
        cdef Text text
        cdef const uint8_t[::1] view = name
        cdef int64_t reference
        self._follow_strings()
        text.length = len(name)
        text.reference = INLINE | <uint32_t>text.length if text.length else 0
        text.data = &view[0] if text.length else NULL
        if text.length > MAX_INLINE - 64:
            raise ValueError("name too long")
        self._serial += 1
        self._record = self._used
        if not self._ensure(RESERVE + text.length):
            raise MemoryError
        self._word(header | <uint64_t>text.reference << 24)
        self._word(koid)
        self._stream(&text)
        if process:
            reference = self._string(self._process)
            if reference < 0:
                raise MemoryError
            self._word(<uint64_t>8 | <uint64_t>2 << 4 | <uint64_t>reference << 16)
            self._word(process_koid)
        self._set_size(header | <uint64_t>text.reference << 24)

    def _follow_strings(self):
        """Room for the slots of all strings there are."""
        cdef int64_t count = len(self._strings)
        cdef uint16_t* moved
        if count > self._known:
            count = count * 2
            moved = <uint16_t*>realloc(self._slots, count * sizeof(uint16_t))
            if moved is NULL:
                raise MemoryError
            memset(moved + self._known, 0, (count - self._known) * sizeof(uint16_t))
            self._slots = moved
            self._known = count

    # Output

    cdef bint _ensure(self, int64_t size) noexcept nogil:
        cdef int64_t room
        cdef uint8_t* moved
        if self._used + size <= self._room:
            return True
        room = (self._used + size) * 2
        if room < 2 * BLOCK:
            room = 2 * BLOCK
        moved = <uint8_t*>realloc(self._out, room)
        if moved is NULL:
            return False
        self._out = moved
        self._room = room
        return True

    cdef inline void _word(self, uint64_t word) noexcept nogil:
        if self._swap:
            word = fxt_swap64(word)
        memcpy(self._out + self._used, &word, 8)
        self._used += 8

    cdef inline void _bytes(self, const uint8_t* data, int64_t length) noexcept nogil:
        """A stream; the caller has ensured room for it."""
        cdef uint64_t zero = 0
        if length:
            # The last word first, so that its padding is zero.
            memcpy(self._out + self._used + padded(length) - 8, &zero, 8)
            memcpy(self._out + self._used, data, length)
            self._used += padded(length)

    cdef inline void _stream(self, Text* text) noexcept nogil:
        if text.reference & INLINE:
            self._bytes(text.data, text.length)

    cdef inline void _set_size(self, uint64_t header) noexcept nogil:
        """Write the record's header again, with the size that it now has."""
        header |= <uint64_t>((self._used - self._record) >> 3) << 4
        if self._swap:
            header = fxt_swap64(header)
        memcpy(self._out + self._record, &header, 8)

    cdef uint8_t* _insert(self, int64_t size) noexcept nogil:
        """Room for `size` bytes in front of the record under construction; NULL without memory."""
        cdef uint8_t* place
        if not self._ensure(size + RESERVE):
            return NULL
        place = self._out + self._record
        memmove(place + size, place, self._used - self._record)
        self._record += size
        self._used += size
        return place

    cdef void _store(self, uint8_t* place, uint64_t word) noexcept nogil:
        if self._swap:
            word = fxt_swap64(word)
        memcpy(place, &word, 8)

    # References

    cdef inline int64_t _string(self, int32_t id) noexcept nogil:
        """The slot of a string, registered when it has none."""
        cdef uint32_t slot
        cdef Entry* entry
        if id == 0:
            return 0
        if id < 0 or id >= self._known:
            return BAD_COLUMN
        slot = self._slots[id]
        if slot:
            if self._scarce:
                self._stamps[slot] = self._serial
            return slot
        entry = self._strings.entry(id)
        return self._register(entry.data, entry.size, id)

    cdef int64_t _register(self, const uint8_t* data, int64_t length, int32_t id) noexcept nogil:
        """Put a string into the next slot that this record does not use; `id` -1: for this record only."""
        cdef int32_t slot
        cdef uint8_t* place
        cdef uint64_t zero = 0
        if length > MAX_INLINE - 64:
            return TEXT_TOO_LONG
        place = self._insert(8 + padded(length))
        if place is NULL:
            return NO_MEMORY
        while True:
            slot = self._next
            self._next = slot + 1 if slot + 1 < STRING_SLOTS else 1
            if not self._scarce or self._stamps[slot] != self._serial:
                break
        if self._owners[slot]:
            self._slots[self._owners[slot] - 1] = 0
        self._owners[slot] = id + 1
        if id >= 0:
            self._slots[id] = <uint16_t>slot
        self._stamps[slot] = self._serial
        self._registered += 1
        self._scarce = self._registered > STRING_SLOTS - SCARCE
        self._store(
            place,
            <uint64_t>2 | <uint64_t>(1 + (padded(length) >> 3)) << 4 | <uint64_t>slot << 16 | <uint64_t>length << 32,
        )
        if length:
            memcpy(place + padded(length), &zero, 8)
            memcpy(place + 8, data, length)
        return slot

    cdef inline int _text(self, Column* column, int64_t row, Text* text) noexcept nogil:
        """The text of a string column: by its slot, or inline if it is a list of bytes."""
        cdef int64_t reference
        cdef int32_t id
        text.data = NULL
        text.length = 0
        if column.offsets is NULL:
            memcpy(&id, column.data + row * column.stride, 4)
            reference = self._string(id)
            if reference < 0:
                return <int>reference
            text.reference = <uint32_t>reference
            return OK
        if not self._span(column, row, 1, &text.data, &text.length):
            return BAD_COLUMN
        if text.length == 0:
            text.reference = 0
            return OK
        if text.length > MAX_INLINE - 64:
            return TEXT_TOO_LONG
        if self._all_registered:
            reference = self._register(text.data, text.length, -1)
            if reference < 0:
                return <int>reference
            text.reference = <uint32_t>reference
            return OK
        if not self._ensure(text.length + RESERVE):
            return NO_MEMORY
        text.reference = INLINE | <uint32_t>text.length
        return OK

    cdef inline bint _span(
        self, Column* column, int64_t row, int64_t width, const uint8_t** data, int64_t* length
    ) noexcept nogil:
        cdef int64_t start = column.offsets[row]
        cdef int64_t end = column.offsets[row + 1]
        if start < 0 or end < start or end > column.length:
            return False
        data[0] = column.data + start * width
        length[0] = (end - start) * width
        return True

    cdef inline int _thread(self, int32_t thread) noexcept nogil:
        """The slot of a thread, registered when it has none; 0 for no thread."""
        cdef int slot
        cdef uint8_t* place
        if thread < 0:
            return 0
        if thread >= self._thread_count:
            return BAD_COLUMN
        slot = self._thread_slots[thread]
        if slot:
            return slot
        place = self._insert(24)
        if place is NULL:
            return NO_MEMORY
        slot = self._next_thread
        self._next_thread = slot + 1 if slot + 1 < THREAD_SLOTS else 1
        if self._thread_owners[slot]:
            self._thread_slots[self._thread_owners[slot] - 1] = 0
        self._thread_owners[slot] = thread + 1
        self._thread_slots[thread] = <uint8_t>slot
        self._seen[thread] = 1
        self._store(place, <uint64_t>3 | <uint64_t>3 << 4 | <uint64_t>slot << 16)
        self._store(place + 8, self._koids[2 * thread])
        self._store(place + 16, self._koids[2 * thread + 1])
        return slot

    # Columns

    cdef inline uint64_t _integer(self, Program* program, int index, int64_t row) noexcept nogil:
        cdef const uint8_t* at = program.columns[index].data + row * program.columns[index].stride
        cdef int codec = program.codecs[index]
        cdef uint64_t wide
        cdef uint32_t narrow
        cdef uint16_t half
        if codec >= U64 and codec <= F64:
            memcpy(&wide, at, 8)
            return wide
        if codec == U32 or codec == I32:
            memcpy(&narrow, at, 4)
            return narrow
        if codec == U16:
            memcpy(&half, at, 2)
            return half
        return at[0]

    # Records

    cdef int _emit(self, int64_t ts, int32_t number, int64_t row, int32_t thread, int32_t cpu) noexcept nogil:
        cdef Program* program
        cdef int status
        cdef int64_t begin = self._used
        if number < 0 or number >= self._program_count:
            return BAD_COLUMN
        program = self._programs[number]
        if row < 0 or row >= program.rows:
            return BAD_COLUMN
        self._record = begin
        self._serial += 1
        if not self._ensure(RESERVE):
            return NO_MEMORY
        status = self._run(program, ts, row, thread, cpu)
        if status == RECORD_TOO_LARGE and program.shape != SHAPE_NATIVE:
            # Once more, with all its texts in slots. What was inserted before stays.
            self._used = self._record
            self._all_registered = True
            status = self._run(program, ts, row, thread, cpu)
            self._all_registered = False
        if status != OK:
            self._used = self._record
        return status

    cdef int _run(self, Program* program, int64_t ts, int64_t row, int32_t thread, int32_t cpu) noexcept nogil:
        cdef int shape = program.shape
        if shape >> 4 == 4:
            return self._event(program, ts, row, thread)
        if shape == SHAPE_SWITCH or shape == SHAPE_WAKEUP:
            return self._scheduling(program, ts, row, cpu)
        if shape == SHAPE_LEGACY_SWITCH:
            return self._legacy_switch(program, ts, row, cpu)
        if shape == SHAPE_LOG:
            return self._log(program, ts, row, thread)
        if shape == SHAPE_BLOB:
            return self._blob(program, row)
        if shape == SHAPE_USERSPACE_OBJECT or shape == SHAPE_KERNEL_OBJECT:
            return self._object(program, row)
        if shape == SHAPE_MODULE or shape == SHAPE_MAPPING or shape == SHAPE_SAMPLE:
            return self._profiler(program, ts, row, thread)
        if shape == SHAPE_LARGE or shape == SHAPE_LARGE_TIMED:
            return self._large(program, ts, row, thread)
        if shape == SHAPE_DISCARDED:
            return self._discarded(program, row)
        return self._native(program, row)

    cdef int _event(self, Program* program, int64_t ts, int64_t row, int32_t thread) noexcept nogil:
        cdef Text name, category
        cdef uint64_t kind = program.shape & 15
        cdef bint tailed = kind == 1 or kind >= 4
        cdef uint64_t header
        cdef int slot
        cdef int status = self._text(&program.columns[0], row, &name)
        if status != OK:
            return status
        status = self._text(&program.columns[1], row, &category)
        if status != OK:
            return status
        slot = self._thread(thread)
        if slot < 0:
            return slot
        header = (
            <uint64_t>4 | kind << 16 | <uint64_t>program.arguments << 20 | <uint64_t>slot << 24
            | <uint64_t>category.reference << 32 | <uint64_t>name.reference << 48
        )
        self._time(header, ts, slot)
        if category.reference & INLINE:
            if not self._ensure(category.length + RESERVE):
                return NO_MEMORY
            self._bytes(category.data, category.length)
        if name.reference & INLINE:
            if not self._ensure(name.length + RESERVE):
                return NO_MEMORY
            self._bytes(name.data, name.length)
        status = self._arguments(program, 3 if tailed else 2, row)
        if status != OK:
            return status
        if tailed:
            if kind == 4:
                self._word(<uint64_t>ts + self._integer(program, 2, row))
            else:
                self._word(self._integer(program, 2, row))
        return self._finish(program, header, row)

    cdef inline void _time(self, uint64_t header, int64_t ts, int slot) noexcept nogil:
        self._word(header)
        self._word(<uint64_t>ts)
        if slot == 0:
            self._word(0)
            self._word(0)

    cdef int _finish(self, Program* program, uint64_t header, int64_t row) noexcept nogil:
        """Add the extension, if there is one, and the record's size."""
        cdef const uint8_t* data
        cdef int64_t length
        if program.extended:
            if not self._span(&program.columns[program.fields - 1], row, 1, &data, &length):
                return BAD_COLUMN
            if not self._ensure(length + RESERVE):
                return NO_MEMORY
            self._bytes(data, length)
        if self._used - self._record > MAX_RECORD:
            return RECORD_TOO_LARGE
        self._set_size(header)
        return OK

    cdef int _arguments(self, Program* program, int index, int64_t row) noexcept nogil:
        cdef int i
        cdef int status, codec
        cdef int64_t name
        cdef uint64_t header
        cdef uint32_t upper
        cdef Argument* argument
        cdef Column* column
        cdef Text text
        cdef const uint8_t* data
        cdef int64_t length
        for i in range(program.arguments):
            argument = &program.names[i]
            column = &program.columns[index]
            codec = program.codecs[index]
            if self._scarce or argument.slot == 0:
                name = self._string(argument.name)
                if name < 0:
                    return <int>name
                argument.slot = <uint32_t>name
            header = <uint64_t>argument.kind | <uint64_t>argument.slot << 16
            if codec == U32 or codec == I32 or codec == BOOLEAN:
                self._word(header | <uint64_t>1 << 4 | self._integer(program, index, row) << 32)
            elif codec >= U64 and codec <= F64:
                self._word(header | <uint64_t>2 << 4)
                self._word(self._integer(program, index, row))
            elif codec == STRING:
                status = self._text(column, row, &text)
                if status != OK:
                    return status
                length = 0
                if text.reference & INLINE:
                    if not self._ensure(text.length + RESERVE):
                        return NO_MEMORY
                    length = padded(text.length)
                self._word(header | <uint64_t>(1 + (length >> 3)) << 4 | <uint64_t>text.reference << 32)
                self._stream(&text)
            elif codec == NULL_VALUE:
                self._word(header | <uint64_t>1 << 4)
            else:
                if not self._span(column, row, 1, &data, &length):
                    return BAD_COLUMN
                upper = <uint32_t>length
                if codec == UNKNOWN:
                    upper = 0
                    memcpy(&upper, data, 4 if length > 4 else length)
                    data += 4
                    length = length - 4 if length > 4 else 0
                if length > MAX_RECORD:
                    return RECORD_TOO_LARGE
                if not self._ensure(length + RESERVE):
                    return NO_MEMORY
                self._word(header | <uint64_t>(1 + (padded(length) >> 3)) << 4 | <uint64_t>upper << 32)
                self._bytes(data, length)
            index += 1
        return OK

    cdef int _scheduling(self, Program* program, int64_t ts, int64_t row, int32_t cpu) noexcept nogil:
        cdef uint64_t header = (
            <uint64_t>8 | <uint64_t>program.arguments << 16 | <uint64_t>(cpu & 0xffff) << 20
            | <uint64_t>(program.shape & 15) << 60
        )
        cdef int first = 1
        cdef int status
        if program.shape == SHAPE_SWITCH:
            header |= (self._integer(program, 2, row) & 15) << 36
            first = 3
        self._word(header)
        self._word(<uint64_t>ts)
        self._word(self._integer(program, 0, row))
        if program.shape == SHAPE_SWITCH:
            self._word(self._integer(program, 1, row))
        status = self._arguments(program, first, row)
        if status != OK:
            return status
        return self._finish(program, header, row)

    cdef int _legacy_switch(self, Program* program, int64_t ts, int64_t row, int32_t cpu) noexcept nogil:
        cdef uint64_t header = (
            <uint64_t>8 | <uint64_t>(cpu & 0xff) << 16 | (self._integer(program, 2, row) & 15) << 24
            | self._integer(program, 5, row) << 44 | self._integer(program, 6, row) << 52
        )
        self._word(header)
        self._word(<uint64_t>ts)
        self._word(self._integer(program, 3, row))
        self._word(self._integer(program, 0, row))
        self._word(self._integer(program, 4, row))
        self._word(self._integer(program, 1, row))
        return self._finish(program, header, row)

    cdef int _log(self, Program* program, int64_t ts, int64_t row, int32_t thread) noexcept nogil:
        cdef Column* column = &program.columns[0]
        cdef const uint8_t* data
        cdef int64_t length
        cdef int32_t id
        cdef uint64_t header
        cdef int slot = self._thread(thread)
        if slot < 0:
            return slot
        if column.offsets is NULL:
            memcpy(&id, column.data + row * column.stride, 4)
            if id < 0 or id >= self._known:
                return BAD_COLUMN
            data = self._strings.entry(id).data
            length = self._strings.entry(id).size
        elif not self._span(column, row, 1, &data, &length):
            return BAD_COLUMN
        if length > MAX_INLINE:
            return TEXT_TOO_LONG
        if not self._ensure(length + RESERVE):
            return NO_MEMORY
        header = <uint64_t>9 | <uint64_t>length << 16 | <uint64_t>slot << 32
        self._time(header, ts, slot)
        self._bytes(data, length)
        return self._finish(program, header, row)

    cdef int _blob(self, Program* program, int64_t row) noexcept nogil:
        cdef Text name
        cdef const uint8_t* data
        cdef int64_t length, part
        cdef uint64_t header
        cdef int status
        if not self._span(&program.columns[2], row, 1, &data, &length):
            return BAD_COLUMN
        while True:
            status = self._text(&program.columns[0], row, &name)
            if status != OK:
                return status
            # A record goes on in further ones of the same name ("BLOB record").
            part = CHUNK if length > CHUNK else length
            if not self._ensure(name.length + part + RESERVE):
                return NO_MEMORY
            header = (
                <uint64_t>5 | <uint64_t>name.reference << 16 | <uint64_t>part << 32
                | self._integer(program, 1, row) << 48
            )
            self._word(header)
            self._stream(&name)
            self._bytes(data, part)
            status = self._finish(program, header, row)
            if status != OK:
                return status
            data += part
            length -= part
            if length == 0:
                return OK
            self._record = self._used

    cdef int _object(self, Program* program, int64_t row) noexcept nogil:
        cdef bint userspace = program.shape == SHAPE_USERSPACE_OBJECT
        cdef Text name
        cdef uint64_t header
        cdef int status = self._text(&program.columns[1 if userspace else 2], row, &name)
        if status != OK:
            return status
        header = (
            <uint64_t>(6 if userspace else 7) | <uint64_t>name.reference << 24 | <uint64_t>program.arguments << 40
        )
        if userspace:
            self._word(header)
            self._word(self._integer(program, 0, row))
            self._word(self._integer(program, 2, row))
        else:
            header |= self._integer(program, 0, row) << 16
            self._word(header)
            self._word(self._integer(program, 1, row))
        self._stream(&name)
        status = self._arguments(program, 3, row)
        if status != OK:
            return status
        return self._finish(program, header, row)

    cdef int _profiler(self, Program* program, int64_t ts, int64_t row, int32_t thread) noexcept nogil:
        cdef uint64_t header = <uint64_t>10 | <uint64_t>(program.shape & 15) << 16
        cdef const uint8_t* data
        cdef const uint8_t* name
        cdef int64_t length, name_length, at
        cdef int32_t id
        cdef uint64_t frame
        cdef int slot = self._thread(thread)
        if slot < 0:
            return slot
        header |= <uint64_t>slot << 20
        if program.shape == SHAPE_SAMPLE:
            if not self._span(&program.columns[0], row, 8, &data, &length):
                return BAD_COLUMN
            if length > 255 * 8:
                return RECORD_TOO_LARGE
            header |= <uint64_t>(length >> 3) << 28
            self._time(header, ts, slot)
            for at in range(0, length, 8):
                memcpy(&frame, data + at, 8)
                self._word(frame)
            return self._finish(program, header, row)
        header |= self._integer(program, 0, row) << 28
        if program.shape == SHAPE_MAPPING:
            header |= (self._integer(program, 1, row) & 7) << 44
            self._time(header, ts, slot)
            self._word(self._integer(program, 2, row))
            self._word(self._integer(program, 3, row))
            self._word(self._integer(program, 4, row))
            return self._finish(program, header, row)
        if program.columns[1].offsets is NULL:
            memcpy(&id, program.columns[1].data + row * program.columns[1].stride, 4)
            if id < 0 or id >= self._known:
                return BAD_COLUMN
            name = self._strings.entry(id).data
            name_length = self._strings.entry(id).size
        elif not self._span(&program.columns[1], row, 1, &name, &name_length):
            return BAD_COLUMN
        if not self._span(&program.columns[2], row, 1, &data, &length):
            return BAD_COLUMN
        if name_length > 255 or length > 255:
            return TEXT_TOO_LONG
        header |= <uint64_t>name_length << 44 | <uint64_t>length << 52
        self._time(header, ts, slot)
        self._bytes(name, name_length)
        self._bytes(data, length)
        return self._finish(program, header, row)

    cdef int _large(self, Program* program, int64_t ts, int64_t row, int32_t thread) noexcept nogil:
        cdef bint timed = program.shape == SHAPE_LARGE_TIMED
        cdef Text name, category
        cdef const uint8_t* data
        cdef int64_t length
        cdef int slot = 0
        cdef int status
        cdef uint64_t header = <uint64_t>15 | <uint64_t>(0 if timed else 1) << 40
        cdef bint extended = program.extended
        # Texts in slots: their inline form gains nothing in a record of this size.
        self._all_registered = True
        status = self._text(&program.columns[0], row, &name)
        if status == OK:
            status = self._text(&program.columns[1], row, &category)
        if status == OK and timed:
            slot = self._thread(thread)
            status = slot if slot < 0 else OK
        if status == OK:
            self._word(header)
            self._word(
                <uint64_t>category.reference | <uint64_t>name.reference << 16
                | <uint64_t>(program.arguments if timed else 0) << 32 | <uint64_t>slot << 36
            )
            if timed:
                self._word(<uint64_t>ts)
                if slot == 0:
                    self._word(0)
                    self._word(0)
                status = self._arguments(program, 3, row)
        self._all_registered = False
        if status != OK:
            return status
        if not self._span(&program.columns[2], row, 1, &data, &length):
            return BAD_COLUMN
        if length >> 34:
            return RECORD_TOO_LARGE
        if not self._ensure(length + RESERVE):
            return NO_MEMORY
        self._word(<uint64_t>length)
        self._bytes(data, length)
        if extended:
            if not self._span(&program.columns[program.fields - 1], row, 1, &data, &length):
                return BAD_COLUMN
            if not self._ensure(length + RESERVE):
                return NO_MEMORY
            self._bytes(data, length)
        self._set_size(header)
        return OK

    cdef int _discarded(self, Program* program, int64_t row) noexcept nogil:
        cdef uint64_t header = <uint64_t>3 << 16 | self._integer(program, 0, row) << 20
        self._word(header)
        return self._finish(program, header, row)

    cdef int _native(self, Program* program, int64_t row) noexcept nogil:
        """A whole record, whose header is little-endian here."""
        cdef const uint8_t* data
        cdef int64_t length
        cdef uint64_t header
        cdef uint64_t words
        if not self._span(&program.columns[1], row, 1, &data, &length):
            return BAD_COLUMN
        if length < 8 or length & 7:
            return BAD_RECORD
        memcpy(&header, data, 8)
        words = <uint32_t>(header >> 4) if header & 15 == 15 else (header >> 4) & 0xfff
        if words != <uint64_t>(length >> 3) or header & 15 != self._integer(program, 0, row):
            return BAD_RECORD
        if not self._ensure(length + RESERVE):
            return NO_MEMORY
        self._word(header)
        self._bytes(data + 8, length - 8)
        return OK


cdef bint shape_fits(Program* program) noexcept:
    """Whether a program has the fixed fields that its shape's code reads, and one for each argument."""
    cdef int shape = program.shape
    cdef int tail = shape & 15
    cdef int fixed
    cdef int* wanted
    cdef int[7] event_fields = [STRING, STRING, U64, 0, 0, 0, 0]
    cdef int[7] blob = [STRING, U8, PAYLOAD, 0, 0, 0, 0]
    cdef int[7] userspace = [U64, STRING, U64, 0, 0, 0, 0]
    cdef int[7] kernel = [U8, U64, STRING, 0, 0, 0, 0]
    cdef int[7] switch = [U64, U64, U8, U64, U64, U8, U8]
    cdef int[7] message = [STRING, 0, 0, 0, 0, 0, 0]
    cdef int[7] module = [U16, STRING, BYTES, 0, 0, 0, 0]
    cdef int[7] mapping = [U16, U8, U64, U64, U64, 0, 0]
    cdef int[7] sample = [FRAMES, 0, 0, 0, 0, 0, 0]
    cdef int[7] large = [STRING, STRING, PAYLOAD, 0, 0, 0, 0]
    cdef int[7] provider = [U32, 0, 0, 0, 0, 0, 0]
    cdef int[7] native = [U8, PAYLOAD, 0, 0, 0, 0, 0]
    cdef int i
    if shape >> 4 == 4 and tail <= 10:
        wanted, fixed = event_fields, 3 if tail == 1 or tail >= 4 else 2
        if tail == 4:
            event_fields[2] = I64
    elif shape == SHAPE_BLOB:
        wanted, fixed = blob, 3
    elif shape == SHAPE_USERSPACE_OBJECT:
        wanted, fixed = userspace, 3
    elif shape == SHAPE_KERNEL_OBJECT:
        wanted, fixed = kernel, 3
    elif shape == SHAPE_LEGACY_SWITCH:
        wanted, fixed = switch, 7
    elif shape == SHAPE_SWITCH:
        wanted, fixed = switch, 3
    elif shape == SHAPE_WAKEUP:
        wanted, fixed = switch, 1
    elif shape == SHAPE_LOG:
        wanted, fixed = message, 1
    elif shape == SHAPE_MODULE:
        wanted, fixed = module, 3
    elif shape == SHAPE_MAPPING:
        wanted, fixed = mapping, 5
    elif shape == SHAPE_SAMPLE:
        wanted, fixed = sample, 1
    elif shape == SHAPE_LARGE or shape == SHAPE_LARGE_TIMED:
        wanted, fixed = large, 3
    elif shape == SHAPE_DISCARDED:
        wanted, fixed = provider, 1
    elif shape == SHAPE_NATIVE:
        wanted, fixed = native, 2
    else:
        return False
    if program.fields != fixed + program.arguments + (1 if program.extended else 0):
        return False
    for i in range(fixed):
        if program.codecs[i] != wanted[i]:
            return False
    for i in range(fixed, program.fields):
        if program.codecs[i] in (U8, U16, FRAMES, PAYLOAD):
            return False
    return not program.extended or program.codecs[program.fields - 1] == BYTES


cdef class Held:
    """A buffer of the wanted element size and at least `count` elements, held as long as this is."""
    cdef Py_buffer view
    cdef bint filled

    def __cinit__(self, array, int width, int64_t count):
        PyObject_GetBuffer(array, &self.view, PyBUF_STRIDES | PyBUF_FORMAT)
        self.filled = True
        if self.view.ndim != 1 or self.view.itemsize != width or self.view.shape[0] < count:
            raise ValueError(f"expected {count} elements of {width} bytes")

    def __dealloc__(self):
        if self.filled:
            PyBuffer_Release(&self.view)
