# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Programs that the emitter runs for each event of a class. Every column belongs to one operation, or to none."""

# Stub:
# from converter.ir.tables import Table
# from converter.kernels.tables.strings import StringTable
#
# #: (column): int64 units as a decimal number without zeros at its end.
# TIME: int
# #: (column): int64.
# SIGNED: int
# #: (column): uint64, in quotes from 2**63 on.
# UNSIGNED: int
# #: (column): uint64 as "0x...".
# HEXADECIMAL: int
# #: (column): double, always with a point or an exponent; "NaN", "Infinity", "-Infinity".
# FLOAT: int
# #: (column): bool.
# BOOLEAN: int
# #: (column, place, size): the literal where the bool is true.
# IF_TRUE: int
# #: (column): int32 string id or text, its first character escaped where the text could be taken for a number.
# STRING: int
# #: (column): int32 string id or text, without that escape.
# PLAIN_STRING: int
# #: (column, place, size): the literal and the string, without that escape; nothing for the empty string.
# STRING_IF: int
# #: (column): JSON text, or a string of it where it is not valid.
# JSON: int
# #: (column): a comma and the members of an object in JSON text; nothing where there are none.
# MEMBERS: int
# #: (column): bytes in base64.
# BASE64: int
# #: (column, 0, count): an array of offsets in the column; the next `count` operations run for each element.
# ARRAY: int
# #: The event's time.
# EVENT_TIME: int
# #: The text of the event's thread, and its CPU as a member.
# EVENT_PLACE: int
# #: Both, one after the other.
# EVENT: int
# #: Nothing but the literal before it.
# LITERAL: int

from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from numpy import ndarray

from converter.formats.json_values.emit_text cimport put_address, put_float, put_string, put_unsigned
from converter.kernels.batches.column_view cimport (
    TAKES_BYTES, TAKES_LIST, TAKES_SCALAR, TAKES_TEXT, ColumnView, Takes, bits_of, id_of, value_at,
)
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.io.output cimport Output, append, ensure
from converter.kernels.tables.strings cimport Entry, StringTable
from converter.kernels.text.decimal cimport write_integer

cdef enum:
    # The numbers that an operation is made of.
    NUMBERS = 6
    # Bytes of an operation at most, texts and literals apart: three numbers, and what each is called.
    MOST_OF_OPERATION = 96
    # From this number of rows on it pays to look for columns that are the same in all rows.
    FEWEST_ROWS = 64

# The input that each operation takes, and its width.
cdef Takes[COLUMN_OPERATIONS] TAKES
TAKES[:] = [
    TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR,
    TAKES_TEXT, TAKES_TEXT, TAKES_TEXT, TAKES_BYTES, TAKES_BYTES, TAKES_BYTES, TAKES_LIST,
]
cdef int64_t[COLUMN_OPERATIONS] WIDTHS
WIDTHS[:] = [8, 8, 8, 8, 8, 1, 1, 0, 0, 0, 1, 1, 1, 0]


cdef class Program:
    """The operations of an event class, six int32 each: number, column, literal or count, and the literal before it.

    Each column is that of one operation, or of none. What is the same in all rows of a batch is found out when they are
    bound, and written as a literal. Raises ValueError for operations that make no sense.
    """

    # Stub:
    # def bind(self, columns: list[Any]) -> int: ...
    # def release(self) -> None: ...

    def __cinit__(self, const int32_t[::1] code, bytes literals not None, int columns, StringTable strings not None):
        cdef int64_t i
        cdef int64_t size = len(literals)
        if code.shape[0] % NUMBERS or columns < 0:
            raise ValueError(f"a program has {NUMBERS} numbers an operation")
        self._strings = strings
        self._given_count = code.shape[0] // NUMBERS
        self._columns = BoundColumns(columns)
        self._given = <Operation*>calloc(self._given_count + 1, sizeof(Operation))
        self.operations = <Operation*>calloc(self._given_count + 1, sizeof(Operation))
        self._given_text = <uint8_t*>calloc(size + 1, 1)
        self._given_rows = <int64_t*>calloc(self._given_count + 1, sizeof(int64_t))
        if self._given is NULL or self.operations is NULL:
            raise MemoryError
        if self._given_text is NULL or self._given_rows is NULL:
            raise MemoryError
        memcpy(self._given_text, <const uint8_t*>literals, size)
        for i in range(self._given_count):
            self._given[i].rows = &self._given_rows[i]
            self._set(&self._given[i], code[i * NUMBERS:(i + 1) * NUMBERS], size, self._given_count - i - 1)
        self.rows = self._rows_of(0, self._given_count)
        self._put_together(False)

    def __dealloc__(self):
        free(self.operations)
        free(self._given)
        free(self._given_text)
        free(self._given_rows)
        free(self._literals.data)

    cdef int _set(self, Operation* operation, const int32_t[::1] given, int64_t size, int64_t after) except -1:
        """Set an operation from the numbers `given`, with literals in a text of `size` bytes and `after` operations
        after it.
        """
        cdef int32_t code = given[0]
        cdef int32_t column = given[1]
        if not 0 <= code <= LITERAL:
            raise ValueError(f"no operation {code}")
        if code < COLUMN_OPERATIONS:
            self._columns.need(column, TAKES[code], WIDTHS[code])
            operation.view = &self._columns.views[column]
        if code == ARRAY:
            if not 0 <= given[3] <= after:
                raise ValueError("the elements of an array lie outside the program")
        elif not 0 <= given[2] <= size - given[3] or given[3] < 0:
            raise ValueError("a literal lies outside the text")
        if not 0 <= given[4] <= size - given[5] or given[5] < 0:
            raise ValueError("a literal lies outside the text")
        operation.code = code
        if code == ARRAY or code == STRING_IF or code == IF_TRUE:
            operation.size = given[3]
        if code != ARRAY:
            operation.text = self._given_text + given[2]
        operation.front = self._given_text + given[4]
        operation.front_size = given[5]
        return 0

    cpdef int bind(self, list columns) except -1:
        """Set the columns of the next batch: an array each; (values, offsets) of texts without ids, JSON and bytes,
        of arrays their offsets.

        Raises ValueError for one of another width or shape.
        """
        cdef bint constants
        self.release()
        # How many rows the columns of elements have only their arrays can tell.
        self._columns.bind_all(columns)
        self.rows = self._rows_of(0, self._given_count)
        constants = self.rows >= FEWEST_ROWS
        if constants or self._has_constants:
            self._put_together(constants)
        return 0

    cpdef release(self):
        """Let go of the columns."""
        self._columns.release()
        self.rows = self._rows_of(0, self._given_count)

    # Return the number of rows of the columns of operations, the fewest of any of them; those inside arrays are counted
    # separately.
    cdef int64_t _rows_of(self, int64_t first, int64_t stop) noexcept:
        cdef int64_t rows = INT64_MAX
        cdef Operation* operation
        while first < stop:
            operation = &self._given[first]
            first += 1
            if operation.code < COLUMN_OPERATIONS:
                rows = min(rows, operation.view.length)
            if operation.code == ARRAY:
                operation.rows[0] = self._rows_of(first, first + operation.size)
                first += operation.size
        return rows

    # Set what is run. Literals follow each other in one text; with `constants`, what is the same for all rows is part of it.
    cdef int _put_together(self, bint constants) except -1:
        cdef const Operation* given
        cdef Operation* operation
        cdef Operation* event = NULL
        cdef int64_t i
        # The start of the literal that has no operation yet, and the number of operations left inside arrays.
        cdef int64_t start = 0
        cdef int64_t inside = 0
        self._literals.used = 0
        self.count = 0
        self._has_constants = False
        for i in range(self._given_count):
            given = &self._given[i]
            if not append(&self._literals, given.front, given.front_size):
                raise MemoryError
            if not inside:
                if given.code == LITERAL:
                    continue
                if constants and given.code < COLUMN_OPERATIONS and is_constant(given.view) and self._put_constant(given):
                    self._has_constants = True
                    continue
            operation = &self.operations[self.count]
            self.count += 1
            operation[0] = given[0]
            operation.front_size = 0
            if event is not NULL:
                event.size = self._literals.used - start
                event = NULL
            elif self._literals.used - start > INT32_MAX:
                raise MemoryError
            else:
                operation.front_size = <int32_t>(self._literals.used - start)
            if given.code == ARRAY:
                inside = max(inside, given.size + 1)
            elif not append(&self._literals, given.text, given.size):
                raise MemoryError
            if not inside and (given.code == EVENT or given.code == EVENT_PLACE):
                event = operation
            inside -= inside > 0
            start = self._literals.used
        if event is not NULL:
            event.size = self._literals.used - start
        elif start < self._literals.used:
            memset(&self.operations[self.count], 0, sizeof(Operation))
            self.operations[self.count].code = LITERAL
            self.operations[self.count].front_size = <int32_t>(self._literals.used - start)
            self.count += 1
        if not ensure(&self._literals, STEP):
            raise MemoryError
        self._place_literals()
        return 0

    cdef void _place_literals(self) noexcept:
        cdef const uint8_t* at = self._literals.data
        cdef Operation* operation
        cdef int64_t i
        self.room = 0
        for i in range(self.count):
            operation = &self.operations[i]
            operation.front = at
            at += operation.front_size
            # Literals and texts are copied in steps.
            self.room += MOST_OF_OPERATION + MOST_OF_TEXT + operation.front_size + 2 * STEP
            if operation.code != ARRAY:
                operation.text = at
                at += operation.size
                self.room += operation.size + STEP

    # Put the output of an operation for the first row of its column; return True if it can be known before the program
    # runs.
    cdef int _put_constant(self, const Operation* operation) except -1:
        cdef const ColumnView* view = operation.view
        cdef Output* out = &self._literals
        cdef int32_t code = operation.code
        cdef bint good = True
        cdef Entry* entry
        cdef int32_t id
        cdef double floating
        if not ensure(out, MOST_OF_OPERATION):
            raise MemoryError
        if code == STRING or code == PLAIN_STRING or code == STRING_IF:
            id = id_of(view, 0)
            if not 0 <= id < self._strings._count:
                return False
            entry = self._strings.entry(id)
            if entry.size > MOST_OF_TEXT:
                return False
            if code != STRING_IF:
                good = put_string(out, entry.data, entry.size, code == PLAIN_STRING)
            elif id:
                good = append(out, operation.text, operation.size) and put_string(out, entry.data, entry.size, True)
        elif code == SIGNED:
            out.used += write_integer(out.data + out.used, bits_of(view, 0, 8), True)
        elif code == UNSIGNED:
            out.used = put_unsigned(out.data + out.used, bits_of(view, 0, 8)) - out.data
        elif code == HEXADECIMAL:
            out.used = put_address(out.data + out.used, bits_of(view, 0, 8)) - out.data
        elif code == FLOAT:
            memcpy(&floating, value_at(view, 0), 8)
            good = put_float(out, floating)
        elif code == BOOLEAN:
            good = append(out, b"true", 4) if value_at(view, 0)[0] else append(out, b"false", 5)
        elif code == IF_TRUE:
            good = not value_at(view, 0)[0] or append(out, operation.text, operation.size)
        else:
            return False
        if not good:
            raise MemoryError
        return True


# Return True if all rows, of which there are some, have the same bytes. Where they have not, two near the beginning
# mostly differ.
cdef inline bint is_constant(const ColumnView* view) noexcept:
    if view.offsets is not NULL:
        return False
    if view.stride == 0:
        return True
    return view.stride == view.width and not memcmp(view.data, view.data + view.width, (view.length - 1) * view.width)


def bind_plain(
    dict tables not None: dict[int, Table],
    dict programs not None: dict[int, Program],
    set plain not None: set[int],
    list bound not None: list[Program | None],
) -> list[int]:
    """Bind the columns of `plain` classes that have rows as they are, where they have a program and columns of arrays.

    Their programs are put into `bound`, by class id. Gives the ids of the other classes that have rows.
    """
    cdef list others = []
    cdef Program program
    for class_id, table in tables.items():
        if not len(table):
            continue
        program = programs.get(class_id)
        if program is not None and class_id in plain:
            columns = table.columns()
            if are_arrays(columns):
                if not 0 <= class_id < len(bound):
                    raise ValueError(f"class {class_id} of {len(bound)}")
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


def release_all(list programs not None: list[Program | None]) -> None:
    """Let go of the columns of all of these."""
    for program in programs:
        if program is not None:
            (<Program>program).release()
