# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Scanning JSON values of any shape into slots, with a signature of the shape: `scan` does arguments with it."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from converter.formats.json_values.text cimport (
    FINE, MALFORMED, NO_MEMORY, Scanned, UNFINISHED, bare_end, compact, ends_bare, ends_number, escape_size, hexadecimal,
    is_hexadecimal, number_end, parse_ticks, printed_number, skip_space, special_number, string_end, word_end,
)
from converter.kernels.io.output cimport Output, append, ensure
from converter.kernels.tables.strings cimport StringTable

cdef extern from "Python.h":
    # With NULL for the last, numbers out of range become infinite instead of raising.
    double PyOS_string_to_double(const char* text, char** end, void* overflow)

cdef extern from *:
    void __builtin_prefetch(const void*) noexcept nogil

cdef enum:
    # The number of rows ahead for which slots are prefetched.
    AHEAD = 16
    # Objects nested deeper become JSON text.
    MAX_LEVELS = 16

cdef double[23] POWERS
cdef int _power
for _power in range(23):
    POWERS[_power] = 10.0 ** _power


# A value of four hexadecimal digits; they are known to be such.
cdef inline uint32_t hex4(const uint8_t* text) noexcept nogil:
    cdef uint32_t value = 0
    cdef int i
    for i in range(4):
        value = (value << 4) | ((text[i] - c'0') if text[i] <= c'9' else ((text[i] | 0x20) - c'a' + 10))
    return value


cdef class ValueScanner:
    """Base class of `EventScanner`, of no use from Python."""

    def __dealloc__(self):
        free(self._text.data)
        free(self._signature.data)
        free(self._arguments.data)
        free(self._scratch.data)

    cdef int32_t _intern(self, StringTable table, const uint8_t* data, int64_t size) noexcept nogil:
        cdef Ends ends = ends_of(data, size)
        cdef Recent* recent = &self._recent[place_of(&ends, size)]
        if (
            recent.table == <void*>table and recent.size == size
            and recent.ends.first == ends.first and recent.ends.last == ends.last
            and (size <= 16 or memcmp(recent.data, data, size) == 0)
        ):
            return recent.id
        if size > 0x7fffffff:
            return -1
        recent.id = table.find_or_add(data, <uint32_t>size)
        if recent.id < 0:
            recent.table = NULL
            return -1
        recent.table = <void*>table
        recent.data = table.entry(recent.id).data
        recent.size = size
        recent.ends = ends
        return recent.id

    # The inside of a string without its escapes, in `_scratch`.
    cdef Scanned _unescape(self, const uint8_t* data, int64_t size) noexcept nogil:
        cdef int64_t i = 0
        cdef uint32_t code, low
        cdef Output* out = &self._scratch
        cdef uint8_t* place
        cdef int64_t width
        out.used = 0
        # Nothing becomes longer by unescaping.
        if not ensure(out, size):
            return NO_MEMORY
        place = out.data
        while i < size:
            width = escape_size(data, i, size) if data[i] == c'\\' else 0
            if width == 0:
                # A backslash that begins no escape is one.
                place[0] = data[i]
                place += 1
                i += 1
                continue
            if width == 2:
                code = data[i + 1]
                place[0] = <uint8_t>(
                    c'\n' if code == c'n' else c'\t' if code == c't' else c'\r' if code == c'r'
                    else c'\b' if code == c'b' else c'\f' if code == c'f' else code
                )
                place += 1
                i += 2
                continue
            code = hex4(data + i + 2)
            i += 6
            if 0xD800 <= code < 0xDC00 and i < size and data[i] == c'\\' and escape_size(data, i, size) == 6:
                low = hex4(data + i + 2)
                if 0xDC00 <= low < 0xE000:
                    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                    i += 6
            if 0xD800 <= code < 0xE000:
                # No character, and what importers take for damage.
                code = 0xFFFD
            if code < 0x80:
                place[0] = <uint8_t>code
                place += 1
            elif code < 0x800:
                place[0] = <uint8_t>(0xC0 | code >> 6)
                place[1] = <uint8_t>(0x80 | code & 63)
                place += 2
            elif code < 0x10000:
                place[0] = <uint8_t>(0xE0 | code >> 12)
                place[1] = <uint8_t>(0x80 | code >> 6 & 63)
                place[2] = <uint8_t>(0x80 | code & 63)
                place += 3
            else:
                place[0] = <uint8_t>(0xF0 | code >> 18)
                place[1] = <uint8_t>(0x80 | code >> 12 & 63)
                place[2] = <uint8_t>(0x80 | code >> 6 & 63)
                place[3] = <uint8_t>(0x80 | code & 63)
                place += 4
        out.used = place - out.data
        return FINE

    # The string whose opening quote is at `at`, interned in `table`.
    cdef Scanned _string(self, StringTable table, int64_t at, int64_t* after, int64_t* id) noexcept nogil:
        cdef bint escaped = False
        cdef int64_t stop = string_end(self._data, at + 1, self._end, &escaped)
        cdef Scanned result
        if stop < 0:
            return UNFINISHED
        after[0] = stop + 1
        if escaped:
            result = self._unescape(self._data + at + 1, stop - at - 1)
            if result != FINE:
                return result
            id[0] = self._intern(table, self._scratch.data, self._scratch.used)
        else:
            id[0] = self._intern(table, self._data + at + 1, stop - at - 1)
        return FINE if id[0] >= 0 else NO_MEMORY

    # Move past any value.
    cdef Scanned _skip(self, int64_t at, int64_t* after) noexcept nogil:
        cdef int64_t used = self._text.used
        cdef Scanned result = compact(self._data, at, self._end, &self._text, after)
        self._text.used = used
        return result

    cdef Scanned _push(self, uint8_t tag, int64_t slot) noexcept nogil:
        if not append(&self._signature, &tag, 1) or not append(&self._arguments, <uint8_t*>&slot, 8):
            return NO_MEMORY
        return FINE

    # A value as compact JSON text.
    cdef Scanned _leaf(self, int64_t at, int64_t* after) noexcept nogil:
        cdef int64_t start = self._text.used
        cdef Scanned result = compact(self._data, at, self._end, &self._text, after)
        cdef int64_t size = self._text.used - start
        if result != FINE:
            return result
        result = self._push(LEAF_JSON, start)
        if result == FINE and not append(&self._arguments, <uint8_t*>&size, 8):
            result = NO_MEMORY
        return result

    cdef Scanned _value(self, int64_t at, int depth, int64_t* after) noexcept nogil:
        cdef uint8_t byte
        cdef bint escaped = False
        cdef int64_t stop, id = 0
        cdef Scanned result
        cdef double number
        cdef int special
        at = skip_space(self._data, at, self._end)
        if at >= self._end:
            return UNFINISHED
        byte = self._data[at]
        if byte == c'"':
            stop = string_end(self._data, at + 1, self._end, &escaped)
            if stop < 0:
                return UNFINISHED
            if not escaped:
                if is_hexadecimal(self._data + at + 1, stop - at - 1):
                    after[0] = stop + 1
                    return self._push(LEAF_HEXADECIMAL, <int64_t>hexadecimal(self._data + at + 3, stop - at - 3))
                special = special_number(self._data + at + 1, stop - at - 1)
                if special:
                    after[0] = stop + 1
                    return self._push_special(self._data + at + 1, special)
            result = self._string(self._strings, at, after, &id)
            return self._push(LEAF_STRING, id) if result == FINE else result
        if byte == c'{':
            return self._object(at, depth, after) if depth < MAX_LEVELS else self._leaf(at, after)
        if byte == c'[':
            return self._array(at, depth, after) if depth < MAX_LEVELS else self._leaf(at, after)
        stop = word_end(self._data, at, self._end)
        if stop >= 0:
            after[0] = stop
            if byte == c'n':
                byte = LEAF_NULL
                return FINE if append(&self._signature, &byte, 1) else NO_MEMORY
            return self._push(LEAF_BOOLEAN, byte == c't')
        return self._number(at, after)

    # A float that JSON has no number for, whose text `special_number` has accepted.
    cdef Scanned _push_special(self, const uint8_t* text, int special) noexcept nogil:
        cdef uint64_t bits = 0x7FF8000000000000
        if special == 2:
            bits = 0x7FF0000000000000
        elif special == 3:
            bits = <uint64_t>0xFFF0000000000000
        elif special == 4:
            bits = hexadecimal(text + 4, 16)
        return self._push(LEAF_DOUBLE, <int64_t>bits)

    cdef Scanned _number(self, int64_t at, int64_t* after) noexcept nogil:
        cdef bint integer = False
        cdef int64_t stop = number_end(self._data, at, self._end, &integer)
        cdef int64_t i
        cdef uint64_t value = 0
        cdef bint negative, fits
        cdef double number = 0
        cdef int64_t bits
        if stop == self._end:
            return UNFINISHED
        if stop < 0 or not ends_number(self._data, stop):
            return self._bare(at, after)
        after[0] = stop
        if integer:
            negative = self._data[at] == c'-'
            fits = True
            for i in range(at + negative, stop):
                if value > <uint64_t>1844674407370955161 or (
                    value == <uint64_t>1844674407370955161 and self._data[i] > c'5'
                ):
                    fits = False
                    break
                value = value * 10 + (self._data[i] - c'0')
            # "-0" is the float -0.0: an integer would lose its sign.
            if fits and negative and 0 < value <= <uint64_t>1 << 63:
                return self._push(LEAF_SIGNED, <int64_t>(<uint64_t>0 - value))
            if fits and not negative:
                return self._push(LEAF_SIGNED if value < <uint64_t>1 << 63 else LEAF_UNSIGNED, <int64_t>value)
        if not self._float(at, stop, &number):
            return NO_MEMORY
        memcpy(&bits, &number, 8)
        return self._push(LEAF_DOUBLE, bits)

    # A word that is no value of JSON: a number as C prints it, else a text.
    cdef Scanned _bare(self, int64_t at, int64_t* after) noexcept nogil:
        cdef int64_t stop = bare_end(self._data, at, self._end)
        cdef int64_t id
        cdef int number
        if stop < 0:
            return UNFINISHED if ends_bare(self._data, at, self._end) else MALFORMED
        after[0] = stop
        number = printed_number(self._data + at, stop - at)
        if number:
            return self._push_special(self._data + at, number)
        id = self._intern(self._strings, self._data + at, stop - at)
        return self._push(LEAF_STRING, id) if id >= 0 else NO_MEMORY

    # The nearest double of a number: directly where mantissa and power of ten are exact doubles (Clinger 1990), else as
    # Python reads it.
    cdef bint _float(self, int64_t at, int64_t stop, double* number) noexcept nogil:
        cdef uint64_t mantissa = 0
        cdef int64_t exponent = 0
        cdef int64_t power = 0
        cdef int64_t i = at
        cdef bint exact = True
        cdef bint after_point = False
        cdef bint negative_power = False
        if self._data[i] == c'-':
            i += 1
        while i < stop and self._data[i] != c'e' and self._data[i] != c'E':
            if self._data[i] == c'.':
                after_point = True
            else:
                if mantissa >= <uint64_t>900719925474099:
                    exact = False
                    break
                mantissa = mantissa * 10 + (self._data[i] - c'0')
                exponent -= after_point
            i += 1
        if exact and i < stop:
            i += 1
            if self._data[i] == c'+' or self._data[i] == c'-':
                negative_power = self._data[i] == c'-'
                i += 1
            while i < stop and power < 1000:
                power = power * 10 + (self._data[i] - c'0')
                i += 1
            exponent += -power if negative_power else power
        if exact and -22 <= exponent <= 22:
            number[0] = <double>mantissa
            if exponent < 0:
                number[0] /= POWERS[-exponent]
            else:
                number[0] *= POWERS[exponent]
            if self._data[at] == c'-':
                number[0] = -number[0]
            return True
        self._scratch.used = 0
        if not append(&self._scratch, self._data + at, stop - at) or not append(&self._scratch, b"\0", 1):
            return False
        # Nothing may wait for the GIL with the lock held.
        self._strings.unlock()
        with gil:
            number[0] = PyOS_string_to_double(<const char*>self._scratch.data, NULL, NULL)
        self._strings.lock()
        return True

    cdef Scanned _object(self, int64_t at, int depth, int64_t* after) noexcept nogil:
        cdef int64_t id = 0
        cdef int32_t name
        cdef Scanned result
        if not append(&self._signature, b"{", 1):
            return NO_MEMORY
        at += 1
        while True:
            at = skip_space(self._data, at, self._end)
            if at >= self._end:
                return UNFINISHED
            if self._data[at] == c'}':
                # Accept it after a comma, too: not JSON, but common.
                break
            if self._data[at] != c'"':
                return MALFORMED
            result = self._string(self._names, at, &at, &id)
            if result != FINE:
                return result
            name = <int32_t>id
            if not append(&self._signature, b",", 1) or not append(&self._signature, <uint8_t*>&name, 4):
                return NO_MEMORY
            at = skip_space(self._data, at, self._end)
            if at >= self._end:
                return UNFINISHED
            if self._data[at] != c':':
                return MALFORMED
            result = self._value(at + 1, depth + 1, &at)
            if result != FINE:
                return result
            at = skip_space(self._data, at, self._end)
            if at >= self._end:
                return UNFINISHED
            if self._data[at] == c'}':
                break
            if self._data[at] != c',':
                return MALFORMED
            at += 1
        after[0] = at + 1
        return FINE if append(&self._signature, b"}", 1) else NO_MEMORY

    # An array whose elements are all of one shape, and none of them an array; any other becomes JSON text.
    cdef Scanned _array(self, int64_t at, int depth, int64_t* after) noexcept nogil:
        cdef int64_t start = at
        cdef int64_t signature = self._signature.used
        cdef int64_t arguments = self._arguments.used
        cdef int64_t text = self._text.used
        cdef int64_t element, size
        cdef int64_t width = 0
        cdef int64_t length = 0
        cdef bint uniform = True
        cdef Scanned result
        self._with_array = False
        result = self._push(LEAF_ARRAY, 0)
        if result != FINE:
            return result
        element = self._signature.used
        at = skip_space(self._data, at + 1, self._end)
        if at >= self._end:
            return UNFINISHED
        if self._data[at] == c']':
            if not append(&self._signature, b"n", 1):
                return NO_MEMORY
            at += 1
        else:
            while True:
                size = self._signature.used
                result = self._value(at, depth + 1, &at)
                if result != FINE:
                    return result
                if length == 0:
                    width = self._signature.used - element
                elif self._signature.used - size != width or memcmp(
                    self._signature.data + element, self._signature.data + size, <size_t>width
                ) != 0:
                    uniform = False
                    break
                else:
                    self._signature.used = size
                if self._with_array:
                    uniform = False
                    break
                length += 1
                at = skip_space(self._data, at, self._end)
                if at >= self._end:
                    return UNFINISHED
                if self._data[at] == c',':
                    at = skip_space(self._data, at + 1, self._end)
                    if at >= self._end:
                        return UNFINISHED
                    if self._data[at] != c']':
                        continue
                elif self._data[at] != c']':
                    return MALFORMED
                at += 1
                break
        if not uniform:
            self._signature.used = signature
            self._arguments.used = arguments
            self._text.used = text
            self._with_array = True
            return self._leaf(start, after)
        self._with_array = True
        after[0] = at
        memcpy(self._arguments.data + arguments, &length, 8)
        return FINE if append(&self._signature, b"]", 1) else NO_MEMORY

    # An identity: a number, hexadecimal text, or any text. `kind` is i, x, s, or 0 where it is none of them.
    cdef Scanned _identity(self, int64_t at, int64_t* after, int64_t* slot, uint8_t* kind) noexcept nogil:
        cdef int64_t stop
        cdef bint escaped = False
        cdef bint rounded = False
        cdef bint integer = False
        cdef int places = 0
        kind[0] = 0
        if self._data[at] == c'"':
            stop = string_end(self._data, at + 1, self._end, &escaped)
            if stop < 0:
                return UNFINISHED
            if not escaped and is_hexadecimal(self._data + at + 1, stop - at - 1):
                slot[0] = <int64_t>hexadecimal(self._data + at + 3, stop - at - 3)
                kind[0] = LEAF_HEXADECIMAL
                after[0] = stop + 1
                return FINE
            kind[0] = LEAF_STRING
            return self._string(self._strings, at, after, slot)
        stop = number_end(self._data, at, self._end, &integer)
        if stop >= 0:
            if stop == self._end:
                return UNFINISHED
            after[0] = stop
            if integer and not (stop - at > 1 and self._data[at] == c'-' and self._data[at + 1] == c'0'):
                if parse_ticks(self._data + at, stop - at, 0, slot, &rounded, &places):
                    kind[0] = LEAF_SIGNED
            return FINE
        return self._skip(at, after)


def end_of_value(const uint8_t[::1] data, int64_t at) -> tuple[int, bytes] | None:
    """The end of the JSON value at `at` and its compact text, or None where the data end before.

    Raises ValueError for what is no JSON value.
    """
    cdef Output out
    cdef int64_t after = at
    cdef Scanned result
    if not 0 <= at <= data.shape[0]:
        raise ValueError("the place lies outside the data")
    if data.shape[0] == 0:
        return None
    out.data = NULL
    out.used = 0
    out.room = 0
    with nogil:
        result = compact(&data[0], at, data.shape[0], &out, &after)
    try:
        if result == NO_MEMORY:
            raise MemoryError
        if result == MALFORMED:
            raise ValueError("not a JSON value")
        return None if result == UNFINISHED else (after, out.data[:out.used])
    finally:
        free(out.data)


def slots_at(const int64_t[::1] slots, const int64_t[::1] at) -> NDArray[int64]:
    """Return the values of the slots with these numbers.

    Raises ValueError for numbers out of range. Releases the GIL.
    """
    cdef int64_t count = at.shape[0]
    cdef int64_t size = slots.shape[0]
    cdef int64_t i
    cdef int64_t failed = -1
    found = np.empty(count, np.int64)
    cdef int64_t[::1] out = found
    with nogil:
        for i in range(count):
            if not 0 <= at[i] < size:
                failed = i
                break
            if i + AHEAD < count:
                # Slots of a class lie far apart. Whether this one is there is looked at when its turn comes.
                __builtin_prefetch(<const void*>(<uint64_t>&slots[0] + 8 * <uint64_t>at[i + AHEAD]))
            out[i] = slots[at[i]]
    if failed >= 0:
        raise ValueError(f"slot {at[failed]} of {size}")
    return found


def copy_spans(
    const uint8_t[::1] text, const int64_t[::1] starts, const int64_t[::1] offsets, uint8_t[::1] out
) -> None:
    """Copy the spans of `text` that begin at `starts` to ``out[offsets[i]:offsets[i + 1]]``.

    Raises ValueError when a span lies outside. Releases the GIL.
    """
    cdef int64_t i, size
    cdef int64_t count = starts.shape[0]
    cdef bint good = offsets.shape[0] == count + 1
    if good and count == 0:
        return
    with nogil:
        if good:
            for i in range(count):
                if not 0 <= offsets[i] <= offsets[i + 1] <= out.shape[0]:
                    good = False
                    break
                size = offsets[i + 1] - offsets[i]
                if starts[i] < 0 or starts[i] > text.shape[0] - size:
                    good = False
                    break
                if size:
                    memcpy(&out[offsets[i]], &text[starts[i]], <size_t>size)
    if not good:
        raise ValueError("a span lies outside the text")
