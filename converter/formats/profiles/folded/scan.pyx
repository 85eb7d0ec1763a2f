# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Lines of collapsed call stacks: names between semicolons, and one or two counts; and such lines from columns."""

# Stub:
# from converter.kernels.io.output import Block
# from converter.kernels.tables.strings import StringTable

import numpy as np

from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memchr, memcpy

from converter.kernels.io.output cimport Blocks, Output, append, ensure, put8, put_bytes
from converter.kernels.tables.strings cimport Entry, StringTable
from converter.kernels.text.decimal cimport MOST_DIGITS, write_integer
from converter.kernels.text.doubles cimport put_fixed, put_shortest

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, void* overflow) except? -1.0
    void PyErr_Clear()

# Kinds of lines.
cpdef enum:
    LINE_BLANK = 0
    LINE_STACK = 1
    LINE_COMMENT = 2
    LINE_OTHER = 3

# Bits of the counts of a stack: there is one before the last, and one of them has a fraction.
cpdef enum:
    HAS_TWO = 1
    HAS_FRACTION = 2

cdef enum:
    # A count with more digits than a number of 64 bits is no exact one.
    MOST_EXACT = 18
    # The text of a number: as long as that of any, with all its digits.
    MOST_TEXT = 400
    # Digits after the point of a small number, without an exponent.
    MOST_DECIMALS = 340


cdef struct Number:
    # Where its text starts; negative where there is none.
    int64_t start
    int64_t whole
    double value
    bint exact


def count_lines(const uint8_t[::1] data) -> tuple[int, int]:
    """Return the number of lines, the last of which may lack its end, and of semicolons."""
    cdef int64_t i
    cdef int64_t lines = 0
    cdef int64_t semicolons = 0
    cdef int64_t size = data.shape[0]
    with nogil:
        for i in range(size):
            lines += data[i] == c'\n'
            semicolons += data[i] == c';'
        if size and data[size - 1] != c'\n':
            lines += 1
    return lines, semicolons


cdef class Lines:
    """The lines of a block, and the names in them: arrays as large as `count_lines` says.

    Attributes:
        kind: of each line.
        counts: of each stack, the bits of its counts.
        start: the offset of each line in the block.
        size: of each line, without its end.
        weight, before: the last count of each stack, and the one before it; 0 where there is none, or it is no integer.
        weight_value, before_value: the same as floating-point numbers.
        offsets: of the names of each stack: one more than lines, 0 for the first.
        name_start, name_size: of each name in the block; those of a stack have the innermost first.

    """

    # Stub:
    # kind: NDArray[uint8]
    # counts: NDArray[uint8]
    # start: NDArray[int64]
    # size: NDArray[int64]
    # weight: NDArray[int64]
    # before: NDArray[int64]
    # weight_value: NDArray[float64]
    # before_value: NDArray[float64]
    # offsets: NDArray[int64]
    # name_start: NDArray[int64]
    # name_size: NDArray[int64]

    cdef readonly object kind, counts, start, size, weight, before, weight_value, before_value
    cdef readonly object offsets, name_start, name_size

    def __init__(self, const uint8_t[::1] data) -> None:
        cdef int64_t lines, semicolons
        lines, semicolons = count_lines(data)
        self.kind, self.counts = np.zeros(lines, np.uint8), np.zeros(lines, np.uint8)
        self.start, self.size = np.zeros(lines, np.int64), np.zeros(lines, np.int64)
        self.weight, self.before = np.zeros(lines, np.int64), np.zeros(lines, np.int64)
        self.weight_value, self.before_value = np.zeros(lines, np.float64), np.zeros(lines, np.float64)
        self.offsets = np.zeros(lines + 1, np.int64)
        starts, sizes = np.zeros(lines + semicolons, np.int64), np.zeros(lines + semicolons, np.int64)
        cdef uint8_t[::1] kind = self.kind
        cdef uint8_t[::1] counts = self.counts
        cdef int64_t[::1] start = self.start
        cdef int64_t[::1] size = self.size
        cdef int64_t[::1] weight = self.weight
        cdef int64_t[::1] before = self.before
        cdef double[::1] weight_value = self.weight_value
        cdef double[::1] before_value = self.before_value
        cdef int64_t[::1] offsets = self.offsets
        cdef int64_t[::1] name_start = starts
        cdef int64_t[::1] name_size = sizes
        cdef int64_t line, at, end, stop, split
        cdef int64_t names = 0
        cdef const uint8_t* found
        cdef const uint8_t* text
        cdef Number last, second
        if not lines:
            self.name_start, self.name_size = starts, sizes
            return
        text = &data[0]
        with nogil:
            at = 0
            for line in range(lines):
                found = <const uint8_t*>memchr(text + at, c'\n', data.shape[0] - at)
                end = found - text if found is not NULL else data.shape[0]
                start[line] = at
                stop = end
                while stop > at and is_space(text[stop - 1]):
                    stop -= 1
                size[line] = stop - at
                last = number_before(text, at, stop)
                if stop == at:
                    kind[line] = LINE_BLANK
                elif last.start < 0:
                    kind[line] = LINE_COMMENT if text[at] == c'#' else LINE_OTHER
                else:
                    kind[line] = LINE_STACK
                    stop = last.start - 1
                    second = number_before(text, at, stop)
                    if second.start >= 0:
                        stop = second.start - 1
                        counts[line] |= HAS_TWO
                        before[line] = second.whole
                        before_value[line] = second.value
                        if not second.exact:
                            counts[line] |= HAS_FRACTION
                    weight[line] = last.whole
                    weight_value[line] = last.value
                    if not last.exact:
                        counts[line] |= HAS_FRACTION
                    while stop >= at:
                        split = stop
                        while split > at and text[split - 1] != c';':
                            split -= 1
                        name_start[names] = split
                        name_size[names] = stop - split
                        names += 1
                        stop = split - 1
                offsets[line + 1] = names
                at = end + 1
        self.name_start, self.name_size = starts[:names], sizes[:names]


cdef inline bint is_space(uint8_t byte) noexcept nogil:
    return byte == c' ' or byte == c'\t' or byte == c'\r'


cdef inline bint is_digit(uint8_t byte) noexcept nogil:
    return c'0' <= byte <= c'9'


# The number that a text ends with, after white space: digits, perhaps with a fraction.
cdef Number number_before(const uint8_t* text, int64_t start, int64_t stop) noexcept nogil:
    cdef Number result
    cdef int64_t at = stop
    cdef int64_t i
    cdef bint has_point = False
    result.start = -1
    result.whole = 0
    result.value = 0
    result.exact = True
    while at > start and (is_digit(text[at - 1]) or (text[at - 1] == c'.' and not has_point)):
        at -= 1
        has_point = has_point or text[at] == c'.'
    if at == stop or not is_digit(text[at]) or at <= start or not is_space(text[at - 1]):
        return result
    if stop - at > MOST_TEXT:
        return result
    result.start = at
    result.exact = not has_point and stop - at <= MOST_EXACT
    if result.exact:
        for i in range(at, stop):
            result.whole = 10 * result.whole + (text[i] - c'0')
        result.value = <double>result.whole
    else:
        result.value = value_of(text + at, stop - at)
    return result


# Digits with a point: always a number.
cdef double value_of(const uint8_t* text, int64_t size) noexcept nogil:
    cdef char[MOST_TEXT + 1] copy
    cdef double value = 0
    memcpy(copy, text, size)
    copy[size] = 0
    with gil:
        try:
            value = PyOS_string_to_double(copy, NULL, NULL)
        except (ValueError, OverflowError):
            value = 0
    return value


cdef class LinePrinter:
    """Prints lines of call stacks."""

    cdef StringTable _strings
    cdef Output _out
    cdef Blocks _blocks

    def __cinit__(self, StringTable strings not None):
        self._strings = strings
        self._blocks = Blocks()

    def __dealloc__(self):
        free(self._out.data)

    def lines(
        self,
        const int64_t[::1] offsets,
        const int32_t[::1] names,
        const uint8_t[::1] counts,
        const int64_t[::1] weight,
        const int64_t[::1] before,
        const double[::1] weight_value,
        const double[::1] before_value,
    ) -> Block:
        """Return a line for each call stack.

        Args:
            offsets: n + 1 offsets into the names of all stacks.
            names: ids of the names, of each stack the innermost first.
            counts: the bits of the counts of each stack; the other columns are as those of `Lines`.

        """
        cdef int64_t rows = offsets.shape[0] - 1
        cdef int64_t total = names.shape[0]
        cdef int64_t known = len(self._strings)
        cdef int64_t i, k
        cdef bint good = True
        cdef bint within = True
        cdef bint fraction
        cdef Entry* name
        if not rows == counts.shape[0] == weight.shape[0] == before.shape[0]:
            raise ValueError("columns differ in length")
        if not rows == weight_value.shape[0] == before_value.shape[0]:
            raise ValueError("columns differ in length")
        self._out = self._blocks.take()
        with nogil:
            for i in range(rows):
                within = 0 <= offsets[i] <= offsets[i + 1] <= total
                if not within:
                    break
                k = offsets[i + 1]
                while k > offsets[i]:
                    k -= 1
                    if not 0 <= names[k] < known:
                        within = False
                        break
                    name = self._strings.entry(names[k])
                    good = ensure(&self._out, <int64_t>name.size + 1)
                    if not good:
                        break
                    put_bytes(&self._out, name.data, name.size)
                    if k > offsets[i]:
                        put8(&self._out, c';')
                fraction = counts[i] & HAS_FRACTION
                if good and within and counts[i] & HAS_TWO:
                    good = self._number(fraction, before[i], before_value[i])
                good = good and within and self._number(fraction, weight[i], weight_value[i])
                good = good and append(&self._out, b"\n", 1)
                if not good:
                    break
        if not within:
            raise ValueError("a name or stack that there is not")
        if not good:
            raise MemoryError
        return self._blocks.hand_over(&self._out)

    cdef bint _number(self, bint fraction, int64_t whole, double value) noexcept nogil:
        if not ensure(&self._out, MOST_DIGITS + 2):
            return False
        put8(&self._out, c' ')
        if not fraction:
            self._out.used += write_integer(self._out.data + self._out.used, <uint64_t>whole, True)
            return True
        # Without an exponent, which no reader of such lines knows.
        if 1e-4 <= value < 1e16 or value == 0:
            return put_shortest(&self._out, value)
        return put_fixed(&self._out, value, MOST_DECIMALS if value < 1 else 1)
