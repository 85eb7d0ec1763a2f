# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns to the records of uftrace's task files: each event class has a program, run row by row in stream order.

A record is a time and a word of type:2, more:1, magic:3, depth:10, address:48 (uftrace.h, struct uftrace_record); values
follow where `more` says so. Each task has a buffer of its own and the stack of its open functions, which says what an
exit without a name belongs to.
"""

# Stub:
# from collections.abc import Mapping, Sequence
# from converter.formats.uftrace.writing.emit_programs import Programs
# from converter.kernels.batches.event_arrays import EventArrays
# from converter.kernels.tables.strings import StringTable
#
# #: Records that a program writes; the columns of a `named` one begin with the ids of name and category. ENTRY: of a
# #: function, with its arguments; named.
# ENTRY: int
# #: EXIT: of the open function, or of the named one, with the value that it returns.
# EXIT: int
# #: LOST: a count of 8 bytes, below 2^48, or -1 where nobody knows it.
# LOST: int
# #: USER_EVENT: an event without data, numbered by its name.
# USER_EVENT: int
# #: EVENT: an event with a number and data, values without gaps.
# EVENT: int
# #: RAW: a whole record with what follows it, a multiple of 8 bytes; only its time is written again.
# RAW: int
# #: VARIABLE: a watched variable and its value, one number; the name is the variable's, and becomes a symbol.
# VARIABLE: int
# #: Operations, rows of (operation, width):
# #: VALUE: a number of `width` bytes.
# VALUE: int
# #: TEXT: its length in two bytes, then the bytes; a column of ids, or (values, offsets).
# TEXT: int
# #: BYTES: exactly `width` bytes; (values, offsets).
# BYTES: int
# #: Results for the event at which `emit` stopped.
# OK: int
# BAD_COLUMN: int
# TEXT_TOO_LONG: int
# BAD_VALUE: int

import numpy as np

from cpython.bytes cimport PyBytes_FromStringAndSize

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, UINT64_MAX, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from converter.kernels.io.byte_order cimport HOST_IS_BIG, store64
from converter.kernels.batches.column_view cimport bits_of, id_of, text_of
from converter.kernels.batches.event_arrays cimport EventArrays, Events, WITH_CLASS, WITH_ROW
from converter.kernels.tables.numbers cimport Numbers, free_numbers
from converter.kernels.io.output cimport Output, ensure, put16, put_bytes, put_zeros
from converter.kernels.tables.strings cimport StringTable
from converter.formats.uftrace.writing.emit_programs cimport (
    ADDRESS_SIZE, O_BYTES, O_TEXT, O_VALUE, P_ENTRY, P_EVENT, P_EXIT, P_LOST, P_RAW, P_USER_EVENT, P_VARIABLE,
    S_BAD_COLUMN, S_BAD_VALUE, S_NO_MEMORY, S_OK, S_TEXT_TOO_LONG, Program, Programs,
)
from converter.formats.uftrace.writing.emit_symbols cimport (
    BARE_EXITS, KEY_MARK, KEY_NAMED, KEY_UNMATCHED, KEY_VARIABLE, KEY_VARIANT, NO_PROGRAM, Symbol, number_of, symbols_of,
)
from converter.formats.uftrace.writing.emit_tasks cimport (
    RECORD_SIZE, TYPE_ENTRY, TYPE_EVENT, TYPE_EXIT, TYPE_LOST, Task, push, put_head,
)

cdef enum:
    FIRST_USER_EVENT = 1000000
    WATCH_VARIABLE = 100012
    # Libraries, the program included.
    MOST_LIBRARIES = 4

ENTRY = P_ENTRY
EXIT = P_EXIT
LOST = P_LOST
USER_EVENT = P_USER_EVENT
EVENT = P_EVENT
RAW = P_RAW
VARIABLE = P_VARIABLE
VALUE = O_VALUE
TEXT = O_TEXT
BYTES = O_BYTES
OK = S_OK
BAD_COLUMN = S_BAD_COLUMN
TEXT_TOO_LONG = S_TEXT_TOO_LONG
BAD_VALUE = S_BAD_VALUE


cdef class Emitter(Programs):
    """The task files under construction, of any number of tasks."""

    cdef uint64_t[MOST_LIBRARIES] _addresses
    cdef uint64_t _symbol_size
    # Ids of names, and the library of functions that are called so.
    cdef int32_t[::1] _names
    cdef int32_t[::1] _library_of_name
    # The library whose functions a task leaves that has entered none.
    cdef int32_t _forking
    cdef bint _has_forked
    # The number of functions that the task is in that has entered one of these last, itself included.
    cdef int64_t _fork_depth
    cdef Task* _tasks
    cdef int64_t _task_count
    cdef Numbers _symbols
    cdef Numbers _events
    cdef int64_t _max_depth
    cdef int32_t _empty
    cdef int32_t _mark_name
    cdef int32_t _mark

    def __cinit__(
        self, StringTable strings not None, addresses: Sequence[int], uint64_t symbol_size, bytes mark,
        libraries: Mapping[bytes, int],
    ):
        """Function i has the address ``addresses[library] + symbol_size * i``; `mark` names one that is no slice.

        The library is 0, the program, but for those whose names are in `libraries`; a forked task leaves functions of
        the last one.
        """
        cdef int64_t i
        if not 0 < len(addresses) <= MOST_LIBRARIES or not all(0 <= one < len(addresses) for one in libraries.values()):
            raise ValueError("no such library")
        for i in range(len(addresses)):
            self._addresses[i] = addresses[i]
        self._forking = <int32_t>len(addresses) - 1
        self._names = np.array([strings.intern(name) for name in libraries], np.int32)
        self._library_of_name = np.array(list(libraries.values()), np.int32)
        self._symbols.item_size = self._events.item_size = sizeof(Symbol)
        self._symbol_size = symbol_size
        self._empty = strings.intern(b"")
        self._mark_name = strings.intern(mark)
        self._mark = -1

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._task_count):
            free(self._tasks[i].out.data)
            free(self._tasks[i].stack)
        free(self._tasks)
        free_numbers(&self._symbols)
        free_numbers(&self._events)

    @property
    def max_depth(self) -> int:
        """Return the largest number of functions open at a time in one task."""
        return self._max_depth

    @property
    def mark(self) -> int:
        """The number of the function that is no slice, -1 where it was not needed."""
        return self._mark

    @property
    def has_functions(self) -> bool:
        """Return True if there are functions that are slices."""
        return self._symbols.count > (self._mark >= 0)

    @property
    def has_forked(self) -> bool:
        """Return True if a task begins by leaving a function of the last library."""
        return self._has_forked

    def add_tasks(self, int64_t count) -> None:
        """Make room for `count` tasks."""
        cdef void* moved
        if count <= self._task_count:
            return
        moved = realloc(self._tasks, count * sizeof(Task))
        if moved is NULL:
            raise MemoryError
        self._tasks = <Task*>moved
        memset(self._tasks + self._task_count, 0, (count - self._task_count) * sizeof(Task))
        self._task_count = count

    def emit(self, EventArrays columns not None, int64_t start) -> tuple[int, int]:
        """Emit events from number `start` on, each to its task: (status, the first that was not). Releases the GIL.

        `class_id` are the programs; the columns have a `task` beside the common ones.
        """
        cdef Events events = columns.common(WITH_CLASS | WITH_ROW)
        cdef const int32_t* tasks = <const int32_t*>columns.own("task", 4)
        cdef int64_t at = start
        cdef int status = S_OK
        if not 0 <= start <= events.count:
            raise ValueError(f"event {start} of {events.count}")
        self._strings_count = len(self._strings)
        with nogil:
            while at < events.count:
                status = self._emit(<uint64_t>events.ts[at], events.class_id[at], events.row[at], tasks[at])
                if status != S_OK:
                    break
                at += 1
        if status == S_NO_MEMORY:
            raise MemoryError
        return status, at

    def put_event(self, int64_t task, uint64_t ts, uint64_t event) -> None:
        """An event without data."""
        self._check(task)
        if not ensure(&self._tasks[task].out, RECORD_SIZE):
            raise MemoryError
        put_head(&self._tasks[task], ts, TYPE_EVENT, False, self._tasks[task].depth, event)
        self._tasks[task].dirty = True

    def put_mark(self, int64_t task, uint64_t ts) -> None:
        """The entry and exit of the function that is no slice; a lost record has them before it by itself."""
        self._check(task)
        if not self._put_mark(&self._tasks[task], ts):
            raise MemoryError

    def last_time(self, int64_t task) -> int:
        """The time of a task's last record, 0 where it has none."""
        self._check(task)
        return self._tasks[task].last

    def dirty(self) -> list[int]:
        """The tasks with records that were not taken."""
        cdef int64_t i
        return [i for i in range(self._task_count) if self._tasks[i].dirty]

    def take(self, int64_t task) -> bytes:
        """The records of a task since the last time."""
        cdef Task* of
        self._check(task)
        of = &self._tasks[task]
        data = PyBytes_FromStringAndSize(<const char*>of.out.data, of.out.used)
        of.out.used = 0
        of.dirty = False
        if of.out.room > 1 << 20:
            free(of.out.data)
            memset(&of.out, 0, sizeof(Output))
        return data

    def symbols(self) -> list[tuple[int, int, int, int, int, int, int]]:
        """The functions by number: shown name, name, category (-1: of exits without an entry), programs of both, place,
        library.

        A program is -1 where the function has no such record, or none with values or a name.
        """
        cdef int64_t i
        cdef Symbol* items = symbols_of(&self._symbols)
        return [
            (
                items[i].shown, items[i].name, items[i].category, items[i].entry,
                max(items[i].exit, <int32_t>NO_PROGRAM), items[i].source, items[i].library,
            )
            for i in range(self._symbols.count)
        ]

    def user_events(self) -> list[tuple[int, int]]:
        """Name and category of the named events by number, which counts from the first id of such."""
        cdef int64_t i
        cdef Symbol* items = symbols_of(&self._events)
        return [(items[i].name, items[i].category) for i in range(self._events.count)]

    cdef _check(self, int64_t task):
        if not 0 <= task < self._task_count:
            raise ValueError(f"no task {task}")

    cdef int _emit(self, uint64_t ts, int32_t number, int64_t row, int32_t task_number) noexcept nogil:
        cdef Program* program
        cdef Task* task
        cdef int32_t symbol
        cdef int64_t size = 0
        cdef int64_t length = 0
        cdef uint64_t address
        cdef const uint8_t* record = NULL
        cdef int status
        if number < 0 or number >= self._program_count or task_number < 0 or task_number >= self._task_count:
            return S_BAD_COLUMN
        program = &self._programs[number]
        task = &self._tasks[task_number]
        if row < 0 or row >= program.rows:
            return S_BAD_COLUMN
        task.dirty = True
        if program.count:
            status = self._measure(program, row, &size)
            if status != S_OK:
                return status
        if not ensure(&task.out, RECORD_SIZE + size):
            return S_NO_MEMORY
        if program.record == P_ENTRY:
            symbol = self._entered(number, program, row)
            if symbol < 0 or not push(task, symbol):
                return S_NO_MEMORY
            if task.depth > self._max_depth:
                self._max_depth = task.depth
            task.has_functions = True
            task.has_begun = True
            if self._is_fork(symbol):
                self._fork_depth = task.depth
            put_head(task, ts, TYPE_ENTRY, program.count > 0, task.depth - 1, self._address(symbol))
            self._put_values(&task.out, program, row, size)
        elif program.record == P_EXIT:
            symbol = self._left(number, program, row, task)
            if symbol < 0:
                return S_NO_MEMORY
            if not task.has_begun:
                task.has_begun = True
                if self._is_fork(symbol):
                    self._has_forked = True
                    # It is as deep in its parent's functions as that is, which it has not entered itself.
                    while task.depth < self._fork_depth:
                        if not push(task, -1):
                            return S_NO_MEMORY
            task.depth -= task.depth > 0
            put_head(task, ts, TYPE_EXIT, program.count > 0, task.depth, self._address(symbol))
            self._put_values(&task.out, program, row, size)
        elif program.record == P_LOST:
            address = bits_of(&program.views[0], row, 8)
            if address == UINT64_MAX:
                # Nobody knows how many: "some records".
                address = 0
            if address >> 48:
                return S_BAD_VALUE
            if not task.has_functions and not self._put_mark(task, ts):
                return S_NO_MEMORY
            put_head(task, ts, TYPE_LOST, False, task.depth, address)
        elif program.record == P_USER_EVENT:
            symbol = self._user_event(program, row)
            if symbol < 0:
                return S_NO_MEMORY
            put_head(task, ts, TYPE_EVENT, program.count > 0, task.depth, FIRST_USER_EVENT + <uint64_t>symbol)
            if program.count:
                # Of what was measured the room is there.
                text_of(&program.views[program.leading], self._strings, self._strings_count, row, &record, &length)
                put16(&task.out, <uint16_t>length, HOST_IS_BIG)
                put_bytes(&task.out, record, length)
                put_zeros(&task.out, size - 2 - length)
        elif program.record == P_EVENT:
            put_head(task, ts, TYPE_EVENT, program.count > 0, task.depth, program.event)
            self._put_data(&task.out, program, row, size, 0)
        elif program.record == P_VARIABLE:
            symbol = self._variable(program, row)
            if symbol < 0:
                return S_NO_MEMORY
            put_head(task, ts, TYPE_EVENT, True, task.depth, WATCH_VARIABLE)
            store64(task.out.data + task.out.used + 2, self._address(symbol), HOST_IS_BIG)
            self._put_data(&task.out, program, row, size, ADDRESS_SIZE)
        else:
            text_of(&program.views[0], self._strings, self._strings_count, row, &record, &size)
            put_bytes(&task.out, record, size)
            store64(task.out.data + task.out.used - size, ts, HOST_IS_BIG)
            task.last = ts
        return S_OK

    cdef bint _put_mark(self, Task* task, uint64_t ts) noexcept nogil:
        """uftrace's graph crashes at a lost record in a task without functions, and finds nothing without any."""
        self._mark = number_of(
            &self._symbols, KEY_MARK, 0, 0,
            Symbol(self._mark_name, self._mark_name, self._empty, NO_PROGRAM, NO_PROGRAM, -1, 0),
        )
        if self._mark < 0 or not ensure(&task.out, 3 * RECORD_SIZE):
            return False
        put_head(task, ts, TYPE_ENTRY, False, task.depth, self._address(self._mark))
        put_head(task, ts, TYPE_EXIT, False, task.depth, self._address(self._mark))
        task.has_functions = True
        task.dirty = True
        return True

    # Which function

    cdef uint64_t _address(self, int32_t symbol) noexcept nogil:
        return self._addresses[symbols_of(&self._symbols)[symbol].library] + <uint64_t>symbol * self._symbol_size

    cdef inline bint _is_fork(self, int32_t symbol) noexcept nogil:
        return self._forking and symbols_of(&self._symbols)[symbol].library == self._forking

    # The number of the function with a key, which is `new` where it is not known; below 0 without memory.
    cdef int32_t _number(self, int32_t kind, int32_t first, int64_t second, Symbol new) noexcept nogil:
        cdef int64_t before = self._symbols.count
        cdef int32_t number = number_of(&self._symbols, kind, first, second, new)
        cdef int64_t i
        if number == before:
            for i in range(self._names.shape[0]):
                if self._names[i] == new.shown:
                    symbols_of(&self._symbols)[number].library = self._library_of_name[i]
        return number

    cdef int32_t _entered(self, int32_t number, Program* program, int64_t row) noexcept nogil:
        cdef int32_t name = id_of(&program.views[0], row)
        cdef int32_t category = id_of(&program.views[1], row)
        cdef int32_t source = id_of(&program.views[2], row) if program.leading > 2 else -1
        cdef int64_t rest = category | <int64_t>(source + 1) << 32
        cdef int32_t symbol = self._number(
            number, name, rest, Symbol(name, name, category, number, NO_PROGRAM, -1, 0)
        )
        if symbol >= 0:
            symbols_of(&self._symbols)[symbol].source = source
        return symbol

    cdef int32_t _left(self, int32_t number, Program* program, int64_t row, Task* task) noexcept nogil:
        """The function that an exit names: the open one, or one like it whose exits are such."""
        cdef int32_t symbol = task.stack[task.depth - 1] if task.depth > 0 else -1
        cdef int32_t name = -1
        cdef int32_t category = -1
        cdef int32_t known
        cdef bint bare = not program.named and program.count == 0
        cdef Symbol* items
        if program.named:
            name = id_of(&program.views[0], row)
            category = id_of(&program.views[1], row)
            if symbol < 0:
                return self._number(
                    KEY_NAMED - number, name, category, Symbol(name, name, category, NO_PROGRAM, number, -1, 0)
                )
            items = &symbols_of(&self._symbols)[symbol]
            if name == self._empty and category == self._empty and items.name != name:
                # No name of its own: tools show that of the open function.
                return self._number(
                    KEY_VARIANT, symbol, number, Symbol(items.shown, name, category, NO_PROGRAM, number, -1, 0)
                )
            if items.name != name or items.category != category:
                # Not what is open: a function of this name that is never entered.
                return self._number(
                    KEY_NAMED - number, name, category, Symbol(name, name, category, NO_PROGRAM, number, -1, 0)
                )
        elif symbol < 0:
            return self._number(KEY_UNMATCHED, number, 0, Symbol(-1, -1, -1, NO_PROGRAM, number, -1, 0))
        items = &symbols_of(&self._symbols)[symbol]
        known = items.exit
        if known == number:
            return symbol
        if known == NO_PROGRAM:
            items.exit = BARE_EXITS if bare else number
            return symbol
        # An exit without values and names is distinguished from one with values by its not having any.
        if bare and (known == BARE_EXITS or self._programs[known].count > 0):
            return symbol
        if known == BARE_EXITS and program.count > 0:
            items.exit = number
            return symbol
        name = items.name
        category = items.category
        return self._number(
            KEY_VARIANT, symbol, number, Symbol(items.shown, name, category, NO_PROGRAM, number, -1, 0)
        )

    cdef int32_t _variable(self, Program* program, int64_t row) noexcept nogil:
        """A variable is a symbol of its own, which is never called."""
        cdef int32_t name = id_of(&program.views[0], row)
        return number_of(
            &self._symbols, KEY_VARIABLE, name, 0, Symbol(name, name, self._empty, NO_PROGRAM, NO_PROGRAM, -1, 0)
        )

    cdef int32_t _user_event(self, Program* program, int64_t row) noexcept nogil:
        cdef int32_t name = id_of(&program.views[0], row)
        cdef int32_t category = id_of(&program.views[1], row)
        return number_of(&self._events, 0, name, category, Symbol(name, name, category, NO_PROGRAM, NO_PROGRAM, -1, 0))
