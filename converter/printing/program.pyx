# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Programs that print events, checked when they are made: what one refers to is there, and the stack has what it takes.

What depends on an event (rows, lists, places in a record) is checked when it is printed.
"""

# Stub:
# from collections.abc import Callable, Sequence
# from converter.kernels.batches.columns import HeldBuffers
# from converter.printing.directory import Directory
#
# #: Input that operations take of columns: integers and floating-point numbers; ids of strings, or lists of bytes;
# #: lists of bytes; the offsets of lists; whether there is a value; which option has it.
# SCALAR: int
# TEXTS: int
# OCTET_LISTS: int
# LISTS: int
# VALIDITY: int
# UNIONS: int
# #: Levels of rows: 0 is the event's place in the batch, 1 its row in the table of its class, those above are of lists.
# MAX_LEVELS: int
# #: (start, size): a text that is always the same.
# LITERAL: int
# #: (value): leaves it.
# CONSTANT: int
# #: (column, level, signed): leaves an integer.
# COLUMN: int
# #: (offset, size): leaves an integer of the record, 0 where that ends before.
# LOAD: int
# #: Leaves the record's size.
# RECORD_SIZE: int
# #: (offset, size, relative): leaves the place that a location word in the record names.
# DYNAMIC: int
# #: Takes where, and leaves the place from there to the record's end.
# REST: int
# #: (little): takes a place, leaves the number that it holds.
# READ: int
# #: (size): takes a start and an index, leaves where that element is.
# ELEMENT: int
# #: Takes a number; leaves it twice.
# DROP: int
# COPY: int
# #: Takes a place, leaves how many bytes it has.
# LENGTH: int
# #: (mask): takes a number, leaves its bits.
# KEEP: int
# #: C's operators, of unsigned numbers.
# MULTIPLY: int
# DIVIDE: int
# REMAINDER: int
# ADD: int
# SUBTRACT: int
# SHIFT_LEFT: int
# SHIFT_RIGHT: int
# LESS: int
# GREATER: int
# LESS_EQUAL: int
# GREATER_EQUAL: int
# EQUAL: int
# NOT_EQUAL: int
# AND: int
# XOR: int
# OR: int
# BOTH: int
# EITHER: int
# NEGATE: int
# INVERT: int
# NOT: int
# #: (target): goes on there; the second where the number that it takes is 0.
# JUMP: int
# JUMP_IF_ZERO: int
# #: (column, level, end): the elements of a list have their rows on the next level; goes on at the end if there is
# #: none.
# EACH: int
# #: (column, level): leaves how many elements a list has.
# COUNT: int
# #: (level): leaves how many elements of the list came before.
# BEFORE: int
# #: (begin, level): goes back for the next element.
# NEXT: int
# #: (column, level): leaves whether there is a value.
# VALID: int
# #: (column, level): leaves which option has the value, whose row is on the next level.
# OPTION: int
# #: (bits, signed): takes a number and prints it.
# DECIMAL: int
# #: (bits): takes a number and prints it.
# HEXADECIMAL: int
# #: (form, count, which): takes a number, before it width (1) and precision (2) as far as these are arguments.
# NUMBER: int
# #: (multiplier, divisor, unsigned + 2 * width): takes ticks, which become nanoseconds; prints seconds.
# TIME: int
# #: (start, size, mask): takes a number, prints the text of that size that it counts.
# LETTERS: int
# #: (size, limit): takes a number below the limit, and prints `size` blanks as many times.
# BLANKS: int
# #: (column, level): a text as it is.
# TEXT: int
# #: (column, level, function): a text in quotes where it needs them, and always; the function is for what is not ASCII.
# QUOTED: int
# JSON: int
# #: (column, level): bytes in hexadecimal.
# BYTES: int
# #: (column, level, form): a floating-point number: 0 the shortest text; 1 the same, with non-finite values in quotes;
# #: 2 and more: `form` - 2 decimals.
# FLOAT: int
# #: Takes a place and prints its bytes up to a NUL.
# STRING: int
# #: (delimiter): takes an offset and the number of bytes of it to print in hexadecimal; below 0 there is no delimiter.
# OCTETS: int
# #: (dynamic): takes a place, how many elements unless dynamic, their size; prints them.
# ARRAY: int
# #: (form, count, which): the form of texts; takes width and precision as far as these are arguments.
# FORM: int
# #: A text begins, ends, and has then that form.
# MARK: int
# FIT: int
# #: (end, limit): a text begins that is stripped at `end`, where it goes on once it is that long.
# LIMIT: int
# #: (limit): it is no longer than that, and ends without newlines.
# STRIP: int
# #: (names, fitted): takes a number, prints its name, or those of its bits, each in the form of texts if asked for.
# CHOOSE: int
# FLAGS: int
# #: (names): takes a number and prints its label, if it has one; leaves the number and whether.
# LABEL: int
# #: (directory): takes a number, leaves whether something is known of it.
# FIND: int
# #: The entry that was found: its text is printed, its number left.
# FOUND_TEXT: int
# FOUND_NUMBER: int
# #: (directory): takes a number and prints its text, if it has one.
# NAME: int
# #: (directory, column, level): takes a number, for which the event has a text.
# LEARN: int
# #: (register): takes a number, which `FETCH` leaves until another is there.
# STORE: int
# FETCH: int
# #: (target): goes back there.
# AGAIN: int
# #: (target): where the number that it takes is 0 nothing is printed of the event so far, and it goes on there.
# GIVE_UP: int
# #: Leaves how many bytes are printed of the event so far.
# PRINTED: int
# #: Leaves the last byte that is printed, 0 of none.
# LAST: int
# #: (count): takes an offset in bits and leaves `count` bits of the record, the first one being the highest; 0 where
# #: the record ends before.
# BITS: int
# #: (ends): takes a place; leaves how many bytes of it there are (up to a NUL, if that `ends` it) and one, or 0 where
# #: some are not printable ASCII.
# PLAIN: int
# #: (function, count): takes numbers and prints what the function makes of the record and of them.
# CALL: int

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from converter.kernels.batches.column_view cimport (
    TAKES_BYTES, TAKES_LIST, TAKES_NOTHING, TAKES_SCALAR, TAKES_TEXT, TAKES_UNION, TAKES_VALIDITY, Takes,
)
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.io.byte_order cimport HOST_IS_BIG
from converter.kernels.tables.strings cimport PADDING
from converter.printing.directory cimport Directory
from converter.printing.forms cimport Form

SCALAR, TEXTS, OCTET_LISTS, LISTS, VALIDITY, UNIONS = (
    TAKES_SCALAR, TAKES_TEXT, TAKES_BYTES, TAKES_LIST, TAKES_VALIDITY, TAKES_UNION,
)
MAX_LEVELS = LEVELS

# The input of the operations that take a column, the numbers that each takes and leaves, and those that have a target.
cdef Takes[OPERATIONS] TAKES
cdef int[OPERATIONS] POPS
cdef int[OPERATIONS] PUSHES
memset(TAKES, 0, sizeof(TAKES))
memset(POPS, 0, sizeof(POPS))
memset(PUSHES, 0, sizeof(PUSHES))
for _number, _takes in (
    (COLUMN, TAKES_SCALAR), (FLOAT, TAKES_SCALAR), (TEXT, TAKES_TEXT), (QUOTED, TAKES_TEXT), (JSON, TAKES_TEXT),
    (LEARN, TAKES_TEXT), (BYTES, TAKES_BYTES), (EACH, TAKES_LIST), (COUNT, TAKES_LIST), (VALID, TAKES_VALIDITY), (OPTION, TAKES_UNION),
):
    TAKES[_number] = _takes
for _number in range(MULTIPLY, EITHER + 1):
    POPS[_number], PUSHES[_number] = 2, 1
for _number, _pops, _pushes in (
    (CONSTANT, 0, 1), (COLUMN, 0, 1), (LOAD, 0, 1), (RECORD_SIZE, 0, 1), (DYNAMIC, 0, 2), (REST, 1, 2), (READ, 2, 1),
    (ELEMENT, 2, 1), (DROP, 1, 0), (KEEP, 1, 1), (NEGATE, 1, 1), (INVERT, 1, 1), (NOT, 1, 1), (JUMP_IF_ZERO, 1, 0),
    (VALID, 0, 1), (OPTION, 0, 1), (DECIMAL, 1, 0), (HEXADECIMAL, 1, 0), (NUMBER, 1, 0), (TIME, 1, 0), (LETTERS, 1, 0),
    (STRING, 2, 0), (OCTETS, 3, 0), (ARRAY, 4, 0), (CHOOSE, 1, 0), (FLAGS, 1, 0), (LABEL, 1, 2), (FIND, 1, 1),
    (FOUND_NUMBER, 0, 1), (LEARN, 1, 0), (BEFORE, 0, 1), (LENGTH, 2, 1),
    (BLANKS, 1, 0), (COUNT, 0, 1), (COPY, 1, 2), (NAME, 1, 0),
    (STORE, 1, 0), (FETCH, 0, 1), (GIVE_UP, 1, 0), (PRINTED, 0, 1), (LAST, 0, 1), (BITS, 1, 1), (PLAIN, 2, 1),
):
    POPS[_number], PUSHES[_number] = _pops, _pushes


cdef class Program:
    """The operations of an event class: four numbers each, operation and operands.

    `forms` are (flags, width, precision, bits, conversion); `names` (entries, unset, bits, separator), an entry being
    (low, high, start, size); `takes` says what is taken of each column. Raises ValueError for a program that could do
    anything but print.
    """

    def __cinit__(
        self,
        const int64_t[:, ::1] code not None,
        bytes literals not None,
        forms: Sequence[tuple[int, int, int, int, int]],
        names: Sequence[tuple[Sequence[tuple[int, int, int, int]], int, int, tuple[int, int]]],
        takes: Sequence[int],
        directories: Sequence[Directory],
        functions: Sequence[Callable[..., bytes]],
        bint big_endian,
    ):
        cdef int64_t i
        cdef Operation* operation
        cdef Directory directory
        self._count = code.shape[0]
        if code.shape[1] != 4:
            raise ValueError("an operation has four numbers")
        self._literal_size = len(literals)
        self._columns = BoundColumns(len(takes))
        self._directories, self._functions = list(directories), list(functions)
        self._big_endian = big_endian
        self._swap = big_endian != HOST_IS_BIG
        self._form_count, self._names_count = len(forms), len(names)
        self._operations = <Operation*>calloc(self._count + 1, sizeof(Operation))
        self._literals = <uint8_t*>calloc(self._literal_size + PADDING, 1)
        self._forms = <Form*>calloc(self._form_count + 1, sizeof(Form))
        self._names = <Names*>calloc(self._names_count + 1, sizeof(Names))
        self._takes = <Takes*>calloc(len(takes) + 1, sizeof(Takes))
        self._directory = <void**>calloc(len(self._directories) + 1, sizeof(void*))
        if self._operations is NULL or self._literals is NULL or self._forms is NULL or self._names is NULL \
                or self._takes is NULL or self._directory is NULL:
            raise MemoryError
        memcpy(self._literals, <const uint8_t*>literals, self._literal_size)
        for i in range(len(takes)):
            self._takes[i] = <Takes>takes[i]
        for i in range(len(self._directories)):
            # Borrowed: the list keeps them.
            directory = self._directories[i]
            self._directory[i] = <void*>directory
        for i in range(self._form_count):
            flags, width, precision, bits, conversion = forms[i]
            if not 1 <= bits <= 64:
                raise ValueError("a number has 1 to 64 bits")
            self._forms[i] = Form(flags, width, precision, bits, conversion)
        for i in range(self._names_count):
            self._take_names(&self._names[i], names[i])
        for i in range(self._count):
            operation = &self._operations[i]
            operation[0] = Operation(code[i, 0], code[i, 1], code[i, 2], code[i, 3])
            self._check(operation)
        self._check_stacks()

    def __dealloc__(self):
        cdef int64_t i
        free(self._operations)
        free(self._literals)
        free(self._forms)
        free(self._takes)
        free(self._directory)
        if self._names is not NULL:
            for i in range(self._names_count):
                free(self._names[i].low)
                free(self._names[i].high)
                free(self._names[i].start)
                free(self._names[i].size)
        free(self._names)

    cdef int _take_names(self, Names* names, given) except -1:
        cdef int64_t i
        entries, names.unset, names.bits, (names.separator, names.separator_size) = given
        names.count = len(entries)
        names.low = <uint64_t*>calloc(names.count + 1, sizeof(uint64_t))
        names.high = <uint64_t*>calloc(names.count + 1, sizeof(uint64_t))
        names.start = <int64_t*>calloc(names.count + 1, sizeof(int64_t))
        names.size = <int64_t*>calloc(names.count + 1, sizeof(int64_t))
        if names.low is NULL or names.high is NULL or names.start is NULL or names.size is NULL:
            raise MemoryError
        good = self._is_literal(names.separator, names.separator_size) and -1 <= names.unset < names.count
        for i in range(names.count):
            names.low[i], names.high[i], names.start[i], names.size[i] = entries[i]
            good = good and self._is_literal(names.start[i], names.size[i])
        if not good:
            raise ValueError("names lie outside the text")
        return 0

    cdef bint _is_literal(self, int64_t start, int64_t size) noexcept:
        return size >= 0 and 0 <= start <= self._literal_size - size

    cdef int _check(self, const Operation* operation) except -1:
        """Raise ValueError for operands that make no sense."""
        cdef int64_t code = operation.code
        cdef bint good = True
        if not 0 <= code < OPERATIONS:
            raise ValueError(f"no operation {code}")
        if TAKES[code] != TAKES_NOTHING:
            column = operation.b if code == LEARN else operation.a
            level = operation.c if code == LEARN else operation.b
            # A list and an option have their rows on the level above.
            good = 0 <= column < self._columns.count and self._takes[column] == TAKES[code] and 0 <= level < LEVELS - 1
        if code == LITERAL:
            good = good and self._is_literal(operation.a, operation.b)
        elif code == FLOAT:
            good = good and 0 <= operation.c <= 2 + 32
        elif code == LETTERS:
            good = good and 0 <= operation.b <= self._literal_size and 0 <= operation.c <= 1 << 20
            # The product is no larger than the text, so that it is a number of 64 bits.
            good = good and operation.b <= self._literal_size // (operation.c + 1)
            good = good and self._is_literal(operation.a, operation.b * (operation.c + 1))
        elif code == STORE or code == FETCH:
            good = good and 0 <= operation.a < REGISTERS
        elif code == BITS:
            good = good and 0 <= operation.a <= 64
        elif code in (JUMP, JUMP_IF_ZERO, NEXT, LIMIT, AGAIN, GIVE_UP):
            good = good and 0 <= operation.a <= self._count and (code != NEXT or 0 < operation.b < LEVELS)
        elif code == BEFORE:
            good = good and 0 < operation.a < LEVELS
        elif code == EACH:
            good = good and 0 <= operation.c <= self._count
        elif code == NUMBER or code == FORM:
            good = good and 0 <= operation.a < self._form_count and 0 <= operation.b <= 2
        elif code == CHOOSE or code == FLAGS or code == LABEL:
            good = good and 0 <= operation.a < self._names_count
        elif code == FIND or code == NAME or code == LEARN:
            good = good and 0 <= operation.a < len(self._directories)
        elif code == CALL or code == QUOTED or code == JSON:
            function = operation.a if code == CALL else operation.c
            good = good and 0 <= function < len(self._functions) and 0 <= operation.b <= 8
        elif code == DECIMAL or code == HEXADECIMAL:
            good = good and 1 <= operation.a <= 64
        elif code == ARRAY:
            good = good and 0 <= operation.a <= 1
        elif code == BLANKS:
            good = good and 0 <= operation.a <= 64 and 0 <= operation.b <= 1 << 20
        elif code == TIME:
            good = good and operation.b > 0 and operation.a > 0
        elif code == LOAD or code == DYNAMIC:
            good = good and operation.a >= 0 and operation.b >= 0
        if not good:
            raise ValueError(f"operation {code} cannot have {operation.a}, {operation.b} and {operation.c}")
        return 0

    cdef int _check_stacks(self) except -1:
        """Raise ValueError unless each operation finds the same number of numbers, and of started texts, on every path
        to it.
        """
        cdef int64_t i, target, depth, marks
        cdef int64_t code
        known = {0: (0, 0)}
        # Targets of operations that give up.
        caught = {self._operations[i].a for i in range(self._count) if self._operations[i].code == GIVE_UP}
        for i in range(self._count):
            code = self._operations[i].code
            if code == STRIP:
                known[i] = (0, 0)
            if i in caught and known.setdefault(i, (0, 0)) != (0, 0):
                raise ValueError(f"operation {i} is come to in two ways")
            if i not in known:
                raise ValueError(f"operation {i} cannot be come to")
            depth, marks = known[i]
            depth -= POPS[code]
            if code == NUMBER or code == FORM:
                depth -= self._operations[i].b
            elif code == CALL:
                depth -= self._operations[i].b
            elif code == ARRAY:
                depth += self._operations[i].a
            if code == FIT:
                marks -= 1
            if depth < 0 or marks < 0:
                raise ValueError(f"operation {i} lacks what it takes")
            depth += PUSHES[code]
            marks += code == MARK
            if depth > DEPTH or marks > MARKS:
                raise ValueError("a program needs too much at once")
            state = (depth, marks)
            target = later = -1
            if code == JUMP or code == JUMP_IF_ZERO or code == NEXT:
                target = self._operations[i].a
                later = -1 if code == NEXT else target
            elif code == AGAIN:
                if known.get(self._operations[i].a) != state or self._operations[i].a > i:
                    raise ValueError("a loop does not begin as it ends")
            elif code == GIVE_UP or code == LIMIT:
                later = self._operations[i].a
                if code == LIMIT and (later >= self._count or self._operations[later].code != STRIP):
                    raise ValueError("a limit ends where its text is stripped")
            elif code == EACH:
                target = later = self._operations[i].c
            if 0 <= later <= i:
                raise ValueError("a program goes back")
            for each in ([] if code == JUMP or code == AGAIN else [i + 1]) + ([] if target < 0 else [target]):
                if known.setdefault(each, state) != state:
                    raise ValueError(f"operation {each} is come to in two ways")
        return 0

    def bind(
        self, columns: Sequence[Any], records: tuple[HeldBuffers, NDArray[int64], NDArray[uint32]] | None = None
    ) -> None:
        """Bind the columns of a batch (`kernels.batches.columns`) and the records: segments, location and size."""
        cdef int64_t i
        self.release()
        if len(columns) != self._columns.count:
            raise ValueError("the program has another number of columns")
        for i in range(self._columns.count):
            given = columns[i]
            width = 0
            if self._takes[i] == TAKES_VALIDITY or self._takes[i] == TAKES_BYTES:
                width = 1
            self._columns.bind(i, self._takes[i], width, given, 0)
            if self._takes[i] == TAKES_SCALAR and self._columns.views[i].width not in (1, 2, 4, 8):
                raise ValueError(f"column {i} is not one of numbers")
        if records is not None:
            self._segments, self._locations, self._sizes = records
            self._records = min(self._locations.shape[0], self._sizes.shape[0])

    def release(self) -> None:
        """Let go of the columns and the records."""
        self._columns.release()
        self._segments = None
        self._locations = self._sizes = None
        self._records = 0
