# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Emitting events as JSON text: columns to bytes, by the program of each event's class.

Every row is checked against the length of its column.
"""

# Stub:
# from converter.formats.json_values.emit_programs import Program
# from converter.kernels.batches.event_arrays import EventArrays
# from converter.kernels.tables.strings import StringTable
#
# #: The number of bytes that must follow the texts of threads.
# TEXT_PADDING: int

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from converter.formats.json_values.text cimport FINE, compact
from converter.formats.json_values.emit_programs cimport (
    ARRAY, BASE64, BOOLEAN, COLUMN_OPERATIONS, EVENT, EVENT_PLACE, EVENT_TIME,
    FLOAT, HEXADECIMAL, IF_TRUE, LITERAL, MEMBERS, MOST_OF_TEXT, PLAIN_STRING, SIGNED, STEP, STRING, STRING_IF, TIME,
    UNSIGNED, Operation, Program,
)
from converter.formats.json_values.emit_strings cimport Quoted, QuotedStrings, make_room_for, quote
from converter.formats.json_values.emit_text cimport (
    MOST_OF_SHORT, Millisecond, append_integers, put_address, put_base64, put_decimal, put_float, put_microseconds, put_short, put_string,
    put_unsigned,
)
from converter.kernels.batches.column_view cimport (
    ColumnView, TAKES_BYTES, bits_of, elements_of, fetch_ahead, fetch_list_ahead, id_of, span_of, value_at,
)
from converter.kernels.batches.columns cimport BoundColumns
from converter.kernels.text.decimal cimport write_digits, write_integer
from converter.kernels.batches.event_arrays cimport EventArrays, Events, WITH_CLASS, WITH_CPU, WITH_ROW, WITH_THREAD
from converter.kernels.io.output cimport Blocks, Output, append, ensure, put8
from converter.kernels.tables.strings cimport StringTable

#: Bytes that must follow the texts of threads.
TEXT_PADDING = STEP

cdef enum:
    #: Programs' levels of arrays.
    MAX_LEVELS = 32
    #: Text is handed over in blocks, each by the interpreter, for which others wait.
    BLOCK = 1 << 21


# Copy data with STEP readable bytes after it to memory with room for STEP more; return the position after the copy.
# Most data are short and take no more than the first step.
cdef inline uint8_t* copy_in_steps(uint8_t* at, const uint8_t* data, int64_t size) noexcept nogil:
    cdef int64_t i = STEP
    memcpy(at, data, STEP)
    while i < size:
        memcpy(at + i, data + i, STEP)
        i += STEP
    return at + size


cdef class Emitter:
    """Emits batches as text: the programs of their events, one after the other."""

    cdef StringTable _strings
    cdef Output _out
    cdef Output _scratch
    cdef Blocks _blocks
    cdef int _places
    cdef bint _no_memory
    cdef Millisecond _millisecond
    cdef QuotedStrings _quoted
    # The batch: the number of strings, the texts of threads.
    cdef int64_t _known
    cdef BoundColumns _texts
    # Of its events, and which of them is emitted.
    cdef Events _events
    cdef void** _programs
    cdef int64_t _classes
    cdef int64_t _event
    # Room for its program.
    cdef int64_t _room

    def __cinit__(self, StringTable strings, int places):
        """Times are in units of 10**-places."""
        if not 0 <= places <= 18:
            raise ValueError("times have 0 to 18 decimals")
        self._strings = strings
        self._places = places
        self._blocks = Blocks()
        self._texts = BoundColumns(1)

    def __dealloc__(self):
        free(self._out.data)
        free(self._scratch.data)
        free(self._quoted.kept.data)
        free(self._quoted.of)

    def emit(
        self,
        list programs: list[Program | None],
        EventArrays columns not None,
        threads: tuple[NDArray[uint8], NDArray[int64]],
        int64_t start,
        int64_t stop,
    ) -> tuple[memoryview, int]:
        """The text of the events of a batch from number `start` on, before `stop`, until a block is full.

        Returns the text and the number of the next event. The text is a block that is used again when it is let go of.
        `threads` are the texts of threads, one after the other and `TEXT_PADDING` bytes at the end, with n + 1 offsets.
        Raises ValueError when an event is outside of
        its class's columns. Releases the GIL. Emitters of one trace may be at work at the same time, with the same
        programs.
        """
        cdef int64_t count = columns.count
        cdef int64_t i, number
        cdef int64_t classes = len(programs)
        cdef ColumnView* view
        cdef uint8_t* at = NULL
        self._events = columns.common(WITH_CLASS | WITH_ROW | WITH_THREAD | WITH_CPU)
        if not 0 <= start <= stop <= count:
            raise ValueError(f"events {start} to {stop} of {count}")
        self._texts.release()
        view = self._texts.bind(0, TAKES_BYTES, 1, threads, 0)
        view.extent -= STEP
        self._out.used = 0
        self._no_memory = False
        self._known = self._strings._count
        if not ensure(&self._out, BLOCK + BLOCK // 8) or not make_room_for(&self._quoted, self._known):
            raise MemoryError
        # Borrowed: the list keeps the programs.
        self._programs = <void**>calloc(classes + 1, sizeof(void*))
        if self._programs is NULL:
            raise MemoryError
        self._classes = classes
        self._event = start
        try:
            for number in range(classes):
                if programs[number] is not None:
                    self._programs[number] = <void*><Program?>programs[number]
            if start < stop:
                with nogil:
                    at = self._run(self._out.data, NULL, NULL, start, stop, 0)
                    if at is not NULL:
                        self._out.used = at - self._out.data
        finally:
            free(self._programs)
            self._programs = NULL
        if self._no_memory:
            raise MemoryError
        if start < stop and at is NULL:
            raise ValueError(f"event {self._event} is outside of its class's columns")
        return self._blocks.hand_over(&self._out), self._event

    # Run the programs of events up to `stop`, or until the block is full. For elements (`level` > 0) run these
    # operations with commas between the elements. Returns the position after the output, which starts at `at`, or NULL
    # where a column ends before a row or memory runs out. `_event` is the next event then. The output has room for the
    # parts of a program that have a fixed size; room is made again after each part that has none.
    cdef uint8_t* _run(
        self, uint8_t* at, const Operation* operations, const Operation* end, int64_t start, int64_t stop, int level
    ) noexcept nogil:
        cdef const Operation* operation
        cdef const ColumnView* view = NULL
        cdef void* program
        cdef Output* out = &self._out
        cdef Quoted* quoted
        cdef int64_t number, row, i
        cdef int64_t size = 0
        cdef int32_t code
        cdef const uint8_t* data = NULL
        cdef uint8_t* short
        for i in range(start, stop):
            operation = operations
            row = i
            if not level:
                self._event = i
                if at - out.data >= BLOCK:
                    return at
                number = self._events.class_id[i]
                row = self._events.row[i]
                if number < 0 or number >= self._classes or self._programs[number] is NULL or row < 0:
                    return NULL
                program = self._programs[number]
                self._room = (<Program>program).room
                operation = (<Program>program).operations
                end = operation + (<Program>program).count
                if row >= (<Program>program).rows:
                    return NULL
            elif i > start:
                at[0] = c','
                at += 1
            if out.data + out.room - at <= self._room:
                at = self._more(at, 1)
                if at is NULL:
                    return NULL
            while operation < end:
                at = copy_in_steps(at, operation.front, operation.front_size)
                code = operation.code
                if code < COLUMN_OPERATIONS:
                    view = operation.view
                    fetch_ahead(view, row)
                if code == LITERAL:
                    pass
                elif code == EVENT or code == EVENT_PLACE:
                    if code == EVENT:
                        at = self._time(at, self._events.ts[self._event])
                    at = self._place(at)
                    if at is NULL:
                        return NULL
                    at = copy_in_steps(at, operation.text, operation.size)
                elif code == STRING or code == PLAIN_STRING or code == STRING_IF:
                    if view.offsets is not NULL:
                        short = NULL
                        fetch_list_ahead(view, row)
                        if code == STRING and span_of(view, row, 1, &data, &size) and size <= MOST_OF_SHORT \
                                and data + MOST_OF_SHORT < view.data + view.extent:
                            short = put_short(at, data, size)
                        if short is NULL:
                            short = self._append(at, operation, row, level)
                        at = short
                        if at is NULL:
                            return NULL
                        operation += 1
                        continue
                    number = id_of(view, row)
                    if number < 0 or number >= self._known:
                        return NULL
                    if code == STRING_IF:
                        if number == 0:
                            operation += 1
                            continue
                        at = copy_in_steps(at, operation.text, operation.size)
                    quoted = &self._quoted.of[number]
                    if quoted.size > 0:
                        at = copy_in_steps(at, self._quoted.kept.data + quoted.start, quoted.size)
                    else:
                        at = self._string(at, number, code != STRING)
                        if at is NULL:
                            return NULL
                elif code == SIGNED:
                    at += write_integer(at, bits_of(view, row, 8), True)
                elif code == UNSIGNED:
                    at = put_unsigned(at, bits_of(view, row, 8))
                elif code == HEXADECIMAL:
                    at = put_address(at, bits_of(view, row, 8))
                elif code == EVENT_TIME:
                    at = self._time(at, self._events.ts[self._event])
                elif code == TIME:
                    at = self._time(at, <int64_t>bits_of(view, row, 8))
                elif code == BOOLEAN:
                    size = 4 if value_at(view, row)[0] else 5
                    memcpy(at, b"true" if size == 4 else b"false", size)
                    at += size
                elif code == IF_TRUE:
                    if value_at(view, row)[0]:
                        at = copy_in_steps(at, operation.text, operation.size)
                else:
                    at = self._append(at, operation, row, level)
                    if at is NULL:
                        return NULL
                    if code == ARRAY:
                        operation += operation.size
                operation += 1
        if not level:
            self._event = stop
        return at

    # Room for text of some size, for what is copied with it, and for what follows; where to write from now on, or NULL.
    cdef uint8_t* _more(self, uint8_t* at, int64_t size) noexcept nogil:
        cdef Output* out = &self._out
        out.used = at - out.data
        if not ensure(out, size + STEP + self._room):
            self._no_memory = True
            return NULL
        return out.data + out.used

    # Put the thread and CPU of the event; return the position after them, or NULL.
    cdef inline uint8_t* _place(self, uint8_t* at) noexcept nogil:
        cdef const ColumnView* threads = &self._texts.views[0]
        cdef int64_t number = self._events.thread[self._event]
        if 0 <= number < threads.length:
            at = self._text(at, threads, number)
            if at is NULL:
                return NULL
        number = self._events.cpu[self._event]
        if number >= 0:
            memcpy(at, b',"cpu":', 7)
            at += 7 + write_digits(at + 7, <uint64_t>number)
        return at

    # Put the text of a thread, which is in range; return the position after it, or NULL.
    cdef inline uint8_t* _text(self, uint8_t* at, const ColumnView* texts, int64_t number) noexcept nogil:
        cdef const uint8_t* data = NULL
        cdef int64_t size = 0
        if not span_of(texts, number, 1, &data, &size):
            return NULL
        if size > MOST_OF_TEXT:
            at = self._more(at, size)
            if at is NULL:
                return NULL
        return copy_in_steps(at, data, size)

    # Put a string, by its id, whose quoted form is not kept, or for plain text alone; return the position after it, or
    # NULL.
    cdef uint8_t* _string(self, uint8_t* at, int64_t id, bint plain) noexcept nogil:
        cdef Output* out = &self._out
        cdef Quoted* quoted = &self._quoted.of[id]
        if plain and quoted.size < 0:
            return copy_in_steps(at, self._quoted.kept.data + quoted.start, -quoted.size)
        out.used = at - out.data
        if not quote(&self._quoted, out, self._strings, id, plain):
            self._no_memory = True
            return NULL
        return self._more(out.data + out.used, 0)

    # Put text of any size: the output of an operation for which `_run` has no room. Return the position after it, or
    # NULL.
    cdef uint8_t* _append(self, uint8_t* at, const Operation* operation, int64_t row, int level) noexcept nogil:
        cdef const ColumnView* view = operation.view
        cdef const uint8_t* data = NULL
        cdef int64_t first, last, used
        cdef int64_t size = 0
        cdef int64_t after = 0
        cdef double floating
        cdef Output* out = &self._out
        cdef bint good = True
        out.used = at - out.data
        if operation.code == FLOAT:
            memcpy(&floating, value_at(view, row), 8)
            good = put_float(out, floating)
        elif operation.code == ARRAY:
            if level >= MAX_LEVELS or not elements_of(view, row, &first, &last) or first < last and last > operation.rows[0]:
                return NULL
            put8(out, c'[')
            if operation.size == 1 and operation[1].front_size == 0 \
                    and (operation[1].code == SIGNED or operation[1].code == UNSIGNED):
                good = append_integers(out, operation[1].view, first, last, operation[1].code == SIGNED)
            else:
                at = self._run(
                    out.data + out.used, operation + 1, operation + 1 + operation.size, first, last, level + 1
                )
                if at is NULL:
                    return NULL
                out.used = at - out.data
            good = good and append(out, b"]", 1)
        elif not span_of(view, row, 1, &data, &size):
            return NULL
        elif operation.code == STRING or operation.code == PLAIN_STRING:
            good = put_string(out, data, size, operation.code == PLAIN_STRING)
        elif operation.code == STRING_IF:
            if size:
                out.used = copy_in_steps(out.data + out.used, operation.text, operation.size) - out.data
                good = put_string(out, data, size, True)
        elif operation.code == BASE64:
            good = put_base64(out, &self._scratch, data, size)
        elif operation.code == MEMBERS:
            good = self._members(data, size)
        else:
            used = out.used
            if compact(data, 0, size, out, &after) != FINE or after != size:
                # Text that claims to be JSON and is not is written as a string.
                out.used = used
                good = put_string(out, data, size, False)
        if not good:
            self._no_memory = True
            return NULL
        return self._more(out.data + out.used, 0)

    # Put the members of a JSON object, after a comma; nothing for any other text.
    cdef bint _members(self, const uint8_t* data, int64_t size) noexcept nogil:
        cdef Output* out = &self._out
        cdef int64_t used = out.used
        cdef int64_t after = 0
        if compact(data, 0, size, out, &after) != FINE or after != size or out.data[used] != c'{' \
                or out.used - used <= 2:
            out.used = used
            return True
        out.data[used] = c','
        out.used -= 1
        return True

    cdef inline uint8_t* _time(self, uint8_t* at, int64_t value) noexcept nogil:
        if self._places == 3:
            return put_microseconds(at, &self._millisecond, value)
        return put_decimal(at, value, self._places)
