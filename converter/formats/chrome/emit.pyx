# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Emitting events as JSON text: columns to bytes, by a short program per event class.

A program is a list of operations of four numbers each: which, and up to three operands (`emit.pyi` says which).
Columns are numbered; every access to one is checked against its size, so that a wrong program cannot read elsewhere.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from converter.kernels.output cimport Blocks, Output as Memory
from converter.formats.chrome.json_text cimport (
    Buffer, FINE, append, append_padded, append_signed, append_unsigned, compact, is_hexadecimal, reserve,
    special_number,
)
from converter.formats.chrome.emit_text cimport (
    Seconds, put_address, put_base64, put_decimal, put_float, put_microseconds, put_string,
)
from converter.kernels.strings cimport Entry, PADDING, StringTable

cdef extern from *:
    void __builtin_prefetch(const void*) noexcept nogil

# The operations.
LITERAL = 1
TIME = 2
SIGNED = 3
UNSIGNED = 4
HEXADECIMAL = 5
FLOAT = 6
BOOLEAN = 7
STRING = 8
STRING_IF = 9
TEXT = 10
TEXT_IF = 11
JSON = 12
MEMBERS = 13
BASE64 = 14
ARRAY = 15
IF_TRUE = 16
EVENT_TIME = 20
EVENT_THREAD = 21
EVENT_OWNER = 22
EVENT_CPU = 23
ARGUMENT_CPU = 24
THREAD_OF = 25
DURATION = 26

#: Bytes that must follow the texts of threads.
TEXT_PADDING = PADDING

cdef enum:
    _LITERAL = 1
    _TIME = 2
    _SIGNED = 3
    _UNSIGNED = 4
    _HEXADECIMAL = 5
    _FLOAT = 6
    _BOOLEAN = 7
    _STRING = 8
    _STRING_IF = 9
    _TEXT = 10
    _TEXT_IF = 11
    _JSON = 12
    _MEMBERS = 13
    _BASE64 = 14
    _ARRAY = 15
    _IF_TRUE = 16
    _EVENT_TIME = 20
    _EVENT_THREAD = 21
    _EVENT_OWNER = 22
    _EVENT_CPU = 23
    _ARGUMENT_CPU = 24
    _THREAD_OF = 25
    _DURATION = 26

cdef enum:
    #: Digits that a duration which is not known yet has room for, and programs' levels of arrays.
    PLACEHOLDER = 20
    MAX_LEVELS = 32
    #: Text is handed over in blocks that stay in the processor's cache.
    BLOCK = 1 << 18
    #: How many events ahead memory is fetched: the rows of their classes lie in many columns.
    AHEAD = 10
    #: Quoted forms are kept of strings of up to so many bytes, and of so many bytes in all.
    LONGEST_KEPT = 200
    MOST_KEPT = 1 << 24

cdef struct Span:
    const uint8_t* data
    int64_t size
    # Of a value: only to fetch it in time.
    int64_t width


cdef class Program:
    cdef int32_t* _code
    cdef int64_t _count
    cdef uint8_t* _text
    cdef list _columns
    cdef Span* _spans
    cdef int64_t _span_count

    def __cinit__(self, const int32_t[::1] code, bytes literals, int columns):
        cdef int64_t i
        cdef int64_t size = len(literals)
        if code.shape[0] % 4 or columns < 0:
            raise ValueError("a program has four numbers an operation")
        self._count = code.shape[0] // 4
        self._columns = [None] * columns
        self._span_count = columns
        self._code = <int32_t*>calloc(code.shape[0] + 1, sizeof(int32_t))
        self._spans = <Span*>calloc(columns + 1, sizeof(Span))
        self._text = <uint8_t*>calloc(size + PADDING, 1)
        if self._code is NULL or self._spans is NULL or self._text is NULL:
            raise MemoryError
        memcpy(self._text, <const uint8_t*>literals, size)
        for i in range(code.shape[0]):
            self._code[i] = code[i]
        for i in range(self._count):
            # An operation with a literal has its place last.
            if code[i * 4] == _LITERAL or code[i * 4] == _STRING_IF or code[i * 4] == _TEXT_IF \
                    or code[i * 4] == _IF_TRUE:
                if code[i * 4 + 2] < 0 or code[i * 4 + 3] < 0 or code[i * 4 + 2] > size - code[i * 4 + 3]:
                    raise ValueError("a literal lies outside the text")
            elif code[i * 4] == _ARRAY and not 0 <= code[i * 4 + 2] < self._count - i:
                raise ValueError("the elements of an array lie outside the program")
            if 0 <= code[i * 4 + 1] < columns:
                self._spans[code[i * 4 + 1]].width = _width_of(code[i * 4])

    def __dealloc__(self):
        free(self._code)
        free(self._spans)
        free(self._text)

    def bind(self, columns):
        cdef const uint8_t[::1] view
        cdef int64_t i
        if len(columns) != self._span_count:
            raise ValueError("the program has another number of columns")
        self._columns = list(columns)
        for i in range(self._span_count):
            view = self._columns[i]
            self._spans[i].size = view.shape[0]
            self._spans[i].data = &view[0] if view.shape[0] else NULL

    def release(self):
        cdef int64_t i
        self._columns = [None] * self._span_count
        for i in range(self._span_count):
            self._spans[i].data = NULL
            self._spans[i].size = 0


cdef int64_t _width_of(int32_t operation):
    if operation == _LITERAL:
        return 0
    if operation == _STRING or operation == _STRING_IF or operation == _THREAD_OF:
        return 4
    return 1 if operation == _BOOLEAN or operation == _IF_TRUE else 8


cdef inline void fetch(const Span* spans, int64_t count, int64_t row) noexcept nogil:
    """The values of a row, which need not exist."""
    cdef int64_t i
    for i in range(count):
        if spans[i].width:
            __builtin_prefetch(spans[i].data + row * spans[i].width)


# Where the quoted form of a string is among those that are kept, and its size; 0 where it is not. Of one that could be
# taken for a number the size is below 0.
cdef struct Quoted:
    int64_t start
    int64_t size


cdef class Emitter:
    cdef StringTable _strings
    cdef Buffer _out
    cdef Buffer _scratch
    cdef Buffer _pending
    cdef Blocks _blocks
    cdef int _places
    cdef bint _no_memory
    cdef Seconds _seconds
    cdef Quoted* _quoted
    cdef int64_t _quoted_room
    cdef Buffer _kept
    # Of the batch.
    cdef const uint8_t* _threads
    cdef const int64_t* _thread_at
    cdef int64_t _thread_count
    cdef const uint8_t* _owners
    cdef const int64_t* _owner_at
    cdef int64_t _ts
    cdef int32_t _thread
    cdef int32_t _cpu

    def __cinit__(self, StringTable strings, int places):
        if not 0 <= places <= 18:
            raise ValueError("times have 0 to 18 decimals")
        self._strings = strings
        self._places = places
        self._blocks = Blocks()

    def __dealloc__(self):
        free(self._out.data)
        free(self._scratch.data)
        free(self._pending.data)
        free(self._kept.data)
        free(self._quoted)

    def emit(
        self, list programs, const int32_t[::1] class_id, const int32_t[::1] row, const int64_t[::1] ts,
        const int32_t[::1] thread, const int32_t[::1] cpu, const uint8_t[::1] threads, const int64_t[::1] thread_at,
        const uint8_t[::1] owners, const int64_t[::1] owner_at, int64_t start,
    ):
        cdef int64_t count = class_id.shape[0]
        cdef int64_t i = start
        cdef int64_t number, ahead
        cdef Memory memory
        cdef int64_t classes = len(programs)
        cdef Program program
        cdef void** found
        cdef bint good = True
        if row.shape[0] != count or ts.shape[0] != count or thread.shape[0] != count or cpu.shape[0] != count:
            raise ValueError("columns differ in length")
        if not 0 <= start <= count:
            raise ValueError(f"event {start} of {count}")
        self._thread_count = _checked_offsets(threads, thread_at)
        if _checked_offsets(owners, owner_at) != self._thread_count:
            raise ValueError("threads and owners differ in number")
        self._out.used = 0
        self._pending.used = 0
        self._no_memory = False
        if not reserve(&self._out, BLOCK + BLOCK // 8) or not self._make_room_for_quoted():
            raise MemoryError
        self._threads = &threads[0]
        self._thread_at = &thread_at[0]
        self._owners = &owners[0]
        self._owner_at = &owner_at[0]
        # Borrowed: the list keeps the programs.
        found = <void**>calloc(classes + 1, sizeof(void*))
        if found is NULL:
            raise MemoryError
        for number in range(classes):
            if programs[number] is not None:
                program = programs[number]
                found[number] = <void*>program
        with nogil:
            while i < count and self._out.used < BLOCK:
                if class_id[i] < 0 or class_id[i] >= classes or found[class_id[i]] is NULL or row[i] < 0:
                    good = False
                    break
                ahead = i + AHEAD
                if ahead < count and 0 <= class_id[ahead] < classes and found[class_id[ahead]] is not NULL:
                    fetch(
                        (<Program>found[class_id[ahead]])._spans, (<Program>found[class_id[ahead]])._span_count,
                        row[ahead],
                    )
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
        memory.data, memory.used, memory.room = self._out.data, self._out.used, self._out.room
        memset(&self._out, 0, sizeof(Buffer))
        data = self._blocks.hand_over(&memory)
        self._out.data, self._out.room = memory.data, memory.room
        return data, pending, i

    cdef bint _make_room_for_quoted(self):
        cdef int64_t count = self._strings._count
        cdef Quoted* grown
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
        cdef Buffer* out = &self._out
        cdef Entry* entry
        cdef Quoted* quoted = NULL
        cdef int64_t start
        if id < self._quoted_room:
            quoted = &self._quoted[id]
            if quoted.size > 0:
                return append_padded(out, self._kept.data + quoted.start, quoted.size)
            if quoted.size < 0 and plain:
                return append_padded(out, self._kept.data + quoted.start, -quoted.size)
        entry = self._strings.entry(<int32_t>id)
        start = out.used
        if not put_string(out, entry.data, entry.size, plain):
            return False
        if quoted is NULL or quoted.size or entry.size > LONGEST_KEPT or self._kept.used >= MOST_KEPT:
            return True
        if is_hexadecimal(entry.data, entry.size) or special_number(entry.data, entry.size):
            if not plain:
                return True
            quoted.size = start - out.used
        else:
            quoted.size = out.used - start
        quoted.start = self._kept.used
        return append(&self._kept, out.data + start, out.used - start) and reserve(&self._kept, PADDING)

    cdef bint _program(self, void* program, int64_t row) noexcept nogil:
        cdef Span* spans = (<Program>program)._spans
        return self._run(
            (<Program>program)._code, (<Program>program)._count, spans, (<Program>program)._span_count,
            (<Program>program)._text, row, 0,
        )

    # Run `count` operations for one row; false where a column ends before it, or there is no memory.
    cdef bint _run(
        self, const int32_t* code, int64_t count, const Span* spans, int64_t span_count, const uint8_t* text,
        int64_t row, int level,
    ) noexcept nogil:
        cdef int64_t i = 0
        cdef int32_t operation, a, b, c
        cdef int64_t start, end, k, number
        cdef int64_t after = 0
        cdef uint64_t unsigned
        cdef double floating
        cdef Buffer* out = &self._out
        cdef bint good
        while i < count:
            operation = code[i * 4]
            a = code[i * 4 + 1]
            b = code[i * 4 + 2]
            c = code[i * 4 + 3]
            good = True
            if operation == _LITERAL:
                good = append_padded(out, text + b, c)
            elif operation == _EVENT_TIME:
                good = self._time(self._ts)
            elif operation == _EVENT_THREAD or operation == _EVENT_OWNER or operation == _EVENT_CPU \
                    or operation == _ARGUMENT_CPU:
                good = self._place(operation)
            else:
                if a < 0 or a >= span_count:
                    return False
                if operation == _STRING or operation == _STRING_IF or operation == _THREAD_OF:
                    if (row + 1) * 4 > spans[a].size:
                        return False
                    number = (<const int32_t*>spans[a].data)[row]
                    if operation == _THREAD_OF:
                        if b < 0 or b >= span_count or (row + 1) * 8 > spans[b].size:
                            return False
                        if 0 <= number < self._thread_count:
                            start = self._thread_at[number]
                            good = append_padded(out, self._threads + start, self._thread_at[number + 1] - start)
                        else:
                            number = (<const int64_t*>spans[b].data)[row]
                            good = (
                                append(out, b',"pid":', 7) and append_signed(out, number)
                                and append(out, b',"tid":', 7) and append_signed(out, number)
                            )
                    else:
                        if number < 0 or number >= self._strings._count:
                            return False
                        if operation == _STRING or number:
                            if operation == _STRING_IF:
                                good = append_padded(out, text + b, c)
                            good = good and self._string(number, operation == _STRING_IF)
                elif operation == _BOOLEAN or operation == _IF_TRUE:
                    if row + 1 > spans[a].size:
                        return False
                    if operation == _IF_TRUE:
                        good = append_padded(out, text + b, c) if spans[a].data[row] else True
                    elif spans[a].data[row]:
                        good = append(out, b"true", 4)
                    else:
                        good = append(out, b"false", 5)
                elif operation == _TEXT or operation == _TEXT_IF or operation == _JSON or operation == _MEMBERS \
                        or operation == _BASE64 or operation == _ARRAY:
                    # Offsets are in column a; texts in the next one.
                    if (row + 2) * 8 > spans[a].size:
                        return False
                    start = (<const int64_t*>spans[a].data)[row]
                    end = (<const int64_t*>spans[a].data)[row + 1]
                    if start < 0 or end < start:
                        return False
                    if operation == _ARRAY:
                        if level >= MAX_LEVELS:
                            return False
                        good = append(out, b"[", 1)
                        for k in range(start, end):
                            if k > start:
                                good = good and append(out, b",", 1)
                            if not good or not self._run(
                                code + (i + 1) * 4, b, spans, span_count, text, k, level + 1
                            ):
                                return False
                        good = good and append(out, b"]", 1)
                        i += b
                    else:
                        if a + 1 >= span_count or end > spans[a + 1].size:
                            return False
                        if operation == _TEXT or operation == _TEXT_IF:
                            if operation == _TEXT or end > start:
                                if operation == _TEXT_IF:
                                    good = append_padded(out, text + b, c)
                                good = good and put_string(
                                    out, spans[a + 1].data + start, end - start, operation == _TEXT_IF
                                )
                        elif operation == _BASE64:
                            good = put_base64(out, &self._scratch, spans[a + 1].data + start, end - start)
                        elif operation == _JSON:
                            k = out.used
                            if compact(spans[a + 1].data, start, end, out, &after) != FINE or after != end:
                                # What claims to be JSON and is not goes out as text.
                                out.used = k
                                good = put_string(out, spans[a + 1].data + start, end - start, False)
                        else:
                            good = self._members(spans[a + 1].data, start, end)
                else:
                    if (row + 1) * 8 > spans[a].size:
                        return False
                    number = (<const int64_t*>spans[a].data)[row]
                    if operation == _SIGNED:
                        good = append_signed(out, number)
                    elif operation == _TIME:
                        good = self._time(number)
                    elif operation == _DURATION:
                        good = self._duration(number)
                    elif operation == _HEXADECIMAL:
                        good = put_address(out, <uint64_t>number)
                    elif operation == _UNSIGNED:
                        unsigned = <uint64_t>number
                        if unsigned >> 63:
                            good = append(out, b'"', 1) and append_unsigned(out, unsigned) and append(out, b'"', 1)
                        else:
                            good = append_unsigned(out, unsigned)
                    elif operation == _FLOAT:
                        memcpy(&floating, &number, 8)
                        good = put_float(out, floating)
                    else:
                        return False
            if not good:
                self._no_memory = True
                return False
            i += 1
        return True

    cdef bint _place(self, int32_t operation) noexcept nogil:
        cdef Buffer* out = &self._out
        cdef int64_t start
        if operation == _EVENT_CPU:
            return self._cpu < 0 or (append(out, b',"cpu":', 7) and append_unsigned(out, <uint64_t>self._cpu))
        if operation == _ARGUMENT_CPU:
            return append(out, b"null", 4) if self._cpu < 0 else append_unsigned(out, <uint64_t>self._cpu)
        if self._thread < 0 or self._thread >= self._thread_count:
            return operation == _EVENT_THREAD or append(out, b',"event_tid":null', 17)
        if operation == _EVENT_THREAD:
            start = self._thread_at[self._thread]
            return append_padded(out, self._threads + start, self._thread_at[self._thread + 1] - start)
        start = self._owner_at[self._thread]
        return append_padded(out, self._owners + start, self._owner_at[self._thread + 1] - start)

    # The members of a JSON object, behind a comma; nothing for what is none.
    cdef bint _members(self, const uint8_t* data, int64_t start, int64_t end) noexcept nogil:
        cdef Buffer* out = &self._out
        cdef int64_t used = out.used
        cdef int64_t after = 0
        if compact(data, start, end, out, &after) != FINE or after != end or out.data[used] != 123 \
                or out.used - used <= 2:
            out.used = used
            return reserve(out, 0)
        out.data[used] = 44
        out.used -= 1
        return True

    cdef bint _time(self, int64_t value) noexcept nogil:
        if self._places == 3:
            return put_microseconds(&self._out, &self._seconds, value)
        return put_decimal(&self._out, value, self._places)

    # A duration; one below 0 is not known yet, and gets room.
    cdef bint _duration(self, int64_t value) noexcept nogil:
        cdef Buffer* out = &self._out
        cdef int i
        if value >= 0:
            return put_decimal(out, value, self._places)
        if not append(&self._pending, <uint8_t*>&out.used, 8) or not append(out, b"0", 1):
            return False
        for i in range(PLACEHOLDER - 1):
            if not append(out, b" ", 1):
                return False
        return True


cdef int64_t _checked_offsets(const uint8_t[::1] text, const int64_t[::1] offsets) except -1:
    cdef int64_t i
    if offsets.shape[0] < 1 or offsets[0] < 0:
        raise ValueError("offsets begin at 0 or later")
    for i in range(offsets.shape[0] - 1):
        if offsets[i + 1] < offsets[i]:
            raise ValueError("offsets fall")
    if offsets[offsets.shape[0] - 1] > text.shape[0] - PADDING:
        raise ValueError("a text lies outside, or has no padding behind it")
    return offsets.shape[0] - 1
