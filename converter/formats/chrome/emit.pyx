# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Emitting events as JSON text: columns to bytes, by the program of each event's class.

Every row is checked against the length of its column.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from converter.formats.chrome.emit_programs cimport (
    ARGUMENT_CPU, ARRAY, BASE64, BOOLEAN, COLUMN_OPERATIONS, EVENT, EVENT_DURATION, EVENT_OWNER, EVENT_PLACE, EVENT_TIME,
    FLOAT, HEXADECIMAL, IF_TRUE, LITERAL, MEMBERS, SIGNED, STEP, STRING, STRING_IF, THREAD_OF, TIME, UNSIGNED, Operation,
    Program,
)
from converter.formats.chrome.emit_strings cimport Quoted, QuotedStrings, make_room_for, quote
from converter.formats.chrome.emit_text cimport (
    Seconds, append_integers, put_address, put_base64, put_decimal, put_float, put_microseconds, put_string, put_unsigned,
)
from converter.formats.chrome.json_text cimport FINE, compact
from converter.kernels.column_view cimport (
    ColumnView, TAKES_BYTES, bits_of, elements_of, fetch_ahead, id_of, span_of, value_at,
)
from converter.kernels.columns cimport BoundColumns
from converter.kernels.decimal cimport write_digits, write_integer
from converter.kernels.output cimport Blocks, Output, append, ensure, put8
from converter.kernels.strings cimport StringTable

#: Bytes that must follow the texts of threads.
TEXT_PADDING = STEP

cdef enum:
    #: Programs' levels of arrays.
    MAX_LEVELS = 32
    #: Text is handed over in blocks, each by the interpreter, for which others wait.
    BLOCK = 1 << 21


# Copy data with STEP readable bytes behind it to where there is room for as many more. Most of it is short, and takes no
# more than the first step; the place behind it.
cdef inline uint8_t* copy_in_steps(uint8_t* at, const uint8_t* data, int64_t size) noexcept nogil:
    cdef int64_t i = STEP
    memcpy(at, data, STEP)
    while i < size:
        memcpy(at + i, data + i, STEP)
        i += STEP
    return at + size


cdef class Emitter:
    cdef StringTable _strings
    cdef Output _out
    cdef Output _scratch
    cdef Output _pending
    cdef Blocks _blocks
    cdef int _places
    cdef bint _no_memory
    cdef Seconds _seconds
    cdef QuotedStrings _quoted
    # Of the batch: the number of strings, the texts of threads and owners.
    cdef int64_t _known
    cdef BoundColumns _texts
    # Of its events, and which of them is emitted.
    cdef const int64_t* _ts
    cdef const int32_t* _thread
    cdef const int32_t* _cpu
    cdef const int64_t* _durations
    cdef int64_t _event
    # Of its program.
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
        free(self._quoted.kept.data)
        free(self._quoted.of)

    def emit(
        self, list programs, const int32_t[::1] class_id, const int32_t[::1] row, const int64_t[::1] ts,
        const int32_t[::1] thread, const int32_t[::1] cpu, const int64_t[::1] durations, threads, owners, int64_t start,
        int64_t stop,
    ):
        cdef int64_t count = class_id.shape[0]
        cdef int64_t i, number
        cdef int64_t classes = len(programs)
        cdef ColumnView* view
        cdef void** found
        cdef void* program
        cdef bint good = True
        if row.shape[0] != count or ts.shape[0] != count or thread.shape[0] != count or cpu.shape[0] != count \
                or durations.shape[0] < count:
            raise ValueError("columns differ in length")
        if not 0 <= start <= stop <= count:
            raise ValueError(f"events {start} to {stop} of {count}")
        self._texts.release()
        for i, texts in enumerate((threads, owners)):
            view = self._texts.bind(i, TAKES_BYTES, 1, texts, 0)
            view.extent -= STEP
        self._out.used = 0
        self._pending.used = 0
        self._no_memory = False
        self._known = self._strings._count
        if count:
            self._ts, self._thread, self._cpu, self._durations = &ts[0], &thread[0], &cpu[0], &durations[0]
        if not ensure(&self._out, BLOCK + BLOCK // 8) or not make_room_for(&self._quoted, self._known):
            raise MemoryError
        # Borrowed: the list keeps the programs.
        found = <void**>calloc(classes + 1, sizeof(void*))
        if found is NULL:
            raise MemoryError
        for number in range(classes):
            if programs[number] is not None:
                found[number] = <void*><Program?>programs[number]
        i = start
        with nogil:
            while i < stop and self._out.used < BLOCK:
                if class_id[i] < 0 or class_id[i] >= classes or found[class_id[i]] is NULL or row[i] < 0:
                    good = False
                    break
                program = found[class_id[i]]
                self._event = i
                self._room = (<Program>program).room
                good = self._run((<Program>program).operations, (<Program>program).count, row[i], 0)
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

    # Run `count` operations for one row; false where a column ends before it, or there is no memory. There is room for
    # all of the program's operations, which is made again behind each one whose text can be of any size: up to there
    # what is written ends at `at`.
    cdef bint _run(self, const Operation* operation, int64_t count, int64_t row, int level) noexcept nogil:
        cdef const Operation* end = operation + count
        cdef const ColumnView* view = NULL
        cdef Output* out = &self._out
        cdef uint8_t* at
        cdef const uint8_t* data = NULL
        cdef int64_t number
        cdef int64_t size = 0
        if not ensure(out, self._room):
            self._no_memory = True
            return False
        at = out.data + out.used
        while operation < end:
            at = copy_in_steps(at, operation.front, operation.front_size)
            if operation.code < COLUMN_OPERATIONS:
                view = operation.view
                if row >= view.length:
                    return False
                fetch_ahead(view, row)
            if operation.code == LITERAL:
                pass
            elif operation.code == EVENT or operation.code == EVENT_PLACE:
                if operation.code == EVENT:
                    at = self._time(at, self._ts[self._event])
                number = self._thread[self._event]
                view = &self._texts.views[0]
                if 0 <= number < view.length:
                    if not span_of(view, number, 1, &data, &size):
                        return False
                    if out.data + out.room - at < size + STEP + self._room:
                        at = self._more(at, size)
                        if at is NULL:
                            return False
                    at = copy_in_steps(at, data, size)
                number = self._cpu[self._event]
                if number >= 0:
                    memcpy(at, b',"cpu":', 7)
                    at += 7 + write_digits(at + 7, <uint64_t>number)
            elif (operation.code == STRING or operation.code == STRING_IF) and view.offsets is NULL:
                number = id_of(view, row)
                if number < 0 or number >= self._known:
                    return False
                if operation.code == STRING_IF:
                    if number == 0:
                        operation += 1
                        continue
                    at = copy_in_steps(at, operation.text, operation.size)
                at = self._string(at, number, operation.code == STRING_IF)
                if at is NULL:
                    return False
            elif operation.code == EVENT_TIME:
                at = self._time(at, self._ts[self._event])
            elif operation.code == EVENT_DURATION:
                if self._durations[self._event] >= 0:
                    at = put_decimal(at, self._durations[self._event], self._places)
                else:
                    # Not known yet: it gets room for 20 digits.
                    out.used = at - out.data
                    if not append(&self._pending, <uint8_t*>&out.used, 8):
                        self._no_memory = True
                        return False
                    memcpy(at, b"0                   ", 20)
                    at += 20
            elif operation.code == ARGUMENT_CPU:
                number = self._cpu[self._event]
                if number < 0:
                    memcpy(at, b"null", 4)
                    at += 4
                else:
                    at += write_digits(at, <uint64_t>number)
            elif operation.code == EVENT_OWNER or operation.code == THREAD_OF:
                number = id_of(view, row) if operation.code == THREAD_OF else self._thread[self._event]
                view = &self._texts.views[operation.code == EVENT_OWNER]
                if 0 <= number < view.length:
                    if not span_of(view, number, 1, &data, &size):
                        return False
                    if out.data + out.room - at < size + STEP + self._room:
                        at = self._more(at, size)
                        if at is NULL:
                            return False
                    at = copy_in_steps(at, data, size)
                elif operation.code == EVENT_OWNER:
                    memcpy(at, b',"event_tid":null', 17)
                    at += 17
                else:
                    # Of no thread: the tid that is in the column behind its own.
                    view = operation.view + 1
                    if row >= view.length:
                        return False
                    memcpy(at, b',"pid":', 7)
                    at += 7 + write_integer(at + 7, bits_of(view, row, 8), True)
                    memcpy(at, b',"tid":', 7)
                    at += 7 + write_integer(at + 7, bits_of(view, row, 8), True)
            elif operation.code == SIGNED:
                at += write_integer(at, bits_of(view, row, 8), True)
            elif operation.code == UNSIGNED:
                at = put_unsigned(at, bits_of(view, row, 8))
            elif operation.code == HEXADECIMAL:
                at = put_address(at, bits_of(view, row, 8))
            elif operation.code == TIME:
                at = self._time(at, <int64_t>bits_of(view, row, 8))
            elif operation.code == BOOLEAN:
                size = 4 if value_at(view, row)[0] else 5
                memcpy(at, b"true" if size == 4 else b"false", size)
                at += size
            elif operation.code == IF_TRUE:
                if value_at(view, row)[0]:
                    at = copy_in_steps(at, operation.text, operation.size)
            else:
                out.used = at - out.data
                if not self._append(operation, row, level):
                    return False
                if not ensure(out, self._room):
                    self._no_memory = True
                    return False
                at = out.data + out.used
                if operation.code == ARRAY:
                    operation += operation.size
            operation += 1
        out.used = at - out.data
        return True

    # Room for text of some size, for what is copied with it, and for what follows; where to write from now on, or NULL.
    cdef uint8_t* _more(self, uint8_t* at, int64_t size) noexcept nogil:
        cdef Output* out = &self._out
        out.used = at - out.data
        if not ensure(out, size + STEP + self._room):
            self._no_memory = True
            return NULL
        return out.data + out.used

    # Put a string by its id, which is in range; the place behind it, with room for what follows, or NULL.
    cdef inline uint8_t* _string(self, uint8_t* at, int64_t id, bint plain) noexcept nogil:
        cdef Output* out = &self._out
        cdef Quoted* quoted = &self._quoted.of[id]
        cdef int64_t size = -quoted.size if plain and quoted.size < 0 else quoted.size
        if size > 0:
            if out.data + out.room - at < size + STEP + self._room:
                at = self._more(at, size)
                if at is NULL:
                    return NULL
            return copy_in_steps(at, self._quoted.kept.data + quoted.start, size)
        out.used = at - out.data
        if not quote(&self._quoted, out, self._strings, id, plain):
            self._no_memory = True
            return NULL
        return self._more(out.data + out.used, 0)

    # Text of any size: that of an operation which `_run` has no room for; false as there.
    cdef bint _append(self, const Operation* operation, int64_t row, int level) noexcept nogil:
        cdef const ColumnView* view = operation.view
        cdef const uint8_t* data = NULL
        cdef int64_t first, last, k
        cdef int64_t size = 0
        cdef int64_t after = 0
        cdef double floating
        cdef Output* out = &self._out
        cdef bint good = True
        if operation.code == FLOAT:
            memcpy(&floating, value_at(view, row), 8)
            good = put_float(out, floating)
        elif operation.code == ARRAY:
            if level >= MAX_LEVELS or not elements_of(view, row, &first, &last):
                return False
            put8(out, 91)
            if operation.size == 1 and operation[1].front_size == 0 \
                    and (operation[1].code == SIGNED or operation[1].code == UNSIGNED):
                view = operation[1].view
                if last > view.length and first < last:
                    return False
                good = append_integers(out, view, first, last, operation[1].code == SIGNED)
            else:
                for k in range(first, last):
                    if k > first:
                        put8(out, 44)
                    if not self._run(operation + 1, operation.size, k, level + 1):
                        return False
                    if not ensure(out, 2):
                        self._no_memory = True
                        return False
            good = good and append(out, b"]", 1)
        elif not span_of(view, row, 1, &data, &size):
            return False
        elif operation.code == STRING:
            good = put_string(out, data, size, False)
        elif operation.code == STRING_IF:
            if size:
                out.used = copy_in_steps(out.data + out.used, operation.text, operation.size) - out.data
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
