# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Emitting events as JSON text: columns to bytes, by a short program per event class.

A program is a list of operations of four numbers each: which, and up to three operands (`emit.pyi` says which).
Columns are numbered, each that of one operation; every row is checked against the length of its column.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from converter.formats.chrome.emit_text cimport (
    Seconds, append_integers, put_address, put_base64, put_decimal, put_float, put_microseconds, put_string, put_unsigned,
)
from converter.formats.chrome.json_text cimport FINE, compact, copy_padded, is_hexadecimal, special_number
from converter.kernels.column_view cimport (
    ColumnView, TAKES_BYTES, TAKES_LIST, TAKES_NOTHING, TAKES_SCALAR, TAKES_TEXT, Takes, bits_of, elements_of,
    fetch_ahead, id_of, span_of, value_at,
)
from converter.kernels.columns cimport BoundColumns
from converter.kernels.decimal cimport write_digits, write_integer
from converter.kernels.output cimport Blocks, Output, append, ensure, put8
from converter.kernels.strings cimport Entry, PADDING, StringTable

#: Bytes that must follow the texts of threads.
TEXT_PADDING = PADDING

cdef enum:
    #: Programs' levels of arrays.
    MAX_LEVELS = 32
    #: Text is handed over in blocks, each by the interpreter, for which others wait.
    BLOCK = 1 << 20
    #: Quoted forms are kept of strings of up to so many bytes, and of so many bytes in all, by each emitter.
    LONGEST_KEPT = 200
    MOST_KEPT = 1 << 23
    # Bytes of an operation at most, texts and literals apart: two numbers, and what each is called.
    MOST_OF_OPERATION = 80

# What each operation takes, and how wide that is.
cdef Takes[COLUMN_OPERATIONS] TAKES
TAKES[:] = [
    TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR, TAKES_SCALAR,
    TAKES_SCALAR, TAKES_TEXT, TAKES_TEXT, TAKES_BYTES, TAKES_BYTES, TAKES_BYTES, TAKES_LIST,
]
cdef int64_t[COLUMN_OPERATIONS] WIDTHS
WIDTHS[:] = [8, 8, 8, 8, 8, 8, 1, 1, 4, 0, 0, 1, 1, 1, 0]


cdef struct Operation:
    int32_t code
    int32_t column
    # Of its literal; `place` is the second column of THREAD_OF, and the number of operations inside of ARRAY.
    int32_t place
    int32_t size


# What its operation takes of a column.
cdef struct Need:
    Takes takes
    int64_t width


cdef class Program:
    cdef Operation* _operations
    cdef int64_t _count
    cdef uint8_t* _text
    cdef Need* _needs
    cdef BoundColumns _columns
    # How many bytes its operations write at most that are of no size but their own.
    cdef int64_t _room

    def __cinit__(self, const int32_t[::1] code, bytes literals not None, int columns):
        cdef int64_t i
        cdef int64_t size = len(literals)
        cdef Operation* operation
        if code.shape[0] % 4 or columns < 0:
            raise ValueError("a program has four numbers an operation")
        self._count = code.shape[0] // 4
        self._columns = BoundColumns(columns)
        self._operations = <Operation*>calloc(self._count + 1, sizeof(Operation))
        self._needs = <Need*>calloc(columns + 1, sizeof(Need))
        self._text = <uint8_t*>calloc(size + PADDING, 1)
        if self._operations is NULL or self._needs is NULL or self._text is NULL:
            raise MemoryError
        memcpy(self._text, <const uint8_t*>literals, size)
        for i in range(self._count):
            operation = &self._operations[i]
            operation[0] = Operation(code[i * 4], code[i * 4 + 1], code[i * 4 + 2], code[i * 4 + 3])
            # A literal is copied with its padding.
            self._room += MOST_OF_OPERATION + (0 if operation.code == ARRAY else operation.size)
            if not 0 <= operation.code <= LITERAL:
                raise ValueError(f"no operation {operation.code}")
            if operation.code < COLUMN_OPERATIONS:
                self._need(operation.column, TAKES[operation.code], WIDTHS[operation.code])
            if operation.code == THREAD_OF:
                self._need(operation.place, TAKES_SCALAR, 8)
            elif operation.code == ARRAY:
                if not 0 <= operation.place < self._count - i:
                    raise ValueError("the elements of an array lie outside the program")
            elif not 0 <= operation.place <= size - operation.size or operation.size < 0:
                raise ValueError("a literal lies outside the text")

    def __dealloc__(self):
        free(self._operations)
        free(self._needs)
        free(self._text)

    cdef int _need(self, int64_t column, Takes takes, int64_t width) except -1:
        if not 0 <= column < self._columns.count or self._needs[column].takes != TAKES_NOTHING:
            raise ValueError(f"column {column} is not one operation's")
        self._needs[column] = Need(takes, width)
        return 0

    def bind(self, columns):
        cdef int64_t i
        self._columns.release()
        if len(columns) != self._columns.count:
            raise ValueError("the program has another number of columns")
        for i in range(self._columns.count):
            # How many rows the columns of elements have only their arrays can tell.
            self._columns.bind(i, self._needs[i].takes, self._needs[i].width, columns[i], 0)

    def release(self):
        self._columns.release()


# Where the quoted form of a string is among those that are kept, and its size; 0 where it is not. Of one that could be
# taken for a number the size is below 0.
cdef struct Quoted:
    int64_t start
    int64_t size


cdef class Emitter:
    cdef StringTable _strings
    cdef Output _out
    cdef Output _scratch
    cdef Output _pending
    cdef Blocks _blocks
    cdef int _places
    cdef bint _no_memory
    cdef Seconds _seconds
    cdef Quoted* _quoted
    cdef int64_t _quoted_room
    cdef Output _kept
    # Of the batch: the number of strings, the texts of threads and owners.
    cdef int64_t _known
    cdef BoundColumns _texts
    cdef int64_t _ts
    cdef int32_t _thread
    cdef int32_t _cpu
    # Of the program that runs.
    cdef int64_t _room

    def __cinit__(self, StringTable strings, int places):
        if not 0 <= places <= 18:
            raise ValueError("times have 0 to 18 decimals")
        self._strings = strings
        self._places = places
        self._blocks = Blocks()
        self._texts = BoundColumns(2)

    def __dealloc__(self):
        free(self._out.data)
        free(self._scratch.data)
        free(self._pending.data)
        free(self._kept.data)
        free(self._quoted)

    def emit(
        self, list programs, const int32_t[::1] class_id, const int32_t[::1] row, const int64_t[::1] ts,
        const int32_t[::1] thread, const int32_t[::1] cpu, threads, owners, int64_t start, int64_t stop,
    ):
        cdef int64_t count = class_id.shape[0]
        cdef int64_t i, number
        cdef int64_t classes = len(programs)
        cdef Program program
        cdef ColumnView* view
        cdef void** found
        cdef bint good = True
        if row.shape[0] != count or ts.shape[0] != count or thread.shape[0] != count or cpu.shape[0] != count:
            raise ValueError("columns differ in length")
        if not 0 <= start <= stop <= count:
            raise ValueError(f"events {start} to {stop} of {count}")
        self._texts.release()
        for i, texts in enumerate((threads, owners)):
            # They are copied in steps of so many bytes.
            view = self._texts.bind(i, TAKES_BYTES, 1, texts, 0)
            view.extent -= PADDING
        self._out.used = 0
        self._pending.used = 0
        self._no_memory = False
        if not ensure(&self._out, BLOCK + BLOCK // 8) or not self._make_room_for_quoted():
            raise MemoryError
        # Borrowed: the list keeps the programs.
        found = <void**>calloc(classes + 1, sizeof(void*))
        if found is NULL:
            raise MemoryError
        for number in range(classes):
            if programs[number] is not None:
                program = programs[number]
                found[number] = <void*>program
        i = start
        with nogil:
            while i < stop and self._out.used < BLOCK:
                if class_id[i] < 0 or class_id[i] >= classes or found[class_id[i]] is NULL or row[i] < 0:
                    good = False
                    break
                self._ts = ts[i]
                self._thread = thread[i]
                self._cpu = cpu[i]
                good = self._program(found[class_id[i]], row[i])
                if not good:
                    break
                i += 1
        free(found)
        if self._no_memory:
            raise MemoryError
        if not good:
            raise ValueError(f"event {i} is outside of its class's columns")
        pending = np.frombuffer((<const char*>self._pending.data)[:self._pending.used], np.int64)
        return self._blocks.hand_over(&self._out), pending, i

    cdef bint _make_room_for_quoted(self):
        cdef int64_t count = self._strings._count
        cdef Quoted* grown
        self._known = count
        if count <= self._quoted_room:
            return True
        count += count >> 1
        grown = <Quoted*>calloc(count, sizeof(Quoted))
        if grown is NULL:
            return False
        if self._quoted_room:
            memcpy(grown, self._quoted, self._quoted_room * sizeof(Quoted))
        free(self._quoted)
        self._quoted = grown
        self._quoted_room = count
        return True

    # A string by its id, which is in range. Strings are few and occur often: their quoted forms are kept.
    cdef bint _string(self, int64_t id, bint plain) noexcept nogil:
        cdef Output* out = &self._out
        cdef Entry* entry
        cdef Quoted* quoted = &self._quoted[id]
        cdef int64_t start, size
        if quoted.size > 0 or (quoted.size < 0 and plain):
            size = quoted.size if quoted.size > 0 else -quoted.size
            if not ensure(out, size + PADDING):
                return False
            out.used = copy_padded(out.data + out.used, self._kept.data + quoted.start, size) - out.data
            return True
        entry = self._strings.entry(<int32_t>id)
        start = out.used
        if not put_string(out, entry.data, entry.size, plain):
            return False
        if quoted.size or entry.size > LONGEST_KEPT or self._kept.used >= MOST_KEPT:
            return True
        if is_hexadecimal(entry.data, entry.size) or special_number(entry.data, entry.size):
            if not plain:
                return True
            quoted.size = start - out.used
        else:
            quoted.size = out.used - start
        quoted.start = self._kept.used
        return append(&self._kept, out.data + start, out.used - start) and ensure(&self._kept, PADDING)

    cdef bint _program(self, void* program, int64_t row) noexcept nogil:
        self._room = (<Program>program)._room
        if not ensure(&self._out, self._room):
            self._no_memory = True
            return False
        return self._run(
            (<Program>program)._operations, (<Program>program)._count, (<Program>program)._columns.views,
            (<Program>program)._text, row, 0,
        )

    # Run `count` operations for one row; false where a column ends before it, or there is no memory. There is room for
    # all of the program's operations, which is made again behind each one whose text can be of any size: up to there
    # what is written ends at `at`.
    cdef bint _run(
        self, const Operation* operation, int64_t count, const ColumnView* views, const uint8_t* text, int64_t row,
        int level,
    ) noexcept nogil:
        cdef const Operation* end = operation + count
        cdef const ColumnView* view = NULL
        cdef const uint8_t* data = NULL
        cdef int64_t number
        cdef int64_t size = 0
        cdef Output* out = &self._out
        cdef uint8_t* at = out.data + out.used
        while operation < end:
            if operation.code < COLUMN_OPERATIONS:
                view = &views[operation.column]
                if row >= view.length:
                    return False
                fetch_ahead(view, row)
            if operation.code == LITERAL:
                at = copy_padded(at, text + operation.place, operation.size)
            elif operation.code == EVENT_TIME:
                at = self._time(at, self._ts)
            elif operation.code == EVENT_CPU:
                if self._cpu >= 0:
                    memcpy(at, b',"cpu":', 7)
                    at += 7 + write_digits(at + 7, <uint64_t>self._cpu)
            elif operation.code == ARGUMENT_CPU:
                if self._cpu < 0:
                    memcpy(at, b"null", 4)
                    at += 4
                else:
                    at += write_digits(at, <uint64_t>self._cpu)
            elif operation.code == EVENT_THREAD or operation.code == EVENT_OWNER or operation.code == THREAD_OF:
                number = id_of(view, row) if operation.code == THREAD_OF else self._thread
                view = &self._texts.views[operation.code == EVENT_OWNER]
                if 0 <= number < view.length:
                    if not span_of(view, number, 1, &data, &size):
                        return False
                    out.used = at - out.data
                    if not ensure(out, size + PADDING + self._room):
                        self._no_memory = True
                        return False
                    at = copy_padded(out.data + out.used, data, size)
                elif operation.code == EVENT_OWNER:
                    memcpy(at, b',"event_tid":null', 17)
                    at += 17
                elif operation.code == THREAD_OF:
                    view = &views[operation.place]
                    if row >= view.length:
                        return False
                    memcpy(at, b',"pid":', 7)
                    at += 7 + write_integer(at + 7, bits_of(view, row, 8), True)
                    memcpy(at, b',"tid":', 7)
                    at += 7 + write_integer(at + 7, bits_of(view, row, 8), True)
            elif operation.code == TIME:
                at = self._time(at, <int64_t>bits_of(view, row, 8))
            elif operation.code == SIGNED:
                at += write_integer(at, bits_of(view, row, 8), True)
            elif operation.code == UNSIGNED:
                at = put_unsigned(at, bits_of(view, row, 8))
            elif operation.code == HEXADECIMAL:
                at = put_address(at, bits_of(view, row, 8))
            elif operation.code == BOOLEAN:
                size = 4 if value_at(view, row)[0] else 5
                memcpy(at, b"true" if size == 4 else b"false", size)
                at += size
            elif operation.code == IF_TRUE:
                if value_at(view, row)[0]:
                    at = copy_padded(at, text + operation.place, operation.size)
            else:
                out.used = at - out.data
                if not self._append(operation, views, view, text, row, level):
                    return False
                if not ensure(out, self._room):
                    self._no_memory = True
                    return False
                at = out.data + out.used
                if operation.code == ARRAY:
                    operation += operation.place
            operation += 1
        out.used = at - out.data
        return True

    # Text of any size: that of an operation which `_run` has no room for; false as there.
    cdef bint _append(
        self, const Operation* operation, const ColumnView* views, const ColumnView* view, const uint8_t* text,
        int64_t row, int level,
    ) noexcept nogil:
        cdef const uint8_t* data = NULL
        cdef int64_t first, last, k, number
        cdef int64_t size = 0
        cdef int64_t after = 0
        cdef double floating
        cdef Output* out = &self._out
        cdef bint good = True
        if operation.code == DURATION:
            good = self._duration(<int64_t>bits_of(view, row, 8))
        elif operation.code == FLOAT:
            memcpy(&floating, value_at(view, row), 8)
            good = put_float(out, floating)
        elif (operation.code == STRING or operation.code == STRING_IF) and view.offsets is NULL:
            number = id_of(view, row)
            if number < 0 or number >= self._known:
                return False
            if operation.code == STRING:
                good = self._string(number, False)
            elif number:
                out.used = copy_padded(out.data + out.used, text + operation.place, operation.size) - out.data
                good = self._string(number, True)
        elif operation.code == ARRAY:
            if level >= MAX_LEVELS or not elements_of(view, row, &first, &last):
                return False
            put8(out, 91)
            if operation.place == 1 and (operation[1].code == SIGNED or operation[1].code == UNSIGNED):
                view = &views[operation[1].column]
                if last > view.length and first < last:
                    return False
                good = append_integers(out, view, first, last, operation[1].code == SIGNED)
            else:
                for k in range(first, last):
                    if k > first:
                        put8(out, 44)
                    if not self._run(operation + 1, operation.place, views, text, k, level + 1):
                        return False
                    if not ensure(out, self._room):
                        self._no_memory = True
                        return False
            good = good and append(out, b"]", 1)
        elif not span_of(view, row, 1, &data, &size):
            return False
        elif operation.code == STRING:
            good = put_string(out, data, size, False)
        elif operation.code == STRING_IF:
            if size:
                out.used = copy_padded(out.data + out.used, text + operation.place, operation.size) - out.data
                good = put_string(out, data, size, True)
        elif operation.code == BASE64:
            good = put_base64(out, &self._scratch, data, size)
        elif operation.code == MEMBERS:
            good = self._members(data, size)
        else:
            k = out.used
            if compact(data, 0, size, out, &after) != FINE or after != size:
                # What claims to be JSON and is not goes out as text.
                out.used = k
                good = put_string(out, data, size, False)
        if not good:
            self._no_memory = True
        return good

    # The members of a JSON object, behind a comma; nothing for what is none.
    cdef bint _members(self, const uint8_t* data, int64_t size) noexcept nogil:
        cdef Output* out = &self._out
        cdef int64_t used = out.used
        cdef int64_t after = 0
        if compact(data, 0, size, out, &after) != FINE or after != size or out.data[used] != 123 \
                or out.used - used <= 2:
            out.used = used
            return True
        out.data[used] = 44
        out.used -= 1
        return True

    cdef inline uint8_t* _time(self, uint8_t* at, int64_t value) noexcept nogil:
        if self._places == 3:
            return put_microseconds(at, &self._seconds, value)
        return put_decimal(at, value, self._places)

    # A duration; one below 0 is not known yet, and gets room for 20 digits.
    cdef bint _duration(self, int64_t value) noexcept nogil:
        cdef Output* out = &self._out
        if value >= 0:
            out.used = put_decimal(out.data + out.used, value, self._places) - out.data
            return True
        return append(&self._pending, <uint8_t*>&out.used, 8) and append(out, b"0                   ", 20)
