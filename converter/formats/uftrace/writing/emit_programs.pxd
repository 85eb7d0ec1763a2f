# Programs that write the records of event classes, and the columns that they run over.
from libc.stdint cimport int32_t, int64_t

from converter.kernels.batches.column_view cimport ColumnView
from converter.kernels.io.output cimport Output
from converter.kernels.batches.programs cimport ProgramSet


cdef enum:
    # Records that programs write: see emit.pyx.
    P_ENTRY = 0
    P_EXIT = 1
    P_LOST = 2
    P_USER_EVENT = 3
    P_EVENT = 4
    P_RAW = 5
    P_VARIABLE = 6
    # Operations.
    O_VALUE = 0
    O_TEXT = 1
    O_BYTES = 2
    MAX_OPERATIONS = 256
    MAX_TEXT = 0xffff
    ADDRESS_SIZE = 8
    S_OK = 0
    S_NO_MEMORY = -1
    S_BAD_COLUMN = -2
    S_TEXT_TOO_LONG = -3
    S_BAD_VALUE = -4


cdef struct Operation:
    int32_t code
    int32_t width


# Begins as all programs do: see `programs.ProgramHead`.
cdef struct Program:
    int64_t rows
    ColumnView* views
    Operation* operations
    int32_t record
    # Columns 0 and 1 are name and category.
    bint named
    # The number of columns that are ids of the function's properties: those two, and its place in the source.
    int32_t leading
    int64_t event
    int32_t count


cdef class Programs(ProgramSet):
    cdef Program* _programs

    # Measure the bytes that follow a record's head (for P_RAW: the record); returns a status.
    cdef int _measure(self, Program* program, int64_t row, int64_t* size) noexcept nogil
    # The arguments or the value returned: each padded to 4 bytes, all to 8.
    cdef void _put_values(self, Output* out, Program* program, int64_t row, int64_t size) noexcept nogil
    # An event's data: their size in two bytes, then the values without gaps, all padded to 8. The first `length` bytes
    # of them are there already.
    cdef void _put_data(self, Output* out, Program* program, int64_t row, int64_t size, int64_t length) noexcept nogil
