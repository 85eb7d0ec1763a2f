# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The state of a provider whose records several emitters make: programs of event classes, and the contents of its
slots.
"""

# Stub:
# from converter.kernels.batches.programs import ProgramSet
# from collections.abc import Callable, Sequence
# from converter.ir.tables import Table
# from converter.kernels.batches.event_arrays import EventArrays
# from converter.kernels.tables.strings import StringTable

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

import numpy as np

from converter.formats.fxt.writing.emit_arguments cimport CPU, PROGRAM, ROW, SLOT, THREAD, TS, regular_size
from converter.formats.fxt.writing.emit_programs cimport CODEC_UNKNOWN, MAX_ARGUMENTS, MAX_COLUMNS, Program, has_thread, shape_fits
from converter.formats.fxt.writing.emit_slots cimport next_thread_slot, slots_forget, slots_free, strings_follow, thread_add
from converter.kernels.batches.column_view cimport (
    TAKES_BYTES, TAKES_NOTHING, TAKES_SCALAR, TAKES_TEXT, Takes,
)
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.batches.event_arrays cimport EventArrays, Events, WITH_CLASS, WITH_CPU, WITH_ROW, WITH_THREAD
from converter.kernels.io.output cimport Blocks
from converter.kernels.batches.programs cimport ProgramSet
from converter.kernels.tables.strings cimport StringTable

# The input that each codec takes, and the bytes of its elements.
cdef Takes[CODEC_UNKNOWN + 1] TAKES
TAKES[:] = [
    TAKES_NOTHING, TAKES_TEXT, TAKES_BYTES, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR,
    TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_BYTES, TAKES_BYTES, TAKES_BYTES,
]
cdef int[CODEC_UNKNOWN + 1] WIDTHS
WIDTHS[:] = [0, 4, 1, 1, 2, 4, 4, 8, 8, 8, 1, 8, 1, 1]


cdef class Provider(ProgramSet):
    """The programs of a provider whose records several emitters make, and the contents of its slots.

    What `bind` takes for a codec is an array, None for nulls, (values, offsets) for lists.
    """

    def __cinit__(self, StringTable strings not None, *, bint big_endian):
        self.big_endian = big_endian
        self.blocks = Blocks()

    def __dealloc__(self):
        slots_free(&self.strings, &self.threads)

    @property
    def slots_taken(self) -> int:
        """The number of times a slot was taken from one string for another."""
        return self.strings.taken

    def add_program(self, int shape, codecs: Sequence[int], arguments: Sequence[tuple[int, int]], bint extended) -> int:
        """A program for an event class; its number.

        `shape` and `codecs` (one a field) are `mapping`'s; `arguments` are (argument type, string id of the name).
        Raises ValueError where the fields are not those of the shape.
        """
        cdef Program program
        cdef Program* added
        cdef BoundColumns columns
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
            if not 0 <= program.names[i].name < len(self._strings):
                raise ValueError(f"no string {program.names[i].name}")
        program.size = regular_size(&program)
        program.regular = program.size > 0
        program.threaded = has_thread(shape)
        columns = BoundColumns(program.fields)
        for i in range(program.fields):
            columns.need(i, TAKES[program.codecs[i]], WIDTHS[program.codecs[i]])
        added = <Program*>self.add(sizeof(Program), columns, 0)
        self.programs = <Program*>self._programs_memory
        program.views = added.views
        added[0] = program
        return self._program_count - 1

    cdef int64_t _bound(self, int64_t number, int64_t rows, BoundColumns columns) except -1:
        cdef Program* program = &self.programs[number]
        cdef int i
        columns.check_rows(rows)
        program.has_lists = False
        for i in range(program.fields):
            program.has_lists |= columns.views[i].offsets is not NULL
        return rows

    def bind_tables(
        self,
        dict tables: dict[int, Table],
        const int32_t[::1] programs,
        list getters: list[list[Callable[[Table], Any]]],
    ) -> None:
        """`bind` columns of all tables that have rows, by class id: `programs` are by that, `getters` by program."""
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

    def add_threads(self, koids: Sequence[tuple[int, int]]) -> None:
        """Process and thread koid of the threads that follow those known."""
        for pid, tid in koids:
            if not thread_add(&self.threads, pid, tid):
                raise MemoryError

    def forget_slots(self) -> None:
        """Register again what the next records refer to: others have written since, or the file is another."""
        cdef int64_t i
        cdef int j
        for i in range(self._program_count):
            for j in range(self.programs[i].arguments):
                self.programs[i].names[j].header = 0
            self.programs[i].named = False
        slots_forget(&self.strings, &self.threads)

    def begin(self, EventArrays columns not None) -> None:
        """The events of the next batch, whose columns are bound: `class_id` are the programs."""
        cdef Events given = columns.common(WITH_CLASS | WITH_ROW | WITH_THREAD | WITH_CPU)
        cdef int64_t i
        cdef int32_t number
        self.follow_strings()
        slots = np.zeros(given.count, np.int16)
        cdef int16_t[::1] slot = slots
        self.count = 0
        self._held = columns, slots
        self._view(TS, given.ts, 8)
        self._view(PROGRAM, given.class_id, 4)
        self._view(ROW, given.row, 4)
        self._view(THREAD, given.thread, 4)
        self._view(CPU, given.cpu, 4)
        self._view(SLOT, &slot[0] if given.count else NULL, 2)
        with nogil:
            for i in range(given.count):
                number = given.class_id[i]
                if 0 <= number < self._program_count and self.programs[number].threaded:
                    slot[i] = next_thread_slot(&self.threads, given.thread[i])
        self.count = given.count

    cdef void _view(self, int column, void* data, int64_t width) noexcept:
        self.events[column].data = <const uint8_t*>data
        self.events[column].stride = width

    def release(self) -> None:
        """Let go of the batch and of its columns."""
        ProgramSet.release(self)
        self._held = None
        self.count = 0

    cdef int follow_strings(self) except -1:
        if not strings_follow(&self.strings, len(self._strings)):
            raise MemoryError
        return 0


def without_program(dict tables not None: dict[int, Table], const int32_t[::1] programs) -> list[int]:
    """The ids of the classes that have rows and no program yet, which is below 0."""
    cdef list found = []
    cdef int64_t number
    for class_id, table in tables.items():
        number = class_id
        if len(table) and not (0 <= number < programs.shape[0] and programs[number] >= 0):
            found.append(class_id)
    return found
