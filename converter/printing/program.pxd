# Programs and their operations: see program.pyx.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from converter.kernels.batches.column_view cimport Takes, value_at
from converter.kernels.batches.columns cimport BoundColumns, HeldBuffers
from converter.printing.forms cimport Form
from converter.printing.record_bytes cimport Record

cdef extern from *:
    void __builtin_prefetch(const void*) noexcept nogil

cpdef enum:
    # Those that take a column come first.
    COLUMN = 0
    FLOAT = 1
    TEXT = 2
    QUOTED = 3
    JSON = 4
    BYTES = 5
    EACH = 6
    COUNT = 7
    VALID = 8
    OPTION = 9

    LITERAL = 10
    CONSTANT = 11
    LOAD = 12
    RECORD_SIZE = 13
    DYNAMIC = 14
    REST = 15
    READ = 16
    ELEMENT = 17
    LENGTH = 18
    DROP = 19
    KEEP = 20
    MULTIPLY = 21
    DIVIDE = 22
    REMAINDER = 23
    ADD = 24
    SUBTRACT = 25
    SHIFT_LEFT = 26
    SHIFT_RIGHT = 27
    LESS = 28
    GREATER = 29
    LESS_EQUAL = 30
    GREATER_EQUAL = 31
    EQUAL = 32
    NOT_EQUAL = 33
    AND = 34
    XOR = 35
    OR = 36
    BOTH = 37
    EITHER = 38
    NEGATE = 39
    INVERT = 40
    NOT = 41
    JUMP = 42
    JUMP_IF_ZERO = 43
    NEXT = 44
    BEFORE = 45
    DECIMAL = 46
    HEXADECIMAL = 47
    NUMBER = 48
    TIME = 49
    LETTERS = 50
    BLANKS = 51
    STRING = 52
    OCTETS = 53
    ARRAY = 54
    FORM = 55
    MARK = 56
    FIT = 57
    LIMIT = 58
    STRIP = 59
    CHOOSE = 60
    FLAGS = 61
    LABEL = 62
    FIND = 63
    FOUND_TEXT = 64
    FOUND_NUMBER = 65
    LEARN = 66
    CALL = 67
    COPY = 68
    NAME = 69
    STORE = 70
    FETCH = 71
    AGAIN = 72
    GIVE_UP = 73
    PRINTED = 74
    LAST = 75
    BITS = 76
    PLAIN = 77

cdef enum:
    COLUMN_OPERATIONS = 10
    OPERATIONS = 78

cdef enum:
    # The most numbers that a program may have on its stack and in registers, texts that it may have started, levels of
    # lists.
    DEPTH = 256
    REGISTERS = 256
    MARKS = 192
    LEVELS = 32


cdef struct Operation:
    int64_t code
    int64_t a
    int64_t b
    int64_t c


# Names of numbers. `low` and `high` are the first and the last that a text has; `unset` is the text of 0 among flags, or
# -1. Numbers are signed where `bits` is below 0.
cdef struct Names:
    int64_t count
    int64_t unset
    int64_t bits
    int64_t separator
    int64_t separator_size
    uint64_t* low
    uint64_t* high
    int64_t* start
    int64_t* size


cdef class Program:
    cdef Operation* _operations
    cdef int64_t _count
    cdef uint8_t* _literals
    cdef int64_t _literal_size
    cdef Form* _forms
    cdef int64_t _form_count
    cdef Names* _names
    cdef int64_t _names_count
    cdef Takes* _takes
    cdef BoundColumns _columns
    cdef list _directories
    cdef void** _directory
    cdef list _functions
    cdef bint _big_endian
    cdef bint _swap
    # The records of a batch, where the program reads them.
    cdef HeldBuffers _segments
    cdef const int64_t[::1] _locations
    cdef const uint32_t[::1] _sizes
    cdef int64_t _records

    cdef int _take_names(self, Names* names, given) except -1
    cdef bint _is_literal(self, int64_t start, int64_t size) noexcept
    cdef int _check(self, const Operation* operation) except -1
    cdef int _check_stacks(self) except -1

    # The record of a row, empty where there is none.
    cdef inline Record record(self, int64_t row) noexcept nogil:
        cdef Record record = Record(NULL, 0)
        cdef int64_t segment, offset
        if 0 <= row < self._records:
            segment = self._locations[row] >> 32
            offset = self._locations[row] & <int64_t>0xFFFFFFFF
            if 0 <= segment < self._segments.count and offset + self._sizes[row] <= self._segments.sizes[segment]:
                record = Record(self._segments.data[segment] + offset, self._sizes[row])
        return record

    # Prefetch the data that the event of a row, which need not exist, is printed from.
    cdef inline void fetch(self, int64_t row) noexcept nogil:
        cdef Record record = self.record(row)
        cdef int64_t i
        __builtin_prefetch(record.data)
        for i in range(self._columns.count):
            if self._columns.views[i].offsets is NULL:
                __builtin_prefetch(value_at(&self._columns.views[i], row))
