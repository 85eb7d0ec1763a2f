# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Messages that programs write to trace_marker in the form of Android's atrace (libcutils, trace-dev.inc).

    B|tgid|name          begin of a slice            E|tgid  or  E      its end
    C|tgid|name|value    value of a counter          I|tgid|name        instant
    S|tgid|name|cookie   begin of an async slice     F|tgid|name|cookie its end
    G|tgid|track|name|cookie, H|tgid|track|name|cookie, H|tgid|track|cookie: the same on a track by name
    N|tgid|track|name    instant on a track by name

A name ends at the next bar, a number too, and viewers ignore what follows (HarmonyOS writes ``S|tgid|name|cookie|level``),
also after the tgid of E. Where a number is only at the end, the name has bars in it. A process may leave out its tgid.

Texts made of parts: literals, numbers in decimal, and strings, laid end to end row by row.
"""

# Stub:
# from collections.abc import Sequence
# from typing import TypeAlias
# from numpy import bool_
# from converter.kernels.tables.strings import StringTable
#
# #: A row of parsed markers: phase uint8 (an ASCII letter, 0 for other text), tgid int64 (-1 for none), name int32,
# #: track int32 (ids, 0 for none), value int64 (of a counter, or a cookie), further uint8 (1 if viewers ignore a rest).
# Markers: TypeAlias = tuple[
#     NDArray[uint8], NDArray[int64], NDArray[int32], NDArray[int32], NDArray[int64], NDArray[uint8]
# ]
# #: A literal; a number a row, in decimal; or strings (ids, or offsets and characters) with the bytes that are replaced
# #: by "_" in them.
# Part: TypeAlias = (
#     bytes
#     | NDArray[int64]
#     | NDArray[uint64]
#     | tuple[NDArray[int32] | tuple[NDArray[int64], NDArray[uint8]], bytes]
# )

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memcpy
import numpy as np

from converter.kernels.tables.strings cimport Entry, StringTable
from converter.kernels.text.decimal cimport MOST_DIGITS, write_digits, write_integer


cdef struct Marker:
    uint8_t phase
    int64_t tgid
    int64_t value
    # Spans of the text; a size of -1 is none.
    int64_t name
    int64_t name_size
    int64_t track
    int64_t track_size
    # Something follows that viewers ignore.
    bint further


# The prefix of the message in trace-cmd's text output and some kernels.
cdef const char* PREFIX = "tracing_mark_write: "
cdef enum:
    PREFIX_SIZE = 20
    BAR = 124

# Perfetto's name for a slice without one (systrace_parser.cc).
cdef const char* NAMELESS = "[empty slice name]"
cdef enum:
    NAMELESS_SIZE = 18


# The int64 that text[start:end] is in decimal; False when it is anything else.
cdef inline bint number_in(const uint8_t* text, int64_t start, int64_t end, int64_t* number) noexcept nogil:
    cdef bint negative = start < end and text[start] == c'-'
    cdef uint64_t total = 0
    cdef uint64_t limit = <uint64_t>0x7FFFFFFFFFFFFFFF + negative
    cdef uint64_t digit
    if negative:
        start += 1
    if start >= end:
        return False
    while start < end:
        if not c'0' <= text[start] <= c'9':
            return False
        digit = text[start] - c'0'
        if total > (limit - digit) // 10:
            return False
        total = total * 10 + digit
        start += 1
    number[0] = <int64_t>(0 - total) if negative else <int64_t>total
    return True


# The first bar in text[start:end], or end.
cdef inline int64_t bar_from(const uint8_t* text, int64_t start, int64_t end) noexcept nogil:
    while start < end and text[start] != BAR:
        start += 1
    return start


# The last bar in text[start:end], or -1.
cdef inline int64_t last_bar(const uint8_t* text, int64_t start, int64_t end) noexcept nogil:
    while end > start:
        end -= 1
        if text[end] == BAR:
            return end
    return -1


# Return True if text[start:end] is a field and a number, ending where others begin or at the end; sets where the field
# ends. Where there is no number after the field, the last one is taken, and the field has bars in it.
cdef inline bint numbered(
    const uint8_t* text, int64_t start, int64_t* end, int64_t* number
) noexcept nogil:
    cdef int64_t bar = bar_from(text, start, end[0])
    if bar < end[0] and number_in(text, bar + 1, bar_from(text, bar + 1, end[0]), number):
        end[0] = bar
        return True
    bar = last_bar(text, start, end[0])
    if bar < 0 or not number_in(text, bar + 1, end[0], number):
        return False
    end[0] = bar
    return True


# Fill `marker`; its phase is 0 when the text is no atrace message.
cdef void parse(const uint8_t* text, int64_t size, Marker* marker) noexcept nogil:
    cdef int64_t at = 0
    cdef int64_t end = size
    cdef int64_t bar, last
    cdef uint8_t phase
    marker.phase = 0
    marker.further = False
    marker.tgid = -1
    marker.value = 0
    marker.name = 0
    marker.name_size = -1
    marker.track = 0
    marker.track_size = -1
    while end > 0 and (text[end - 1] == c'\n' or text[end - 1] == 0):
        end -= 1
    if end >= PREFIX_SIZE and memcmp(text, PREFIX, PREFIX_SIZE) == 0:
        at = PREFIX_SIZE
    if at >= end:
        return
    phase = text[at]
    at += 1
    if at == end:
        marker.phase = phase if phase == c'E' else 0
        return
    if text[at] != BAR:
        return
    at += 1
    bar = bar_from(text, at, end)
    if bar > at and (text[at] == c'-' or not number_in(text, at, bar, &marker.tgid)):
        return
    at = bar + 1
    marker.further = at < end
    if phase == c'E':
        marker.phase = phase
        return
    if at > end or phase not in (c'B', c'C', c'F', c'G', c'H', c'I', c'N', c'S'):
        return
    last = end
    if phase in (c'G', c'H', c'N'):
        bar = bar_from(text, at, end)
        if bar == end:
            return
        marker.track = at
        marker.track_size = bar - at
        at = bar + 1
    if phase == c'H' and number_in(text, at, end, &marker.value):
        # It may do without the name.
        marker.further = False
        marker.phase = phase
        return
    if phase in (c'C', c'F', c'G', c'H', c'S'):
        if not numbered(text, at, &end, &marker.value):
            return
        marker.further = bar_from(text, end + 1, last) < last
    elif phase in (c'I', c'N'):
        end = bar_from(text, at, end)
        marker.further = end < last
    else:
        marker.further = False
    marker.name = at
    marker.name_size = end - at
    marker.phase = phase


# The id of a span of a text; 0, the empty string, for none; -1 when there is no room. With the table's lock held.
cdef inline int32_t span_id(
    StringTable strings, const uint8_t* text, int64_t start, int64_t size
) noexcept nogil:
    if size <= 0:
        return 0
    return strings.find_or_add(text + start, <uint32_t>size)


cdef class Columns:
    cdef object arrays
    cdef uint8_t[::1] phase
    cdef int64_t[::1] tgid
    cdef int32_t[::1] name
    cdef int32_t[::1] track
    cdef int64_t[::1] value
    cdef uint8_t[::1] further

    def __init__(self, int64_t count):
        self.arrays = (
            np.zeros(count, np.uint8),
            np.zeros(count, np.int64),
            np.zeros(count, np.int32),
            np.zeros(count, np.int32),
            np.zeros(count, np.int64),
            np.zeros(count, np.uint8),
        )
        self.phase, self.tgid, self.name, self.track, self.value, self.further = self.arrays

    # Parse the text of row i; False when there is no room for more strings. With the table's lock held.
    cdef bint add(self, int64_t i, StringTable strings, const uint8_t* text, int64_t size) noexcept nogil:
        cdef Marker marker
        parse(text, size, &marker)
        self.phase[i] = marker.phase
        self.tgid[i] = marker.tgid
        self.value[i] = marker.value
        if marker.phase == 0:
            return True
        self.further[i] = marker.further
        if marker.phase == c'B' and marker.name_size == 0:
            self.name[i] = strings.find_or_add(<const uint8_t*>NAMELESS, NAMELESS_SIZE)
        else:
            self.name[i] = span_id(strings, text, marker.name, marker.name_size)
        self.track[i] = span_id(strings, text, marker.track, marker.track_size)
        return self.name[i] >= 0 and self.track[i] >= 0


def parse_marker_ids(StringTable strings, const int32_t[:] ids) -> Markers:
    """Parse atrace messages that are strings of the trace.

    Raises ValueError for an id that does not exist, MemoryError when there is no room for more strings.
    Releases the GIL.
    """
    cdef Columns columns = Columns(ids.shape[0])
    cdef int64_t known = len(strings)
    cdef int64_t i
    cdef int64_t failed = -1
    cdef bint room = True
    cdef Entry* entry
    with nogil:
        strings.lock()
        for i in range(ids.shape[0]):
            if not 0 <= ids[i] < known:
                failed = i
                break
            entry = strings.entry(ids[i])
            if not columns.add(i, strings, entry.data, entry.size):
                room = False
                break
        strings.unlock()
    if failed >= 0:
        raise ValueError(f"string {ids[failed]} of {known}")
    if not room:
        raise MemoryError("no room for more strings")
    return columns.arrays


def parse_marker_texts(StringTable strings, const uint8_t[:] values, const int64_t[:] offsets) -> Markers:
    """Parse atrace messages that are ``values[offsets[i]:offsets[i + 1]]``.

    Raises ValueError when a text lies outside the values, MemoryError when there is no room for more strings.
    Releases the GIL.
    """
    cdef const uint8_t[::1] data = np.ascontiguousarray(values)
    cdef int64_t rows = offsets.shape[0] - 1
    cdef int64_t total = data.shape[0]
    cdef int64_t i
    cdef int64_t failed = -1
    cdef bint room = True
    # The address of an empty array's first byte is not asked for.
    cdef const uint8_t* base = &data[0] if total else NULL
    if rows < 0:
        raise ValueError("no offsets")
    cdef Columns columns = Columns(rows)
    with nogil:
        strings.lock()
        for i in range(rows):
            if offsets[i] < 0 or offsets[i] > offsets[i + 1] or offsets[i + 1] > total:
                failed = i
                break
            if offsets[i + 1] - offsets[i] > 0x7FFFFFFF:
                failed = i
                break
            if not columns.add(i, strings, base + offsets[i], offsets[i + 1] - offsets[i]):
                room = False
                break
        strings.unlock()
    if failed >= 0:
        raise ValueError(f"text {failed} lies outside the values")
    if not room:
        raise MemoryError("no room for more strings")
    return columns.arrays


# Return True if a text is a message as Perfetto's importer takes it: nothing before it, and only an end without its
# process.
cdef inline bint is_plain(const uint8_t* text, int64_t size) noexcept nogil:
    cdef Marker marker
    parse(text, size, &marker)
    return marker.phase != 0 and text[0] == marker.phase and (marker.phase == c'E' or marker.tgid >= 0)


def plain_marker_ids(StringTable strings, const int32_t[:] ids) -> NDArray[bool_]:
    """Return True for strings that Perfetto's importer reads as atrace messages: in full, and with nothing before them.

    Raises ValueError for an id that does not exist. Releases the GIL.
    """
    cdef uint8_t[::1] plain = np.zeros(ids.shape[0], np.uint8)
    cdef int64_t known = len(strings)
    cdef int64_t i
    cdef int64_t failed = -1
    cdef Entry* entry
    with nogil:
        strings.lock()
        for i in range(ids.shape[0]):
            if not 0 <= ids[i] < known:
                failed = i
                break
            entry = strings.entry(ids[i])
            plain[i] = is_plain(entry.data, entry.size)
        strings.unlock()
    if failed >= 0:
        raise ValueError(f"string {ids[failed]} of {known}")
    return np.asarray(plain).view(np.bool_)


def plain_marker_texts(const uint8_t[:] values, const int64_t[:] offsets) -> NDArray[bool_]:
    """The same of texts that are ``values[offsets[i]:offsets[i + 1]]``.

    Raises ValueError when a text lies outside the values. Releases the GIL.
    """
    cdef const uint8_t[::1] data = np.ascontiguousarray(values)
    cdef int64_t rows = offsets.shape[0] - 1
    cdef int64_t total = data.shape[0]
    cdef int64_t i
    cdef int64_t failed = -1
    cdef const uint8_t* base = &data[0] if total else NULL
    if rows < 0:
        raise ValueError("no offsets")
    cdef uint8_t[::1] plain = np.zeros(rows, np.uint8)
    with nogil:
        for i in range(rows):
            if offsets[i] < 0 or offsets[i] > offsets[i + 1] or offsets[i + 1] > total:
                failed = i
                break
            plain[i] = is_plain(base + offsets[i], offsets[i + 1] - offsets[i])
    if failed >= 0:
        raise ValueError(f"text {failed} lies outside the values")
    return np.asarray(plain).view(np.bool_)


cdef enum:
    LITERAL = 0
    NUMBER = 1
    UNSIGNED = 2
    STRING = 3
    LIST = 4


cdef struct Part:
    int kind
    const uint8_t* text
    int64_t size
    const int64_t* numbers
    const int32_t* ids
    const int64_t* offsets
    const uint8_t* forbidden
    int64_t forbidden_size


def join_texts(
    int64_t count, parts: Sequence[Part], StringTable strings not None
) -> tuple[NDArray[int64], NDArray[uint8], int]:
    """`count` texts, each all parts end to end: offsets, characters, and how many bytes were replaced.

    Columns are contiguous. Raises ValueError for one that has not a text for each row. Releases the GIL.
    """
    cdef int64_t number_of_parts = len(parts)
    cdef Part* held = <Part*>calloc(number_of_parts + 1, sizeof(Part))
    cdef int64_t i, row
    cdef int64_t strings_count = len(strings)
    cdef int64_t total = 0
    cdef int64_t changed = 0
    cdef bint fits = True
    cdef const int64_t[::1] numbers
    cdef const uint64_t[::1] unsigned
    cdef const int32_t[::1] ids
    cdef const int64_t[::1] bounds
    cdef const uint8_t[::1] characters
    cdef int64_t[::1] offsets
    cdef uint8_t[::1] values
    cdef uint8_t nothing = 0
    cdef uint8_t* to
    if held is NULL:
        raise MemoryError
    alive = []
    try:
        for i in range(number_of_parts):
            part = parts[i]
            if isinstance(part, bytes):
                held[i].kind = LITERAL
                held[i].text = <const uint8_t*>PyBytes_AS_STRING(part)
                held[i].size = PyBytes_GET_SIZE(part)
                alive.append(part)
            elif not isinstance(part, tuple):
                if part.dtype == np.uint64:
                    unsigned = part
                    held[i].kind = UNSIGNED
                    held[i].numbers = <const int64_t*>&unsigned[0] if unsigned.shape[0] else NULL
                    fits &= unsigned.shape[0] == count
                else:
                    numbers = part
                    held[i].kind = NUMBER
                    held[i].numbers = &numbers[0] if numbers.shape[0] else NULL
                    fits &= numbers.shape[0] == count
                alive.append(part)
            else:
                column, forbidden = part
                held[i].forbidden = <const uint8_t*>PyBytes_AS_STRING(forbidden)
                held[i].forbidden_size = PyBytes_GET_SIZE(forbidden)
                alive.append(part)
                if isinstance(column, tuple):
                    bounds, characters = column
                    held[i].kind = LIST
                    fits &= bounds.shape[0] == count + 1
                    if not fits:
                        break
                    held[i].offsets = &bounds[0]
                    held[i].text = &characters[0] if characters.shape[0] else &nothing
                    fits &= bounds[0] >= 0 and bounds[count] <= characters.shape[0]
                    for row in range(count):
                        fits &= bounds[row] <= bounds[row + 1]
                else:
                    ids = column
                    held[i].kind = STRING
                    held[i].ids = &ids[0] if ids.shape[0] else NULL
                    fits &= ids.shape[0] == count
                    if fits:
                        for row in range(count):
                            fits &= 0 <= ids[row] < strings_count
        if not fits:
            raise ValueError("a part has not a text for each row")
        offsets_array = np.empty(count + 1, np.int64)
        offsets = offsets_array
        with nogil:
            offsets[0] = 0
            for row in range(count):
                for i in range(number_of_parts):
                    total += most_of(&held[i], row, strings)
                offsets[row + 1] = total
        values_array = np.empty(total, np.uint8)
        values = values_array
        if total:
            to = &values[0]
            with nogil:
                total = 0
                for row in range(count):
                    for i in range(number_of_parts):
                        total += put(&held[i], row, strings, to + total, &changed)
                    offsets[row + 1] = total
    finally:
        free(held)
    return offsets_array, values_array[:total], changed


# No fewer bytes than the part takes in this row.
cdef int64_t most_of(Part* part, int64_t row, StringTable strings) noexcept nogil:
    if part.kind == LITERAL:
        return part.size
    if part.kind == STRING:
        return strings.entry(part.ids[row]).size
    if part.kind == LIST:
        return part.offsets[row + 1] - part.offsets[row]
    # And a sign.
    return MOST_DIGITS + 1


cdef int64_t put(Part* part, int64_t row, StringTable strings, uint8_t* to, int64_t* changed) noexcept nogil:
    cdef const uint8_t* text = part.text
    cdef int64_t size = part.size
    cdef int64_t i
    cdef Entry* entry
    if part.kind == NUMBER:
        return write_integer(to, <uint64_t>part.numbers[row], True)
    if part.kind == UNSIGNED:
        return write_digits(to, <uint64_t>part.numbers[row])
    if part.kind == STRING:
        entry = strings.entry(part.ids[row])
        text, size = entry.data, entry.size
    elif part.kind == LIST:
        text = part.text + part.offsets[row]
        size = part.offsets[row + 1] - part.offsets[row]
    if size:
        memcpy(to, text, size)
    if part.forbidden_size:
        for i in range(size):
            if memchr(part.forbidden, to[i], part.forbidden_size) is not NULL:
                to[i] = c'_'
                changed[0] += 1
    return size
