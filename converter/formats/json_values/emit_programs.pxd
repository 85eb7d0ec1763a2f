# Programs: the operations that write an event of a class, and the columns that they take their values from.

from libc.stdint cimport int32_t, int64_t, uint8_t

from converter.kernels.batches.column_view cimport ColumnView, Takes
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.io.output cimport Output
from converter.kernels.tables.strings cimport StringTable


# emit_programs.pyx documents them.
cpdef enum:
    # Those that take a column come first.
    TIME = 0
    SIGNED = 1
    UNSIGNED = 2
    HEXADECIMAL = 3
    FLOAT = 4
    BOOLEAN = 5
    IF_TRUE = 6
    STRING = 7
    PLAIN_STRING = 8
    STRING_IF = 9
    JSON = 10
    MEMBERS = 11
    BASE64 = 12
    ARRAY = 13

    EVENT_TIME = 14
    EVENT_PLACE = 15
    EVENT = 16
    LITERAL = 17

cdef enum:
    COLUMN_OPERATIONS = 14
    # Readable bytes after a literal, so that it can be copied in steps of this size.
    STEP = 32
    # Bytes of a quoted string that is kept, and of a thread's text, for which each operation has room.
    MOST_OF_TEXT = 256


cdef struct Operation:
    int32_t code
    # The literal before the output of the operation.
    int32_t front_size
    const uint8_t* front
    # Text of IF_TRUE and STRING_IF, and text after EVENT and EVENT_PLACE; `size` of ARRAY is the number of operations
    # inside.
    const uint8_t* text
    int64_t size
    # Rows of the columns inside an ARRAY, the fewest of any of them, set when they are bound.
    int64_t* rows
    const ColumnView* view


cdef class Program:
    # The operations to run: those that were given, except those that write the same for all rows.
    cdef Operation* operations
    cdef int64_t count
    # The number of rows of its columns, the fewest of any of them.
    cdef int64_t rows
    # The most bytes that its operations of fixed size write.
    cdef int64_t room
    cdef Operation* _given
    cdef int64_t _given_count
    cdef uint8_t* _given_text
    cdef int64_t* _given_rows
    # The literals of what is run, in its order.
    cdef Output _literals
    cdef bint _has_constants
    cdef BoundColumns _columns
    cdef StringTable _strings

    cpdef int bind(self, list columns) except -1
    cpdef release(self)
    cdef int _set(self, Operation* operation, const int32_t[::1] given, int64_t size, int64_t after) except -1
    cdef int64_t _rows_of(self, int64_t first, int64_t stop) noexcept
    cdef int _put_together(self, bint constants) except -1
    cdef void _place_literals(self) noexcept
    cdef int _put_constant(self, const Operation* operation) except -1
