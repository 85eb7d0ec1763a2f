# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What the emitter runs for each event of a class. Every column is that of one operation, or of none."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from numpy import ndarray

from converter.kernels.column_view cimport (
    TAKES_BYTES, TAKES_LIST, TAKES_NOTHING, TAKES_SCALAR, TAKES_TEXT, Takes,
)
from converter.kernels.columns cimport BoundColumns

cdef enum:
    # How many numbers an operation is made of.
    NUMBERS = 6
    # Bytes of an operation at most, texts and literals apart: three numbers, and what each is called.
    MOST_OF_OPERATION = 96

# What each operation takes, and how wide that is.
cdef Takes[COLUMN_OPERATIONS] TAKES
TAKES[:] = [
    TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR,
    TAKES_TEXT, TAKES_TEXT, TAKES_BYTES, TAKES_BYTES, TAKES_BYTES, TAKES_LIST,
]
cdef int64_t[COLUMN_OPERATIONS] WIDTHS
WIDTHS[:] = [8, 8, 8, 8, 8, 1, 1, 4, 0, 0, 1, 1, 1, 0]


cdef class Program:
    def __cinit__(self, const int32_t[::1] code, bytes literals not None, int columns):
        cdef int64_t i
        cdef int64_t size = len(literals)
        if code.shape[0] % NUMBERS or columns < 0:
            raise ValueError(f"a program has {NUMBERS} numbers an operation")
        self.count = code.shape[0] // NUMBERS
        self._columns = BoundColumns(columns)
        self.operations = <Operation*>calloc(self.count + 1, sizeof(Operation))
        self._needs = <Need*>calloc(columns + 1, sizeof(Need))
        self._text = <uint8_t*>calloc(size + STEP, 1)
        if self.operations is NULL or self._needs is NULL or self._text is NULL:
            raise MemoryError
        memcpy(self._text, <const uint8_t*>literals, size)
        for i in range(self.count):
            self._set(&self.operations[i], code[i * NUMBERS:(i + 1) * NUMBERS], size, self.count - i - 1)

    def __dealloc__(self):
        free(self.operations)
        free(self._needs)
        free(self._text)

    cdef int _set(self, Operation* operation, const int32_t[::1] given, int64_t size, int64_t behind) except -1:
        """An operation of `given` numbers, with literals in a text of `size` and so many operations `behind` it."""
        cdef int32_t code = given[0]
        cdef int32_t column = given[1]
        if not 0 <= code <= LITERAL:
            raise ValueError(f"no operation {code}")
        if code < COLUMN_OPERATIONS:
            self._need(column, TAKES[code], WIDTHS[code])
            operation.view = &self._columns.views[column]
        if code == THREAD_OF:
            self._need(<int64_t>column + 1, TAKES_SCALAR, 8)
        if code == ARRAY:
            if not 0 <= given[3] <= behind:
                raise ValueError("the elements of an array lie outside the program")
        elif not 0 <= given[2] <= size - given[3] or given[3] < 0:
            raise ValueError("a literal lies outside the text")
        if not 0 <= given[4] <= size - given[5] or given[5] < 0:
            raise ValueError("a literal lies outside the text")
        operation.code = code
        operation.size = given[3]
        if code != ARRAY:
            operation.text = self._text + given[2]
        operation.front = self._text + given[4]
        operation.front_size = given[5]
        # Literals and texts are copied in steps.
        self.room += MOST_OF_OPERATION + MOST_OF_TEXT + operation.front_size + 2 * STEP
        self.room += 0 if code == ARRAY else operation.size + STEP
        return 0

    cdef int _need(self, int64_t column, Takes takes, int64_t width) except -1:
        if not 0 <= column < self._columns.count or self._needs[column].takes != TAKES_NOTHING:
            raise ValueError(f"column {column} is not one operation's")
        self._needs[column] = Need(takes, width)
        return 0

    cpdef int bind(self, list columns) except -1:
        cdef int64_t i
        self._columns.release()
        if len(columns) != self._columns.count:
            raise ValueError("the program has another number of columns")
        for i in range(self._columns.count):
            # How many rows the columns of elements have only their arrays can tell.
            self._columns.bind(i, self._needs[i].takes, self._needs[i].width, columns[i], 0)
        return 0

    cpdef release(self):
        self._columns.release()


def bind_plain(dict tables not None, dict programs not None, set plain not None, list bound not None):
    cdef list others = []
    cdef Program program
    for class_id, table in tables.items():
        if not len(table):
            continue
        program = programs.get(class_id)
        if program is not None and class_id in plain:
            columns = table.columns()
            if are_arrays(columns):
                program.bind(columns)
                bound[class_id] = program
                continue
        others.append(class_id)
    return others


cdef bint are_arrays(list columns) except -1:
    for column in columns:
        if not isinstance(column, ndarray):
            return False
    return True


def release_all(list programs not None):
    for program in programs:
        if program is not None:
            (<Program>program).release()
