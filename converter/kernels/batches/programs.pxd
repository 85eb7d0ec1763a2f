# The programs of event classes that an emitter runs, and the columns that are bound to each.

from libc.stdint cimport int64_t

from converter.kernels.batches.column_view cimport ColumnView
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.tables.strings cimport StringTable


# The first members of each format's program, by which all of them are bound and released.
cdef struct ProgramHead:
    # Rows of the columns that are bound, 0 where none are.
    int64_t rows
    ColumnView* views
    # From malloc, or NULL.
    void* operations


cdef class ProgramSet:
    cdef StringTable _strings
    # How many strings texts may refer to: those of `_strings` when the last call to emit events began.
    cdef int64_t _strings_count
    # One after the other, `_program_size` bytes each.
    cdef char* _programs_memory
    cdef size_t _program_size
    cdef int64_t _program_count
    cdef list _columns

    # Add a program of `size` bytes, of which those after the head are 0, with `operations` bytes for operations, also 0. The
    # needs of its columns are set by the caller. Programs that were added before have another address from then on.
    cdef void* add(self, size_t size, BoundColumns columns, size_t operations) except NULL
    # Called by `bind` once the columns are bound: returns how many rows events may have. By default, every column must have
    # `rows` values.
    cdef int64_t _bound(self, int64_t number, int64_t rows, BoundColumns columns) except -1
