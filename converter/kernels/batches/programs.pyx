# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The programs of event classes that an emitter runs, and the columns that are bound to each."""

# Stub:
# from collections.abc import Sequence
# from converter.kernels.tables.strings import StringTable

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset

from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.tables.strings cimport StringTable


cdef class ProgramSet:
    """The programs of event classes, and the columns that they run over: what emitters are based on."""

    def __cinit__(self, StringTable strings not None, *_: object, **__: object):
        self._strings = strings
        self._columns = []

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._program_count):
            free((<ProgramHead*>(self._programs_memory + i * self._program_size)).operations)
        free(self._programs_memory)

    cdef void* add(self, size_t size, BoundColumns columns, size_t operations) except NULL:
        cdef ProgramHead* head
        cdef char* moved = <char*>realloc(self._programs_memory, (self._program_count + 1) * size)
        if moved is NULL:
            raise MemoryError
        self._programs_memory, self._program_size = moved, size
        head = <ProgramHead*>(moved + self._program_count * size)
        memset(head, 0, size)
        if operations:
            head.operations = calloc(operations, 1)
            if head.operations is NULL:
                raise MemoryError
        head.views = columns.views
        self._columns.append(columns)
        self._program_count += 1
        return head

    def bind(self, int64_t number, int64_t rows, columns: Sequence[Any]) -> None:
        """Bind columns for the next events of a program, one for each operation: see `BoundColumns`.

        Raises ValueError for columns of another number, shape, width or length.
        """
        cdef ProgramHead* head
        cdef BoundColumns bound
        if not 0 <= number < self._program_count:
            raise ValueError(f"no program {number}")
        if not 0 <= rows < 1 << 40:
            raise ValueError(f"{rows} rows")
        head = <ProgramHead*>(self._programs_memory + number * self._program_size)
        head.rows = 0
        bound = self._columns[number]
        bound.bind_all(columns)
        head.rows = self._bound(number, rows, bound)

    cdef int64_t _bound(self, int64_t number, int64_t rows, BoundColumns columns) except -1:
        columns.check_rows(rows)
        return rows

    def release(self) -> None:
        """Let go of the columns that were bound."""
        cdef int64_t i
        for i in range(self._program_count):
            (<ProgramHead*>(self._programs_memory + i * self._program_size)).rows = 0
            (<BoundColumns>self._columns[i]).release()
