# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Inverse print formats: the texts of events become the records that they were printed from.

A program is what a print format prints, read from left to right: literal text that must be there, and fields whose
values it says where to store in the record.
"""

# Stub:
# from converter.formats.ftrace.lines.scan.line_scan import Lines
# from converter.kernels.tables.strings import StringTable
#
# #: The steps of programs; the columns of `steps` are (step, place, offset, size, a, b, c, d):
# #: LITERAL: the text at a of b bytes.
# STEP_LITERAL: int
# #: SPACES: any number of them.
# STEP_SPACES: int
# #: NUMBER: of base a, times b, which sets the field where c; d: its sign and the like (`NUMBER_...`).
# STEP_NUMBER: int
# #: TEXT: up to the literal that follows, or the end; spaces at its end do not count where c.
# STEP_TEXT: int
# #: CHOICE: one of the b texts of choices from a on, or a number; sets the field where c.
# STEP_CHOICE: int
# #: FLAGS: texts of choices with the delimiter (one byte, d) between them, or numbers; sets the field where c.
# STEP_FLAGS: int
# #: SYMBOL: a function, perhaps with a distance, or its address.
# STEP_SYMBOL: int
# #: FRAMES: lines of a stack, as an array of addresses.
# STEP_FRAMES: int
# #: Also (nil) and (null).
# NUMBER_POINTER: int
# #: INDENT: two spaces and two more for each function around: the depth of a call.
# STEP_INDENT: int
# #: CALL: notes the function of the field as the one that its task has called at the depth in the next field.
# STEP_CALL: int
# #: RETURN: the function that the task has called at the depth in the next field, into the field.
# STEP_RETURN: int
# #: MICROSECONDS: with up to three decimals, into a field of nanoseconds.
# STEP_MICROSECONDS: int
# #: Where a field is: at its offset, at a data location (from the record, or from the location), or to the end.
# PLACE_INLINE: int
# PLACE_DATA: int
# PLACE_RELATIVE: int
# PLACE_TAIL: int
# #: The address of the first function by name, and the distance between two.
# SYMBOL_BASE: int
# SYMBOL_STEP: int

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from converter.formats.ftrace.lines.function_names cimport SHIFT, first_address, read_function
from converter.formats.ftrace.lines.scan.line_scan cimport Lines
from converter.formats.ftrace.lines.written_values cimport (
    Cursor, plain_number, read_number, read_thousandths, unescape
)
from converter.kernels.io.byte_order cimport HOST_IS_BIG, load32, load64, store16, store32, store64
from converter.kernels.io.output cimport Blocks, Output, ensure
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    LITERAL = 1
    SPACES = 2
    NUMBER = 3
    TEXT = 4
    CHOICE = 5
    FLAGS = 6
    SYMBOL = 7
    FRAMES = 8
    INDENT = 9
    CALL = 10
    RETURN = 11
    MICROSECONDS = 12
    # Tasks whose calls are remembered, by the last bits of their number, and how deep.
    CALLERS = 1024
    MOST_DEPTH = 64
    POINTER = 2
    INLINE = 0
    DATA = 1
    RELATIVE = 2
    TAIL = 3
    # Common fields of a record.
    HEADER = 8
    # The number of its delimiters at which a text may end.
    MOST_TRIES = 64
    MOST_DYNAMIC = 65535
    COLUMNS = 8

STEP_LITERAL = LITERAL
STEP_SPACES = SPACES
STEP_NUMBER = NUMBER
STEP_TEXT = TEXT
STEP_CHOICE = CHOICE
STEP_FLAGS = FLAGS
STEP_SYMBOL = SYMBOL
STEP_FRAMES = FRAMES
STEP_INDENT = INDENT
STEP_CALL = CALL
STEP_RETURN = RETURN
STEP_MICROSECONDS = MICROSECONDS
NUMBER_POINTER = POINTER
PLACE_INLINE = INLINE
PLACE_DATA = DATA
PLACE_RELATIVE = RELATIVE
PLACE_TAIL = TAIL

SYMBOL_BASE = first_address()
SYMBOL_STEP = 1 << SHIFT


# The functions that a task has called, by depth.
cdef struct Calls:
    int32_t pid
    uint64_t[MOST_DEPTH] functions


cdef class Inverses:
    """Programs by event name, which are tried in their order.

    Args:
        symbols: the names of functions; a function's address is `SYMBOL_BASE` and its number times `SYMBOL_STEP`.
        escaped: bytes of texts are written as ``\\xNN`` too.

    """

    # Stub:
    # def __init__(self, symbols: StringTable, *, escaped: bool = False) -> None: ...

    cdef StringTable _symbols
    cdef Blocks _blocks
    cdef bint _escaped
    cdef Calls* _calls
    cdef const int64_t[:, ::1] _steps
    cdef const int64_t[:, ::1] _choices
    cdef const int64_t[:, ::1] _programs
    cdef const uint8_t[::1] _texts
    cdef const int32_t[::1] _first
    cdef const int32_t[::1] _candidates

    def __init__(self, StringTable symbols not None, *, bint escaped=False):
        self._symbols = symbols
        self._escaped = escaped
        self._blocks = Blocks()
        self._calls = <Calls*>calloc(CALLERS, sizeof(Calls))
        if self._calls is NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._calls)

    def load(
        self,
        programs: tuple[NDArray[int64], NDArray[int64], NDArray[int64], bytes],
        first: NDArray[int32],
        candidates: NDArray[int32],
    ) -> None:
        """Take programs: rows of (first step, steps, bytes of fields), their steps, choices and texts.

        The programs of name n are ``candidates[first[n + 1]:first[n + 2]]``, those of lines without one are n = -1.
        Raises ValueError for programs that lead out of their tables or records.
        """
        self._programs, self._steps, self._choices = programs[0], programs[1], programs[2]
        # There is an address of it even where it is empty.
        self._texts = programs[3] + b"\0"
        self._first = first
        self._candidates = candidates
        self._check()

    def _check(self):
        cdef int64_t i, step, texts = self._texts.shape[0], steps = self._steps.shape[0]
        cdef int64_t choices = self._choices.shape[0]
        cdef bint good = self._steps.shape[1] == COLUMNS and self._programs.shape[1] == 3 and self._choices.shape[1] == 3
        if not good or self._first.shape[0] < 1:
            raise ValueError("tables of other shapes")
        for i in range(choices):
            good &= 0 <= self._choices[i, 0] <= texts and 0 <= self._choices[i, 1] <= texts - self._choices[i, 0]
        for i in range(self._programs.shape[0]):
            good &= 0 <= self._programs[i, 0] and 0 <= self._programs[i, 1] <= steps - self._programs[i, 0]
            good &= HEADER <= self._programs[i, 2] <= MOST_DYNAMIC
            if not good:
                break
            for step in range(self._programs[i, 0], self._programs[i, 0] + self._programs[i, 1]):
                good &= self._fits(step, self._programs[i, 2], texts, choices)
        for i in range(self._first.shape[0]):
            good &= 0 <= self._first[i] <= self._candidates.shape[0]
            good &= i == 0 or self._first[i] >= self._first[i - 1]
        for i in range(self._candidates.shape[0]):
            good &= 0 <= self._candidates[i] < self._programs.shape[0]
        if not good:
            raise ValueError("a program leads out of its tables")

    cdef bint _fits(self, int64_t i, int64_t fixed, int64_t texts, int64_t choices):
        cdef int64_t step = self._steps[i, 0], offset = self._steps[i, 2], size = self._steps[i, 3]
        cdef int64_t a = self._steps[i, 4], b = self._steps[i, 5]
        if step == LITERAL:
            return 0 <= a <= texts and 0 <= b <= texts - a
        if step == SPACES:
            return True
        if not 0 <= offset <= fixed or not 0 <= size <= fixed - offset:
            return False
        if self._steps[i, 1] in (DATA, RELATIVE) and size != 4:
            return False
        if step in (INDENT, CALL, RETURN) and not (self._steps[i, 1] == INLINE and size == (4 if step == INDENT else 8)):
            return False
        if step in (CALL, RETURN):
            return offset + 12 <= fixed
        if step in (NUMBER, CHOICE, FLAGS, SYMBOL, MICROSECONDS) and (size not in (1, 2, 4, 8) or self._steps[i, 1] != INLINE):
            return False
        if step == NUMBER:
            return a in (8, 10, 16)
        if step in (CHOICE, FLAGS):
            return 0 <= a <= choices and 0 <= b <= choices - a
        return step in (TEXT, SYMBOL, FRAMES, INDENT, MICROSECONDS)

    def run(
        self,
        const uint8_t[::1] data,
        Lines lines not None,
        rows: NDArray[int64],
        events: tuple[NDArray[int32], NDArray[int64], NDArray[int64]],
    ) -> memoryview:
        """Write the records of some lines: program, start and size of each, and the records' bytes.

        The program of a line that none can invert is -1. Releases the GIL.
        """
        cdef const int64_t[::1] which = rows
        cdef int32_t[::1] program = events[0]
        cdef int64_t[::1] start = events[1]
        cdef int64_t[::1] size = events[2]
        cdef Output out = self._blocks.take()
        cdef int64_t i, row, before, count = which.shape[0]
        cdef bint good = True
        if min(program.shape[0], start.shape[0], size.shape[0]) < lines.count:
            raise ValueError("an event for each line")
        for i in range(count):
            if not 0 <= which[i] < lines.count or lines._end[which[i]] > data.shape[0]:
                raise ValueError("no such line")
        out.used = 0
        self._symbols.lock()
        with nogil:
            for i in range(count):
                row = which[i]
                before = out.used
                program[row] = self._invert(&data[0], lines, row, &out)
                if program[row] == -2:
                    good = False
                    break
                start[row] = before
                size[row] = out.used - before
        self._symbols.unlock()
        if not good:
            raise MemoryError
        return memoryview(self._blocks.hand_over(&out))

    # The program that inverted a line: -1 for none, -2 without memory.
    cdef int32_t _invert(self, const uint8_t* data, Lines lines, int64_t row, Output* out) noexcept nogil:
        cdef int64_t before = out.used, name = lines._name[row] + 1
        cdef int32_t i, program
        cdef Cursor cursor
        cursor.no_memory = False
        if name + 1 >= self._first.shape[0]:
            return -1
        for i in range(self._first[name], self._first[name + 1]):
            program = self._candidates[i]
            cursor.at = data + lines._text[row]
            cursor.end = data + lines._end[row]
            cursor.record = before
            cursor.pid = lines._pid[row]
            if self._match(program, &cursor, out):
                self._head(out.data + before, lines._flags[row], lines._pid[row])
                return program
            out.used = before
            if cursor.no_memory:
                return -2
        return -1

    cdef void _head(self, uint8_t* record, int32_t flags, int32_t pid) noexcept nogil:
        if flags >= 0:
            record[2] = <uint8_t>flags
            record[3] = <uint8_t>(flags >> 8)
        store32(record + 4, <uint32_t>pid, HOST_IS_BIG)

    cdef bint _match(self, int32_t program, Cursor* cursor, Output* out) noexcept nogil:
        cdef int64_t first = self._programs[program, 0], count = self._programs[program, 1]
        cdef int64_t fixed = self._programs[program, 2]
        cdef int64_t step = first, last = first + count
        # The text that is tried up to its next delimiter where what follows does not fit.
        cdef int64_t tried = -1, used = 0
        cdef int tries = 0
        cdef const uint8_t* began = NULL
        cdef const uint8_t* until = NULL
        cdef bint good
        if not ensure(out, fixed + 8):
            cursor.no_memory = True
            return False
        memset(out.data + out.used, 0, fixed)
        out.used += fixed
        while True:
            good = True
            while step < last:
                if self._steps[step, 0] == TEXT:
                    tried, used, tries, began = step, out.used, 0, cursor.at
                    until = self._delimiter(step, last, began, cursor.end)
                    good = until is not NULL and self._text(step, began, until, cursor, out)
                    cursor.at = until
                else:
                    good = self._step(step, cursor, out)
                if not good:
                    break
                step += 1
            if good:
                while cursor.at < cursor.end and cursor.at[0] == c" ":
                    cursor.at += 1
                if cursor.at == cursor.end:
                    return True
            if cursor.no_memory or tried < 0 or until is NULL or until >= cursor.end or tries >= MOST_TRIES:
                return False
            tries += 1
            until = self._delimiter(tried, last, until + 1, cursor.end)
            if until is NULL or tried + 1 >= last:
                return False
            out.used = used
            if not self._text(tried, began, until, cursor, out):
                return False
            cursor.at = until
            step = tried + 1

    # Where a text ends: at the literal that follows it, or at the end.
    cdef const uint8_t* _delimiter(
        self, int64_t step, int64_t last, const uint8_t* at, const uint8_t* end
    ) noexcept nogil:
        cdef const uint8_t* text
        cdef int64_t size
        if step + 1 >= last or self._steps[step + 1, 0] != LITERAL:
            return end
        text = &self._texts[0] + self._steps[step + 1, 4]
        size = self._steps[step + 1, 5]
        if size == 0:
            return at
        while end - at >= size:
            if at[0] == text[0] and memcmp(at, text, size) == 0:
                return at
            at += 1
        return NULL

    cdef bint _text(
        self, int64_t step, const uint8_t* at, const uint8_t* end, Cursor* cursor, Output* out
    ) noexcept nogil:
        cdef int64_t offset = self._steps[step, 2], size = self._steps[step, 3], place = self._steps[step, 1]
        cdef int64_t length
        if self._steps[step, 6]:
            while end > at and (end - 1)[0] == c" ":
                end -= 1
        length = end - at
        if place == INLINE:
            if length >= size:
                return False
            memset(out.data + cursor.record + offset, 0, size)
            memcpy(out.data + cursor.record + offset, at, length)
            return True
        return self._dynamic(step, at, length, 1, cursor, out)

    # Bytes after the record's fields, with `zeros` after them, and the word that says where they are.
    cdef bint _dynamic(
        self, int64_t step, const uint8_t* at, int64_t length, int64_t zeros, Cursor* cursor, Output* out
    ) noexcept nogil:
        cdef int64_t offset = self._steps[step, 2], place = self._steps[step, 1]
        cdef int64_t distance
        if place == TAIL:
            out.used = cursor.record + offset
        distance = out.used - cursor.record
        # The word that says where they are has 16 bits for each; what is at the end has none.
        if place != TAIL and (length + zeros > MOST_DYNAMIC or distance > MOST_DYNAMIC):
            return False
        if not ensure(out, length + zeros + 8):
            cursor.no_memory = True
            return False
        if self._escaped:
            length = unescape(out.data + out.used, at, length)
        else:
            memcpy(out.data + out.used, at, length)
        memset(out.data + out.used + length, 0, zeros)
        out.used += length + zeros
        if place != TAIL:
            if place == RELATIVE:
                distance -= offset + 4
            store32(
                out.data + cursor.record + offset, <uint32_t>((length + zeros) << 16 | distance), HOST_IS_BIG
            )
        return True

    cdef bint _step(self, int64_t step, Cursor* cursor, Output* out) noexcept nogil:
        cdef int64_t code = self._steps[step, 0]
        cdef int64_t size
        cdef uint64_t value
        if code == LITERAL:
            size = self._steps[step, 5]
            if cursor.end - cursor.at < size:
                return False
            if memcmp(cursor.at, &self._texts[0] + self._steps[step, 4], size) != 0:
                return False
            cursor.at += size
            return True
        if code == SPACES:
            while cursor.at < cursor.end and cursor.at[0] == c" ":
                cursor.at += 1
            return True
        if code == NUMBER:
            return self._number(step, cursor, out)
        if code == CHOICE:
            return self._choice(step, cursor, &value) and self._store(step, value, cursor, out)
        if code == FLAGS:
            return self._flags(step, cursor, &value) and self._store(step, value, cursor, out)
        if code == SYMBOL:
            return read_function(self._symbols, cursor, &value, cursor.end) and self._store(step, value, cursor, out)
        if code == MICROSECONDS:
            return read_thousandths(&cursor.at, cursor.end, &value) and self._store(step, value, cursor, out)
        if code == INDENT:
            size = 0
            while cursor.at < cursor.end and cursor.at[0] == c" ":
                cursor.at += 1
                size += 1
            return size >= 2 and self._store(step, <uint64_t>(size // 2 - 1), cursor, out)
        if code == CALL or code == RETURN:
            return self._call(step, cursor, out)
        return self._frames(step, cursor, out)

    # The function of a call, or of the one that returns.
    cdef bint _call(self, int64_t step, Cursor* cursor, Output* out) noexcept nogil:
        cdef uint8_t* record = out.data + cursor.record
        cdef int64_t offset = self._steps[step, 2]
        cdef uint32_t depth = load32(record + offset + 8, HOST_IS_BIG)
        cdef Calls* calls = &self._calls[cursor.pid & (CALLERS - 1)]
        if calls.pid != cursor.pid:
            memset(calls, 0, sizeof(Calls))
            calls.pid = cursor.pid
        if depth >= MOST_DEPTH:
            return True
        if self._steps[step, 0] == CALL:
            calls.functions[depth] = load64(record + offset, HOST_IS_BIG)
        else:
            store64(record + offset, calls.functions[depth], HOST_IS_BIG)
        return True

    # A value into its field, or added to what is there of it.
    cdef bint _store(self, int64_t step, uint64_t value, Cursor* cursor, Output* out) noexcept nogil:
        cdef uint8_t* to = out.data + cursor.record + self._steps[step, 2]
        cdef int64_t size = self._steps[step, 3]
        cdef uint64_t before = 0
        if not self._steps[step, 6]:
            memcpy(&before, to, size)
            value += load64(<const uint8_t*>&before, HOST_IS_BIG)
        if size == 8:
            store64(to, value, HOST_IS_BIG)
        elif size == 4:
            store32(to, <uint32_t>value, HOST_IS_BIG)
        elif size == 2:
            store16(to, <uint16_t>value, HOST_IS_BIG)
        else:
            to[0] = <uint8_t>value
        return True

    cdef bint _number(self, int64_t step, Cursor* cursor, Output* out) noexcept nogil:
        cdef uint64_t base = <uint64_t>self._steps[step, 4]
        cdef uint64_t value
        cdef int64_t size = self._steps[step, 3]
        cdef bint negative = False
        cdef const uint8_t* at = cursor.at
        if self._steps[step, 7] & POINTER and at < cursor.end and at[0] == c"(":
            return self._null(step, cursor, out)
        if at < cursor.end and at[0] == c"-":
            negative = True
            at += 1
        if not read_number(&at, cursor.end, base, &value):
            return False
        if negative:
            # What is signed is the conversion, whatever the field is.
            if value > (<uint64_t>1 << (8 * size - 1)):
                return False
            value = 0 - value
        elif size < 8 and value >> (8 * size):
            return False
        cursor.at = at
        return self._store(step, value * <uint64_t>self._steps[step, 5], cursor, out)

    cdef bint _null(self, int64_t step, Cursor* cursor, Output* out) noexcept nogil:
        if cursor.end - cursor.at >= 5 and memcmp(cursor.at, <const char*>b"(nil)", 5) == 0:
            cursor.at += 5
        elif cursor.end - cursor.at >= 6 and memcmp(cursor.at, <const char*>b"(null)", 6) == 0:
            cursor.at += 6
        else:
            return False
        return self._store(step, 0, cursor, out)

    cdef bint _choice(self, int64_t step, Cursor* cursor, uint64_t* value) noexcept nogil:
        cdef int64_t first = self._steps[step, 4], count = self._steps[step, 5], i, size
        cdef const uint8_t* text
        # The longest first.
        for i in range(first, first + count):
            size = self._choices[i, 1]
            text = &self._texts[0] + self._choices[i, 0]
            if cursor.end - cursor.at >= size and memcmp(cursor.at, text, size) == 0:
                cursor.at += size
                value[0] = <uint64_t>self._choices[i, 2]
                return True
        return plain_number(cursor, value)

    cdef bint _flags(self, int64_t step, Cursor* cursor, uint64_t* value) noexcept nogil:
        cdef uint64_t one
        cdef const uint8_t* before = cursor.at
        cdef uint8_t delimiter = <uint8_t>self._steps[step, 7]
        value[0] = 0
        if not self._choice(step, cursor, value):
            # Of no flag there is no text.
            return True
        while cursor.end - cursor.at > 1 and cursor.at[0] == delimiter:
            before = cursor.at
            cursor.at += 1
            if not self._choice(step, cursor, &one):
                cursor.at = before
                return True
            value[0] |= one
        return True

    cdef bint _frames(self, int64_t step, Cursor* cursor, Output* out) noexcept nogil:
        cdef int64_t offset = self._steps[step, 2]
        cdef const uint8_t* line_end
        cdef uint64_t value
        out.used = cursor.record + offset
        while cursor.at < cursor.end:
            while cursor.at < cursor.end and cursor.at[0] in (32, 9, 10, 13):
                cursor.at += 1
            if cursor.at == cursor.end:
                break
            line_end = cursor.at
            while line_end < cursor.end and line_end[0] != 10:
                line_end += 1
            if cursor.at[0] == c"[":
                # The time of a message of the kernel.
                while cursor.at < line_end and cursor.at[0] != c"=":
                    cursor.at += 1
            if line_end - cursor.at < 3 or cursor.at[0] != c"=" or cursor.at[1] != c">":
                return False
            cursor.at += 2
            while cursor.at < line_end and cursor.at[0] in (32, 9, 60):
                cursor.at += 1
            if not read_function(self._symbols, cursor, &value, line_end):
                return False
            # What follows says the same address once more.
            cursor.at = line_end
            if not ensure(out, 16):
                cursor.no_memory = True
                return False
            store64(out.data + out.used, value, HOST_IS_BIG)
            out.used += 8
        return out.used - cursor.record <= MOST_DYNAMIC
