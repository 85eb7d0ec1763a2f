# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The state of a provider whose records several emitters make: programs of event classes, and the contents of its
slots.
"""


from libc.stdint cimport int16_t, int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

import numpy as np

from converter.formats.fxt.writing.emit_arguments cimport COLUMNS, PROGRAM, THREAD, regular_size
from converter.formats.fxt.writing.emit_programs cimport CODEC_UNKNOWN, MAX_ARGUMENTS, MAX_COLUMNS, Program, has_thread, shape_fits
from converter.formats.fxt.writing.emit_slots cimport next_thread_slot, slots_forget, slots_free, strings_follow, thread_add
from converter.kernels.batches.column_view cimport (
    ColumnView, TAKES_BYTES, TAKES_NOTHING, TAKES_SCALAR, TAKES_TEXT, Takes, id_of,
)
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.io.output cimport Blocks
from converter.kernels.tables.strings cimport StringTable

# What each codec takes, and the bytes of its elements.
cdef Takes[CODEC_UNKNOWN + 1] TAKES
TAKES[:] = [
    TAKES_NOTHING, TAKES_TEXT, TAKES_BYTES, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR,
    TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_BYTES, TAKES_BYTES, TAKES_BYTES,
]
cdef int[CODEC_UNKNOWN + 1] WIDTHS
WIDTHS[:] = [0, 4, 1, 1, 2, 4, 4, 8, 8, 8, 1, 8, 1, 1]
cdef int[COLUMNS] EVENT_WIDTHS
EVENT_WIDTHS[:] = [8, 4, 4, 4, 4, 2]


cdef class Provider:
    def __cinit__(self, StringTable strings not None, *, bint big_endian):
        self.names = strings
        self.big_endian = big_endian
        self._columns = []
        self.blocks = Blocks()
        self.events = BoundColumns(COLUMNS)

    def __dealloc__(self):
        free(self.programs)
        slots_free(&self.strings, &self.threads)

    @property
    def slots_taken(self):
        return self.strings.taken

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
            if not 0 <= program.names[i].name < len(self.names):
                raise ValueError(f"no string {program.names[i].name}")
        program.size = regular_size(&program)
        program.regular = program.size > 0
        program.threaded = has_thread(shape)
        columns = BoundColumns(program.fields)
        program.views = columns.views
        moved = realloc(self.programs, (self.program_count + 1) * sizeof(Program))
        if moved is NULL:
            raise MemoryError
        self.programs = <Program*>moved
        self.programs[self.program_count] = program
        self._columns.append(columns)
        self.program_count += 1
        return self.program_count - 1

    cpdef int bind(self, int number, int64_t rows, list columns) except -1:
        """Columns for the next `emit`: an array each, None for nulls, or (values, offsets) for lists."""
        cdef Program* program
        cdef BoundColumns bound
        cdef int i
        if not 0 <= number < self.program_count:
            raise ValueError(f"no program {number}")
        if rows < 0:
            raise ValueError(f"{rows} rows")
        program = &self.programs[number]
        if len(columns) != program.fields:
            raise ValueError(f"{len(columns)} columns for {program.fields} fields")
        program.rows = 0
        program.has_lists = False
        bound = self._columns[number]
        bound.release()
        for i in range(program.fields):
            bound.bind(i, TAKES[program.codecs[i]], WIDTHS[program.codecs[i]], columns[i], rows)
            program.has_lists |= bound.views[i].offsets is not NULL
        program.rows = rows
        return 0

    def bind_tables(self, dict tables, const int32_t[::1] programs, list getters):
        """Columns of all classes that have rows for the next `emit`: `getters`, by program, make them of a table."""
        cdef int64_t number
        cdef int32_t program
        for class_id, table in tables.items():
            rows = len(table)
            if not rows:
                continue
            number = class_id
            program = programs[number] if 0 <= number < programs.shape[0] else -1
            if not 0 <= program < len(getters):
                raise ValueError(f"no program for class {number}")
            self.bind(program, rows, [get(table) for get in getters[program]])

    def add_threads(self, koids):
        """(process koid, thread koid) of the threads that follow those known."""
        for pid, tid in koids:
            if not thread_add(&self.threads, pid, tid):
                raise MemoryError

    def forget_slots(self):
        """Register again what the next records refer to."""
        cdef int64_t i
        cdef int j
        for i in range(self.program_count):
            for j in range(self.programs[i].arguments):
                self.programs[i].names[j].header = 0
            self.programs[i].named = False
        slots_forget(&self.strings, &self.threads)

    def begin(self, ts, program, row, thread, cpu):
        """The events of the next batch, whose columns are bound."""
        cdef int64_t count = len(ts)
        cdef int64_t i
        cdef int32_t number
        cdef const ColumnView* events = self.events.views
        cdef ColumnView programs, threads
        self.follow_strings()
        slots = np.zeros(count, np.int16)
        cdef int16_t[::1] slot = slots
        self.events.release()
        self.count = 0
        for i, column in enumerate((ts, program, row, thread, cpu, slots)):
            if len(column) != count:
                raise ValueError("columns differ in length")
            self.events.bind(i, TAKES_SCALAR, EVENT_WIDTHS[i], column, count)
        with nogil:
            programs, threads = events[PROGRAM], events[THREAD]
            for i in range(count):
                number = id_of(&programs, i)
                if 0 <= number < self.program_count and self.programs[number].threaded:
                    slot[i] = next_thread_slot(&self.threads, id_of(&threads, i))
        self.count = count

    def release(self):
        """Let go of the columns that were bound."""
        cdef int64_t i
        for i in range(self.program_count):
            self.programs[i].rows = 0
            (<BoundColumns>self._columns[i]).release()
        self.events.release()
        self.count = 0

    cdef int follow_strings(self) except -1:
        if not strings_follow(&self.strings, len(self.names)):
            raise MemoryError
        return 0


def without_program(dict tables not None, const int32_t[::1] programs):
    """Which classes that have rows have no program yet."""
    cdef list found = []
    cdef int64_t number
    for class_id, table in tables.items():
        number = class_id
        if len(table) and not (0 <= number < programs.shape[0] and programs[number] >= 0):
            found.append(class_id)
    return found
