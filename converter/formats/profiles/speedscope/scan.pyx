# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A JSON document in memory: where its members are, and the numbers of its long arrays as columns.

What is skipped is only checked for its brackets and strings. Rows before something else than expected are returned first.
"""

# Stub:
# EVENT_OPEN: int
# EVENT_CLOSE: int

import numpy as np

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint64_t

cdef enum:
    # As many bits as `is_object` has.
    MOST_NESTED = 512
    # Digits that fit into 64 bits, and powers of ten that fit into 63.
    MOST_DIGITS = 19
    MOST_POWER = 18
    # Beyond it, a number is too large or is zero in any case.
    MOST_EXPONENT = 10000
    OPEN = 1
    CLOSE = 2

EVENT_OPEN = OPEN
EVENT_CLOSE = CLOSE

cdef int64_t[MOST_POWER + 1] POWERS
cdef int _i
POWERS[0] = 1
for _i in range(MOST_POWER):
    POWERS[_i + 1] = POWERS[_i] * 10


class MalformedError(Exception):
    """Something else than expected, at an offset."""

    # Stub:
    # expected: str
    # offset: int

    def __init__(self, expected: str, offset: int) -> None:
        super().__init__(expected)
        self.expected = expected
        self.offset = offset


cdef class Document:
    """A document; positions are offsets in its text."""

    cdef const uint8_t[::1] _text
    cdef const uint8_t* _data
    cdef int64_t _end
    # Where something is wrong, and what is expected there.
    cdef int64_t _wrong
    cdef str _expected

    def __cinit__(self, const uint8_t[::1] text not None):
        self._text = text
        self._end = text.shape[0]
        self._data = &text[0] if self._end else NULL

    def start(self) -> int:
        """Return the position of the first value."""
        return self._space(3 if self._end >= 3 and bytes(self._text[:3]) == b"\xef\xbb\xbf" else 0)

    def members(self, int64_t at) -> list[tuple[bytes, int, int]]:
        """Return the members of an object: the text of their name without quotes, start and end of their value.

        Raises:
            MalformedError: there is no object.

        """
        found = []
        cdef int64_t name, name_end, value
        at = self._opened(at, c'{', "an object")
        if at < self._end and self._data[at] == c'}':
            return found
        while True:
            name = at
            name_end = self._string(at)
            if name_end < 0:
                raise MalformedError("the name of a member", at)
            at = self._space(name_end)
            if at >= self._end or self._data[at] != c':':
                raise MalformedError("a colon", at)
            value = self._space(at + 1)
            at = self._value(value)
            if at < 0:
                raise MalformedError("a value of JSON", self._wrong)
            found.append((bytes(self._text[name + 1:name_end - 1]), value, at))
            at = self._space(at)
            if at < self._end and self._data[at] == c'}':
                return found
            if at >= self._end or self._data[at] != c',':
                raise MalformedError("a comma or brace", at)
            at = self._space(at + 1)

    def elements(self, int64_t at) -> list[tuple[int, int]]:
        """Return start and end of the elements of an array.

        Raises:
            MalformedError: there is no array.

        """
        found = []
        cdef int64_t value
        at = self._opened(at, c'[', "an array")
        if at < self._end and self._data[at] == c']':
            return found
        while True:
            value = at
            at = self._value(value)
            if at < 0:
                raise MalformedError("a value of JSON", self._wrong)
            found.append((value, at))
            at = self._space(at)
            if at < self._end and self._data[at] == c']':
                return found
            if at >= self._end or self._data[at] != c',':
                raise MalformedError("a comma or bracket", at)
            at = self._space(at + 1)

    cdef int64_t _opened(self, int64_t at, uint8_t bracket, str expected) except -1:
        if not 0 <= at < self._end or self._data[at] != bracket:
            raise MalformedError(expected, at)
        return self._space(at + 1)

    cdef int64_t _space(self, int64_t at) noexcept nogil:
        while at < self._end and self._data[at] in b" \t\r\n":
            at += 1
        return at

    # The end of a string, after its quote; negative where there is none.
    cdef int64_t _string(self, int64_t at) noexcept nogil:
        self._wrong = at
        if at >= self._end or self._data[at] != c'"':
            return -1
        at += 1
        while at < self._end:
            if self._data[at] == c'"':
                return at + 1
            at += 2 if self._data[at] == c'\\' else 1
        return -1

    # The end of a value; negative where there is none, which `_wrong` says where.
    cdef int64_t _value(self, int64_t at) noexcept nogil:
        cdef uint64_t[8] is_object
        cdef int64_t depth = 0
        cdef int64_t start
        cdef uint8_t byte
        while True:
            at = self._space(at)
            self._wrong = at
            if at >= self._end:
                return -1
            byte = self._data[at]
            if byte == c'{' or byte == c'[':
                if depth == MOST_NESTED:
                    return -1
                if byte == c'{':
                    is_object[depth >> 6] |= <uint64_t>1 << (depth & 63)
                else:
                    is_object[depth >> 6] &= ~(<uint64_t>1 << (depth & 63))
                depth += 1
                at += 1
                continue
            if byte == c'}' or byte == c']':
                if not depth or (is_object[(depth - 1) >> 6] >> ((depth - 1) & 63) & 1) != (byte == c'}'):
                    return -1
                depth -= 1
                at += 1
            elif byte == c'"':
                at = self._string(at)
                if at < 0:
                    return -1
            elif byte == c',' or byte == c':':
                if not depth:
                    return -1
                at += 1
                continue
            else:
                start = at
                while at < self._end and is_bare(self._data[at]):
                    at += 1
                if at == start:
                    return -1
            if not depth:
                return at

    # A number times a power of ten, rounded to an integer; the end of its text, or negative.
    cdef int64_t _number(self, int64_t at, int power, int64_t* value, bint* rounded) noexcept nogil:
        cdef bint negative = False
        cdef bint point = False
        cdef bint any_digit = False
        cdef bint negative_exponent = False
        cdef uint64_t digits = 0
        cdef int64_t exponent = power
        cdef int64_t stated = 0
        cdef int count = 0
        cdef int64_t half, most
        cdef bint lost = False
        self._wrong = at
        if at < self._end and self._data[at] == c'-':
            negative = True
            at += 1
        while at < self._end and (is_digit(self._data[at]) or (self._data[at] == c'.' and not point)):
            if self._data[at] == c'.':
                point = True
            else:
                any_digit = True
                if count < MOST_DIGITS:
                    digits = digits * 10 + (self._data[at] - c'0')
                    count += digits != 0
                    exponent -= point
                else:
                    lost = lost or self._data[at] != c'0'
                    exponent += not point
            at += 1
        if not any_digit:
            return -1
        if at < self._end and self._data[at] | 0x20 == c'e':
            at += 1
            if at < self._end and (self._data[at] == c'+' or self._data[at] == c'-'):
                negative_exponent = self._data[at] == c'-'
                at += 1
            if at >= self._end or not is_digit(self._data[at]):
                return -1
            while at < self._end and is_digit(self._data[at]):
                if stated < MOST_EXPONENT:
                    stated = stated * 10 + (self._data[at] - c'0')
                at += 1
            exponent += -stated if negative_exponent else stated
        if at < self._end and is_bare(self._data[at]):
            return -1
        if exponent >= 0:
            # More digits than there is room for are not known exactly here.
            value[0] = 0
            if digits:
                if exponent > MOST_POWER:
                    return -1
                most = INT64_MAX // POWERS[exponent]
                if digits > <uint64_t>most:
                    return -1
                value[0] = <int64_t>digits * POWERS[exponent]
        elif exponent < -MOST_POWER:
            lost = lost or digits != 0
            value[0] = 0
        else:
            half = POWERS[-exponent]
            value[0] = <int64_t>(digits // <uint64_t>half)
            if digits % <uint64_t>half:
                lost = True
                value[0] += digits % <uint64_t>half >= <uint64_t>(half - half // 2)
        rounded[0] = lost
        if negative:
            value[0] = -value[0]
        return at

    def events(
        self, int64_t at, int64_t room, int64_t frames, int power
    ) -> tuple[int, int, NDArray[uint8], NDArray[int32], NDArray[int64]]:
        """Return up to `room` events of a profile, from the position after an array's bracket or the last event.

        Args:
            at: the position.
            room: the most events.
            frames: the number of frames.
            power: times are multiplied with this power of ten.

        Returns:
            The position after them, -1 after the last; how many times are rounded; types, frames and times.

        Raises:
            MalformedError: something else than an event is next.

        """
        kinds, numbers, times = np.zeros(room, np.uint8), np.zeros(room, np.int32), np.zeros(room, np.int64)
        cdef uint8_t[::1] kind = kinds
        cdef int32_t[::1] frame = numbers
        cdef int64_t[::1] time = times
        cdef int64_t found = 0
        cdef int64_t rounded = 0
        cdef int64_t after = at
        if not 0 <= at <= self._end or room < 1:
            raise ValueError("no position in the document")
        with nogil:
            while found < room:
                at = self._next(at)
                if at < 0:
                    break
                at = self._event(at, frames, power, &kind[found], &frame[found], &time[found], &rounded)
                if at < 0:
                    break
                found += 1
                after = at
        if at == -1 and not found:
            raise MalformedError("an event with a type (O or C), a frame and a time", self._wrong)
        return -1 if at == -2 else after, rounded, kinds[:found], numbers[:found], times[:found]

    # The start of the next element, given the position after the array's bracket or the element before: -2 at the end of
    # the array, -1 where there is neither.
    cdef int64_t _next(self, int64_t at) noexcept nogil:
        cdef bint is_first = at > 0 and self._data[at - 1] == c'['
        at = self._space(at)
        self._wrong = at
        if at >= self._end:
            return -1
        if self._data[at] == c']':
            return -2
        if is_first:
            return at
        if self._data[at] != c',':
            return -1
        at = self._space(at + 1)
        self._wrong = at
        return -1 if at >= self._end or self._data[at] == c']' else at

    cdef int64_t _event(
        self, int64_t at, int64_t frames, int power, uint8_t* kind, int32_t* frame, int64_t* time, int64_t* rounded
    ) noexcept nogil:
        cdef int64_t name, value, number
        cdef int64_t start = at
        cdef int seen = 0
        cdef bint inexact = False
        if self._data[at] != c'{':
            return -1
        at = self._space(at + 1)
        while at < self._end and self._data[at] != c'}':
            name = at
            at = self._string(at)
            if at < 0:
                return -1
            value = self._space(at)
            if value >= self._end or self._data[value] != c':':
                self._wrong = value
                return -1
            value = self._space(value + 1)
            if at - name == 4 and self._data[name + 1] == c'a' and self._data[name + 2] == c't':
                at = self._number(value, power, time, &inexact)
                rounded[0] += inexact
                seen |= 1
            elif at - name == 7 and is_text(self._data + name + 1, b"frame", 5):
                at = self._number(value, 0, &number, &inexact)
                if at >= 0 and (inexact or not 0 <= number < frames):
                    self._wrong = value
                    return -1
                frame[0] = <int32_t>number
                seen |= 2
            elif at - name == 6 and is_text(self._data + name + 1, b"type", 4):
                if self._end - value < 3 or self._data[value] != c'"' or self._data[value + 2] != c'"':
                    self._wrong = value
                    return -1
                kind[0] = OPEN if self._data[value + 1] == c'O' else CLOSE if self._data[value + 1] == c'C' else 0
                if not kind[0]:
                    self._wrong = value
                    return -1
                at = value + 3
                seen |= 4
            else:
                at = self._value(value)
            if at < 0:
                return -1
            at = self._space(at)
            if at < self._end and self._data[at] == c',':
                at = self._space(at + 1)
            elif at >= self._end or self._data[at] != c'}':
                self._wrong = at
                return -1
        self._wrong = start
        return at + 1 if seen == 7 and at < self._end else -1

    def numbers(self, int64_t at, int64_t room, int power) -> tuple[int, int, NDArray[int64]]:
        """Return up to `room` numbers times a power of ten, from the position after an array's bracket or the last one.

        Returns:
            The position after them, -1 after the last; how many are rounded; and the numbers.

        Raises:
            MalformedError: something else than a number of 63 bits is next.

        """
        values = np.zeros(room, np.int64)
        cdef int64_t[::1] value = values
        cdef int64_t found = 0
        cdef int64_t rounded = 0
        cdef int64_t after = at
        cdef bint inexact = False
        if not 0 <= at <= self._end or room < 1:
            raise ValueError("no position in the document")
        with nogil:
            while found < room:
                at = self._next(at)
                if at < 0:
                    break
                at = self._number(at, power, &value[found], &inexact)
                if at < 0:
                    break
                rounded += inexact
                found += 1
                after = at
        if at == -1 and not found:
            raise MalformedError("a number of 63 bits", self._wrong)
        return -1 if at == -2 else after, rounded, values[:found]

    def stacks(
        self, int64_t at, int64_t room, int64_t frames
    ) -> tuple[int, NDArray[int64], NDArray[int32]]:
        """Return up to `room` arrays of numbers of frames, from the position after an array's bracket or the last one.

        Returns:
            The position after them, -1 after the last; n + 1 offsets; and the frames of all.

        Raises:
            MalformedError: something else than an array of numbers below `frames` is next.

        """
        cdef int64_t found = 0
        cdef int64_t used = 0
        cdef int64_t number = 0
        cdef int64_t after = at
        cdef bint inexact = False
        offsets = np.zeros(room + 1, np.int64)
        values = np.zeros(4 * room, np.int32)
        cdef int64_t[::1] offset = offsets
        cdef int32_t[::1] value = values
        if not 0 <= at <= self._end or room < 1:
            raise ValueError("no position in the document")
        while found < room:
            at = self._next(at)
            if at < 0:
                break
            if self._data[at] != c'[':
                at = -1
                break
            at += 1
            while True:
                at = self._next(at)
                if at < 0:
                    break
                at = self._number(at, 0, &number, &inexact)
                if at < 0 or inexact or not 0 <= number < frames:
                    at = -1
                    break
                if used == value.shape[0]:
                    values = np.concatenate([values, np.zeros_like(values)])
                    value = values
                value[used] = <int32_t>number
                used += 1
            if at == -1:
                break
            # After the bracket of the stack, whose position `_next` has left.
            after = at = self._wrong + 1
            found += 1
            offset[found] = used
        if at == -1 and not found:
            raise MalformedError("an array of numbers of frames", self._wrong)
        return -1 if at == -2 else after, offsets[:found + 1], values[:offset[found]]


cdef inline bint is_digit(uint8_t byte) noexcept nogil:
    return c'0' <= byte <= c'9'


cdef inline bint is_bare(uint8_t byte) noexcept nogil:
    return is_digit(byte) or c'a' <= byte <= c'z' or c'A' <= byte <= c'Z' or byte in b"+-._"


cdef inline bint is_text(const uint8_t* data, const char* text, int size) noexcept nogil:
    cdef int i
    for i in range(size):
        if data[i] != <uint8_t>text[i]:
            return False
    return True
