# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The call stacks in texts of perf script: each distinct text is parsed once, and so is each distinct line of them.

A stack has a line for each frame, the innermost first; ``-F +srcline`` adds another one:

    <tab>    ffffffff821f94c3 schedule+0x23 ([kernel.kallsyms])
    <tab>                1194 leaf+0x2b (/usr/local/bin/twothreads)
      leaf.c:12
"""

# Stub:
# from converter.kernels.tables.strings import StringTable

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp

from converter.kernels.tables.strings cimport StringTable

cdef enum:
    # Texts of stacks that are kept: then all of them are forgotten.
    MOST_STACKS = 1 << 17
    MOST_BYTES = 64 << 20
    # A line number of 32 bits has no more digits.
    MOST_DIGITS = 9


cdef class StackTexts:
    """Frames and stacks by number. Entries do not change; arrays that have become too small are replaced.

    Args:
        strings: the names of functions, mappings and source files.

    """

    # Stub:
    # #: Of a frame: strings, the address as it is printed, the distance to the function (-1: none), the line.
    # function: NDArray[int32]
    # mapping: NDArray[int32]
    # source: NDArray[int32]
    # address: NDArray[uint64]
    # offset: NDArray[int64]
    # line: NDArray[uint32]
    # #: Of a stack: where its frames begin in `frames`, and the string of the lines that are none, -1 for none.
    # first: NDArray[int64]
    # frames: NDArray[int32]
    # rest: NDArray[int32]
    # #: Some function of a stack has a distance.
    # distant: NDArray[uint8]

    def __init__(self, StringTable strings not None):
        self._strings = strings
        self._frame_texts = StringTable()
        for name, kind in (
            ("function", np.int32), ("mapping", np.int32), ("source", np.int32), ("address", np.uint64),
            ("offset", np.int64), ("line", np.uint32),
        ):
            self._set(name, np.zeros(0, kind))
        self._forget()
        strings.intern(b"")

    def _set(self, name, array):
        if name == "function":
            self.function = self._function = array
        elif name == "mapping":
            self.mapping = self._mapping = array
        elif name == "source":
            self.source = self._source = array
        elif name == "address":
            self.address = self._address = array
        elif name == "offset":
            self.offset = self._offset = array
        elif name == "line":
            self.line = self._line = array
        elif name == "first":
            self.first = self._first = array
        elif name == "frames":
            self.frames = self._frames = array
        elif name == "distant":
            self.distant = self._distant = array
        else:
            self.rest = self._rest = array

    def _forget(self):
        self._stack_texts = StringTable()
        self._bytes = 0
        # Number 0 is the empty stack.
        self._set("first", np.zeros(2, np.int64))
        self._set("frames", np.zeros(0, np.int32))
        self._set("rest", np.full(1, -1, np.int32))
        self._set("distant", np.zeros(1, np.uint8))

    def reserve(self, int64_t lines) -> None:
        """Make room for the stacks of a text of `lines` lines. Numbers of stacks may start again at 0."""
        if len(self._stack_texts) > MOST_STACKS or self._bytes > MOST_BYTES:
            self._forget()
        stacks = len(self._stack_texts)
        used = self._first[stacks]
        for name, count, more in (
            ("first", stacks + 1, lines), ("frames", used, lines), ("rest", stacks, lines), ("distant", stacks, lines),
            ("function", len(self._frame_texts), lines), ("mapping", len(self._frame_texts), lines),
            ("source", len(self._frame_texts), lines), ("address", len(self._frame_texts), lines),
            ("offset", len(self._frame_texts), lines), ("line", len(self._frame_texts), lines),
        ):
            array = getattr(self, name)
            if count + more > len(array):
                larger = np.zeros(count + count // 2 + more, array.dtype)
                larger[:len(array)] = array
                self._set(name, larger)

    cdef void lock(self) noexcept nogil:
        self._frame_texts.lock()
        self._stack_texts.lock()

    cdef void unlock(self) noexcept nogil:
        self._stack_texts.unlock()
        self._frame_texts.unlock()

    cdef int32_t find_or_add(self, const uint8_t* base, int64_t start, int64_t end) noexcept nogil:
        cdef int64_t known = self._stack_texts._count
        cdef int32_t number = self._stack_texts.find_or_add(base + start, <uint32_t>(end - start))
        if number < known:
            return number
        self._bytes += end - start
        return number if self._add(base, start, end, number) else -1

    # Parse a new stack. There is room for a frame of each of its lines.
    cdef bint _add(self, const uint8_t* base, int64_t start, int64_t end, int32_t number) noexcept nogil:
        cdef int64_t at = start, stop, text, used = self._first[number], further, known
        cdef const uint8_t* found
        cdef int32_t frame
        self._rest[number] = -1
        self._distant[number] = 0
        while at < end:
            found = <const uint8_t*>memchr(base + at, c"\n", end - at)
            stop = end if found is NULL else found - base
            text = at
            while text < stop and (base[text] == c" " or base[text] == c"\t"):
                text += 1
            if text == stop or base[text] == c"\r":
                at = stop + 1
                continue
            if address_end(base, text, stop) < 0:
                # Branches, source code: from here on, lines are no frames.
                self._rest[number] = self._name(base, at, end)
                if self._rest[number] < 0:
                    return False
                break
            further = source_line_end(base, stop + 1, end)
            if further < 0:
                further = stop
            known = self._frame_texts._count
            frame = self._frame_texts.find_or_add(base + text, <uint32_t>(further - text))
            if frame < 0 or (frame >= known and not self._add_frame(base, text, stop, further, frame)):
                return False
            self._frames[used] = frame
            used += 1
            if self._offset[frame] >= 0:
                self._distant[number] = 1
            at = further + 1
        self._first[number + 1] = used
        return True

    cdef int32_t _name(self, const uint8_t* base, int64_t start, int64_t end) noexcept nogil:
        while end > start and base[end - 1] <= c" ":
            end -= 1
        if end - start == 9 and memcmp(base + start, <const char*>b"[unknown]", 9) == 0:
            end = start
        return self._strings.find_or_add(base + start, <uint32_t>(end - start))

    # address [function[+0xdistance]] [(mapping)] and, on a line of its own, file:line.
    cdef bint _add_frame(
        self, const uint8_t* base, int64_t at, int64_t end, int64_t further, int32_t number
    ) noexcept nogil:
        cdef int64_t stop = address_end(base, at, end)
        cdef int64_t bracket, name, plus, distance = -1, line_end = end
        cdef uint64_t value = 0
        if base[at] == c"0" and stop - at > 2 and base[at + 1] == c"x":
            at += 2
        while at < stop:
            value = value << 4 | digit_of(base[at])
            at += 1
        self._address[number] = value
        while end > at and base[end - 1] <= c" ":
            end -= 1
        while at < end and base[at] == c" ":
            at += 1
        bracket = last_bracket(base, at, end)
        self._mapping[number] = self._name(base, end if bracket < 0 else bracket + 1, end if bracket < 0 else end - 1)
        name = end if bracket < 0 else bracket
        while name > at and base[name - 1] == c" ":
            name -= 1
        plus = distance_start(base, at, name)
        if plus >= 0:
            distance = 0
            for stop in range(plus + 3, name):
                distance = distance << 4 | digit_of(base[stop])
            name = plus
        self._function[number] = self._name(base, at, name)
        self._offset[number] = distance
        self._line[number] = 0
        self._source[number] = self._name(base, end, end)
        if further > line_end:
            self._add_source(base, line_end + 1, further, number)
        return self._mapping[number] >= 0 and self._function[number] >= 0 and self._source[number] >= 0

    # file:line, and of an inlined function the mapping.
    cdef void _add_source(self, const uint8_t* base, int64_t at, int64_t end, int32_t number) noexcept nogil:
        cdef int64_t colon, bracket, stop
        cdef uint32_t line = 0
        while end > at and base[end - 1] <= c" ":
            end -= 1
        while at < end and base[at] == c" ":
            at += 1
        bracket = last_bracket(base, at, end)
        stop = end
        if bracket >= 0:
            stop = bracket
            while stop > at and base[stop - 1] == c" ":
                stop -= 1
            if base[bracket + 1] == c"i":
                self._mapping[number] = self._name(base, bracket + 1, end - 1)
        colon = stop
        while colon > at and base[colon - 1] != c":":
            colon -= 1
        for end in range(colon, stop):
            line = line * 10 + base[end] - c"0"
        if colon == at or (colon - at == 3 and base[at] == c"?"):
            return
        self._line[number] = line
        self._source[number] = self._name(base, at, colon - 1)


cdef inline uint64_t digit_of(uint8_t letter) noexcept nogil:
    return letter - c"0" if letter <= c"9" else (letter | 0x20) - c"a" + 10


cdef inline bint is_hexadecimal(uint8_t letter) noexcept nogil:
    return c"0" <= letter <= c"9" or c"a" <= letter <= c"f" or c"A" <= letter <= c"F"


cdef int64_t address_end(const uint8_t* base, int64_t at, int64_t end) noexcept nogil:
    cdef int64_t first
    if end - at > 2 and base[at] == c"0" and base[at + 1] == c"x":
        at += 2
    first = at
    while at < end and at - first <= 16 and is_hexadecimal(base[at]):
        at += 1
    if at == first or at - first > 16 or (at < end and base[at] > c" "):
        return -1
    return at


cdef int64_t last_bracket(const uint8_t* base, int64_t start, int64_t end) noexcept nogil:
    cdef int64_t at = end - 1
    cdef int depth = 0
    if end - start < 2 or base[at] != c")":
        return -1
    while at >= start:
        if base[at] == c")":
            depth += 1
        elif base[at] == c"(":
            depth -= 1
            if depth == 0:
                return at if at == start or base[at - 1] == c" " else -1
        at -= 1
    # A name with a parenthesis of its own.
    at = end - 2
    while at > start:
        if base[at] == c"(" and base[at - 1] == c" ":
            return at
        at -= 1
    return -1


# Where "+0xdistance" begins at the end of a function; -1 where there is none.
cdef int64_t distance_start(const uint8_t* base, int64_t start, int64_t end) noexcept nogil:
    cdef int64_t at = end
    while at > start and end - at <= 15 and is_hexadecimal(base[at - 1]):
        at -= 1
    if at == end or end - at > 15 or at - start < 3 or memcmp(base + at - 3, <const char*>b"+0x", 3) != 0:
        return -1
    return at - 3


# Where a line "  file:12", "  file:12 (inlined)" ends; -1 for another line.
cdef int64_t source_line_end(const uint8_t* base, int64_t at, int64_t end) noexcept nogil:
    cdef const uint8_t* found
    cdef int64_t stop, last, bracket, first
    if end - at < 4 or base[at] != c" " or base[at + 1] != c" ":
        return -1
    found = <const uint8_t*>memchr(base + at, c"\n", end - at)
    stop = end if found is NULL else found - base
    last = stop
    while last > at and base[last - 1] <= c" ":
        last -= 1
    bracket = last_bracket(base, at, last)
    if bracket >= 0:
        last = bracket
        while last > at and base[last - 1] == c" ":
            last -= 1
    first = last
    while first > at and last - first <= MOST_DIGITS and c"0" <= base[first - 1] <= c"9":
        first -= 1
    if first == last or last - first > MOST_DIGITS or first - at < 3 or base[first - 1] != c":":
        return -1
    return stop
