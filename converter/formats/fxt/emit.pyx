# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns to FXT records: each event class has a program, run row by row in stream order into one buffer.

A record refers to strings and threads that records before it have registered. What is not registered yet when it is
met, in the middle of a record under construction, is inserted in front of that record. Several emitters emit for one
provider at the same time, each a part of a batch: until one comes to what is not registered, which it must wait for.
"""


from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

import numpy as np

from converter.formats.fxt.emit_records cimport (
    Emission, Text, emit_blob, emit_discarded, emit_event, emit_large, emit_legacy_switch, emit_log, emit_native,
    emit_object, emit_profiler, emit_scheduling, put_text, thread_slot,
)
from converter.formats.fxt.emit_output cimport BLOCK, Records, begin_record, put_word, reserve, set_size
from converter.formats.fxt.emit_programs cimport CODEC_UNKNOWN, MAX_ARGUMENTS, MAX_COLUMNS, Program, has_thread, shape_fits
from converter.formats.fxt.emit_slots cimport (
    NEWLY, StringSlots, ThreadSlots, next_thread_slot, register_string, slots_forget, slots_free, string_slot,
    strings_follow, thread_add,
)
from converter.formats.fxt.words cimport (
    EVENT, INLINE, KERNEL_OBJECT, MAX_RECORD, SHAPE_BLOB, SHAPE_DISCARDED, SHAPE_KERNEL_OBJECT, SHAPE_LARGE,
    SHAPE_LARGE_TIMED, SHAPE_LEGACY_SWITCH, SHAPE_LOG, SHAPE_MAPPING, SHAPE_MODULE, SHAPE_NATIVE, SHAPE_SAMPLE,
    SHAPE_SWITCH, SHAPE_USERSPACE_OBJECT, SHAPE_WAKEUP, rarely,
)
from converter.kernels.column_view cimport TAKES_BYTES, TAKES_NOTHING, TAKES_SCALAR, TAKES_TEXT, Takes
from converter.kernels.columns cimport BoundColumns
from converter.kernels.output cimport Blocks, put_bytes
from converter.kernels.strings cimport StringTable

cdef enum:
    OBJECT_PROCESS = 1
    OBJECT_THREAD = 2
    ARGUMENT_KOID = 8

# What each codec takes, and the bytes of its elements.
cdef Takes[CODEC_UNKNOWN + 1] TAKES
TAKES[:] = [
    TAKES_NOTHING, TAKES_TEXT, TAKES_BYTES, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR,
    TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_BYTES, TAKES_BYTES, TAKES_BYTES,
]
cdef int[CODEC_UNKNOWN + 1] WIDTHS
WIDTHS[:] = [0, 4, 1, 1, 2, 4, 4, 8, 8, 8, 1, 8, 1, 1]


cdef class Provider:
    cdef StringTable _names
    cdef StringSlots _strings
    cdef ThreadSlots _threads
    cdef bint _big_endian
    cdef Program* _programs
    cdef int64_t _program_count
    cdef list _columns
    # Of the batch: what is known of its events, and the slots of their threads.
    cdef const int64_t[:] _ts
    cdef const int32_t[:] _program
    cdef const int32_t[:] _row
    cdef const int32_t[:] _thread
    cdef const int32_t[:] _cpu
    cdef const int16_t[::1] _slot

    def __cinit__(self, StringTable strings not None, *, bint big_endian):
        self._names = strings
        self._big_endian = big_endian
        self._columns = []

    def __dealloc__(self):
        free(self._programs)
        slots_free(&self._strings, &self._threads)

    @property
    def slots_taken(self):
        return self._strings.taken

    def add_program(self, int shape, codecs, arguments, bint extended):
        """A program for a class; its number. `arguments` are (type, string id of the name)."""
        cdef Program program
        cdef BoundColumns columns
        cdef void* moved
        cdef int i
        memset(&program, 0, sizeof(Program))
        if len(codecs) > MAX_COLUMNS or len(arguments) > MAX_ARGUMENTS:
            raise ValueError("too many fields for a record")
        program.shape = shape
        program.extended = extended
        program.fields = len(codecs)
        program.arguments = len(arguments)
        for i in range(program.fields):
            if not 0 <= codecs[i] <= CODEC_UNKNOWN:
                raise ValueError(f"no codec {codecs[i]}")
            program.codecs[i] = codecs[i]
        if not shape_fits(&program):
            raise ValueError(f"shape {shape:#x} does not have these fields")
        for i in range(program.arguments):
            program.names[i].kind, program.names[i].name = arguments[i]
            if not 0 <= program.names[i].kind <= 15:
                raise ValueError(f"no argument type {program.names[i].kind}")
            if not 0 <= program.names[i].name < len(self._names):
                raise ValueError(f"no string {program.names[i].name}")
        columns = BoundColumns(program.fields)
        program.views = columns.views
        moved = realloc(self._programs, (self._program_count + 1) * sizeof(Program))
        if moved is NULL:
            raise MemoryError
        self._programs = <Program*>moved
        self._programs[self._program_count] = program
        self._columns.append(columns)
        self._program_count += 1
        return self._program_count - 1

    def bind(self, int number, int64_t rows, columns):
        """Columns for the next `emit`: an array each, None for nulls, or (values, offsets) for lists."""
        cdef Program* program
        cdef BoundColumns bound
        cdef int i
        if not 0 <= number < self._program_count:
            raise ValueError(f"no program {number}")
        if rows < 0:
            raise ValueError(f"{rows} rows")
        program = &self._programs[number]
        if len(columns) != program.fields:
            raise ValueError(f"{len(columns)} columns for {program.fields} fields")
        program.rows = 0
        bound = self._columns[number]
        bound.release()
        for i in range(program.fields):
            bound.bind(i, TAKES[program.codecs[i]], WIDTHS[program.codecs[i]], columns[i], rows)
        program.rows = rows

    def add_threads(self, koids):
        """(process koid, thread koid) of the threads that follow those known."""
        for pid, tid in koids:
            if not thread_add(&self._threads, pid, tid):
                raise MemoryError

    def forget_slots(self):
        """Register anew what the next records refer to."""
        cdef int64_t i
        cdef int j
        for i in range(self._program_count):
            for j in range(self._programs[i].arguments):
                self._programs[i].names[j].header = 0
        slots_forget(&self._strings, &self._threads)

    def begin(
        self,
        const int64_t[:] ts,
        const int32_t[:] program,
        const int32_t[:] row,
        const int32_t[:] thread,
        const int32_t[:] cpu,
    ):
        """The events of the next batch, whose columns are bound."""
        cdef int64_t count = ts.shape[0]
        cdef int64_t i
        if program.shape[0] != count or row.shape[0] != count or thread.shape[0] != count or cpu.shape[0] != count:
            raise ValueError("columns differ in length")
        self._follow_strings()
        slots = np.zeros(count, np.int16)
        cdef int16_t[::1] slot = slots
        with nogil:
            for i in range(count):
                if 0 <= program[i] < self._program_count and has_thread(&self._programs[program[i]]):
                    slot[i] = next_thread_slot(&self._threads, thread[i])
        self._ts, self._program, self._row, self._thread, self._cpu, self._slot = ts, program, row, thread, cpu, slots

    def release(self):
        """Let go of the columns that were bound."""
        cdef int64_t i
        for i in range(self._program_count):
            self._programs[i].rows = 0
            (<BoundColumns>self._columns[i]).release()
        self._ts = self._program = self._row = self._thread = self._cpu = self._slot = None

    cdef int _follow_strings(self) except -1:
        """Room for the slots of all strings there are."""
        if not strings_follow(&self._strings, len(self._names)):
            raise MemoryError
        return 0


cdef class Emitter:
    cdef Provider _provider
    cdef Emission _emission
    cdef Blocks _blocks
    cdef int32_t _process

    def __cinit__(self, Provider provider not None):
        self._provider = provider
        self._blocks = Blocks()
        self._emission.records.swap = provider._big_endian
        self._emission.strings = &provider._strings
        self._emission.threads = &provider._threads
        self._process = provider._names.intern(b"process")

    def __dealloc__(self):
        free(self._emission.records.out.data)

    @property
    def size(self):
        return self._emission.records.out.used

    def take(self):
        """What was emitted since the last time."""
        return self._blocks.hand_over(&self._emission.records.out)

    def put(self, const uint8_t[::1] data):
        if data.shape[0]:
            if not reserve(&self._emission.records, data.shape[0]):
                raise MemoryError
            put_bytes(&self._emission.records.out, &data[0], data.shape[0])

    def name_process(self, uint64_t koid, bytes name):
        """A kernel object record that names a process."""
        self._name(OBJECT_PROCESS, koid, 0, name)

    def name_thread(self, int64_t thread, bytes name):
        """A kernel object record that names a thread."""
        cdef const uint64_t* koids = self._provider._threads.koids
        if not 0 <= thread < self._provider._threads.count:
            raise ValueError(f"no thread {thread}")
        self._name(OBJECT_THREAD, koids[2 * thread + 1], koids[2 * thread], name)
        self._provider._threads.seen[thread] = 1

    def declare_threads(self):
        """Thread records for all threads that no record has mentioned."""
        cdef Emission* to = &self._emission
        cdef int64_t i
        for i in range(to.threads.count):
            if not to.threads.seen[i]:
                begin_record(&to.records)
                to.thread = <int32_t>i
                to.slot = next_thread_slot(to.threads, to.thread)
                if thread_slot(to) < 0:
                    raise MemoryError

    def emit(self, int64_t start, int64_t stop, bint follows):
        """Emit events from number `start` on until a block is full: (status, number of the next event)."""
        cdef int64_t at = start
        cdef int status = OK
        if self._provider._ts is None or not 0 <= start <= stop <= self._provider._ts.shape[0]:
            raise ValueError(f"events {start} to {stop} of a batch without them")
        with nogil:
            self._emission.follows = follows
            while at < stop and self._emission.records.out.used < BLOCK:
                status = self._emit(at)
                if status != OK:
                    break
                at += 1
        if status == NO_MEMORY:
            raise MemoryError
        return status, at

    def _name(self, int kind, uint64_t koid, uint64_t process_koid, bytes name):
        cdef Emission* to = &self._emission
        cdef Records* out = &to.records
        cdef const uint8_t[::1] view = name
        cdef Text text
        cdef int64_t reference = 0
        cdef int64_t of_process = 0
        cdef uint64_t header
        self._provider._follow_strings()
        to.follows = True
        text.length = view.shape[0]
        text.data = &view[0] if text.length else NULL
        to.strings.record += 1
        begin_record(out)
        if text.length > MAX_RECORD - 32:
            reference = register_string(to.strings, out, text.data, text.length, -1)
            if reference == TEXT_TOO_LONG:
                raise ValueError("name too long")
        elif text.length:
            reference = INLINE | text.length
        if kind == OBJECT_THREAD:
            of_process = string_slot(to.strings, out, self._provider._names, self._process, True)
        if reference < 0 or of_process < 0 or not reserve(out, text.length):
            raise MemoryError
        text.reference = <uint32_t>reference
        header = KERNEL_OBJECT | <uint64_t>kind << 16 | <uint64_t>text.reference << 24
        if kind == OBJECT_THREAD:
            header |= <uint64_t>1 << 40
        put_word(out, header)
        put_word(out, koid)
        put_text(out, &text)
        if kind == OBJECT_THREAD:
            put_word(out, ARGUMENT_KOID | <uint64_t>2 << 4 | <uint64_t>of_process << 16)
            put_word(out, process_koid)
        set_size(out, header)

    cdef int _emit(self, int64_t event) noexcept nogil:
        cdef Emission* to = &self._emission
        cdef int32_t number = self._provider._program[event]
        cdef int64_t row = self._provider._row[event]
        cdef int64_t ts = self._provider._ts[event]
        cdef int32_t cpu = self._provider._cpu[event]
        cdef int64_t start = to.records.out.used
        cdef Program* program
        cdef int status
        if number < 0 or number >= self._provider._program_count:
            return BAD_COLUMN
        program = &self._provider._programs[number]
        if row < 0 or row >= program.rows:
            return BAD_COLUMN
        to.thread = self._provider._thread[event]
        to.slot = self._provider._slot[event]
        begin_record(&to.records)
        if to.follows:
            to.strings.record += 1
        if not reserve(&to.records, 0):
            return NO_MEMORY
        status = self._run(program, ts, row, cpu)
        if rarely(status == RECORD_TOO_LARGE) and program.shape != SHAPE_NATIVE:
            # Once more, with all its texts in slots. What was inserted before stays.
            to.records.out.used = to.records.begin
            to.all_registered = True
            status = self._run(program, ts, row, cpu)
            to.all_registered = False
        if status != OK:
            # With what was inserted: the record is made again, or never.
            to.records.out.used = start
        return status

    cdef int _run(
        self, Program* program, int64_t ts, int64_t row, int32_t cpu
    ) noexcept nogil:
        cdef Emission* to = &self._emission
        cdef int shape = program.shape
        if shape >> 4 == EVENT:
            return emit_event(to, self._provider._names, program, ts, row)
        if shape == SHAPE_SWITCH or shape == SHAPE_WAKEUP:
            return emit_scheduling(to, self._provider._names, program, ts, row, cpu)
        if shape == SHAPE_LEGACY_SWITCH:
            return emit_legacy_switch(to, program, ts, row, cpu)
        if shape == SHAPE_LOG:
            return emit_log(to, self._provider._names, program, ts, row)
        if shape == SHAPE_BLOB:
            return emit_blob(to, self._provider._names, program, row)
        if shape == SHAPE_USERSPACE_OBJECT or shape == SHAPE_KERNEL_OBJECT:
            return emit_object(to, self._provider._names, program, row)
        if shape == SHAPE_MODULE or shape == SHAPE_MAPPING or shape == SHAPE_SAMPLE:
            return emit_profiler(to, self._provider._names, program, ts, row)
        if shape == SHAPE_LARGE or shape == SHAPE_LARGE_TIMED:
            return emit_large(to, self._provider._names, program, ts, row)
        if shape == SHAPE_DISCARDED:
            return emit_discarded(to, program, row)
        return emit_native(to, program, row)
