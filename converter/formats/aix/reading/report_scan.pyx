# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Lines of trcrpt reports taken apart by their columns.

Every position is compared with the end of its line or span before a byte is read there.

Values found in texts: the texts of the events of a trcrpt report, given as spans of what was read.
"""

# Stub:
# from numpy import signedinteger

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr, memcpy

from converter.formats.aix.reading.printed_text cimport blanks_end, digit_of, find, is_blank, number_at


# Columns of a line before its time; the numbers are those of `report_header.FrontColumn`.
cdef enum:
    HOOK_ID = 0
    PROCESS_NAME = 1
    CPU = 2
    PID = 3
    TID = 4
    DEPTH = 5
    SYSTEM_CALL = 6
    MOST_COLUMNS = 16

# Columns of the rows that are made, as `scan` describes them.
cdef enum:
    ROW_TIME = 0
    ROW_ID = 1
    ROW_CPU = 2
    ROW_PID = 3
    ROW_TID = 4
    ROW_DEPTH = 5
    ROW_NAME = 6
    ROW_NAME_SIZE = 7
    ROW_SVC = 8
    ROW_SVC_SIZE = 9
    ROW_TEXT = 10
    ROW_TEXT_SIZE = 11
    ROW_LEVEL = 12
    ROW_SIZE = 13

cdef enum:
    LEVEL_WIDTH = 8
    LEVELS = 4


# The most seconds, which fit 63 bits as nanoseconds, too.
cdef int64_t MOST_SECONDS = <int64_t>9_000_000_000


cdef struct Layout:
    int count
    int kinds[MOST_COLUMNS]
    int64_t places[MOST_COLUMNS]
    bint timed
    bint has_delta
    bint aligned
    int64_t text_column


cdef struct Token:
    int64_t start
    int64_t end


cdef inline int64_t token_end(const uint8_t* data, int64_t at, int64_t end) noexcept nogil:
    while at < end and not is_blank(data[at]):
        at += 1
    return at


# The hook id that a token is, in 16 bits: three or four hexadecimal digits.
cdef int64_t hook_id(const uint8_t* data, Token* token) noexcept nogil:
    cdef int64_t number, stop
    cdef int64_t size = token.end - token.start
    if size != 3 and size != 4:
        return -1
    if digit_of(data[token.start], 16) < 0 or (data[token.start + 1] | 0x20) == c'x':
        return -1
    if not number_at(data, token.start, token.end, 16, &number, &stop) or stop != token.end:
        return -1
    return number << 4 if size == 3 else number


# Nanoseconds of a token "seconds.digits" of 3 to 9 digits; False when it is none.
cdef bint seconds_of(const uint8_t* data, Token* token, int64_t* nanoseconds) noexcept nogil:
    cdef int64_t whole, fraction, stop, size
    if digit_of(data[token.start], 10) < 0:
        return False
    if not number_at(data, token.start, token.end, 10, &whole, &stop):
        return False
    if stop >= token.end or data[stop] != c'.' or whole > MOST_SECONDS:
        return False
    stop += 1
    size = token.end - stop
    if size < 3 or size > 9 or digit_of(data[stop], 10) < 0:
        return False
    if not number_at(data, stop, token.end, 10, &fraction, &stop) or stop != token.end:
        return False
    while size < 9:
        fraction *= 10
        size += 1
    nanoseconds[0] = whole * <int64_t>1000000000 + fraction
    return True


cdef bint is_decimal(const uint8_t* data, Token* token) noexcept nogil:
    cdef int64_t i
    for i in range(token.start, token.end):
        if digit_of(data[i], 10) < 0 and data[i] != c'.':
            return False
    return True


# Put a token into the row, as the value of a column; False when it cannot be one.
cdef bint put(const uint8_t* data, int kind, Token* token, int64_t* row) noexcept nogil:
    cdef int64_t number, stop
    if kind == HOOK_ID:
        row[ROW_ID] = hook_id(data, token)
        return row[ROW_ID] >= 0
    if kind == PROCESS_NAME or kind == SYSTEM_CALL:
        if kind == PROCESS_NAME:
            if row[ROW_NAME_SIZE] == 0:
                row[ROW_NAME] = token.start
            row[ROW_NAME_SIZE] = token.end - row[ROW_NAME]
        else:
            if row[ROW_SVC_SIZE] == 0:
                row[ROW_SVC] = token.start
            row[ROW_SVC_SIZE] = token.end - row[ROW_SVC]
        return True
    if not number_at(data, token.start, token.end, 10, &number, &stop) or stop != token.end:
        # trcrpt has other things than numbers where there is none: "--1-", "?".
        return True
    if kind == CPU:
        row[ROW_CPU] = number if 0 <= number <= 0xffff else -1
    elif kind == PID:
        row[ROW_PID] = number
    elif kind == TID:
        row[ROW_TID] = number
    else:
        row[ROW_DEPTH] = number if 0 <= number <= 255 else -1
    return True


# The column that a token is in: by its place or, in a report whose blanks were squeezed, the next in order.
cdef int column_of(Layout* layout, Token* token, int64_t line, int last) noexcept nogil:
    cdef int i
    cdef int found = last
    if layout.aligned:
        found = 0
        for i in range(1, layout.count):
            if token.start - line >= layout.places[i]:
                found = i
        return found
    found = last + 1
    # An optional value is passed over when this cannot be it: a nesting depth is one digit.
    if found < layout.count and layout.kinds[found] == DEPTH and token.end - token.start > 1:
        found += 1
    return found if found < layout.count else layout.count - 1


# Take the line data[line:end] apart; False when it is no event.
cdef bint split(const uint8_t* data, int64_t line, int64_t end, Layout* layout, int64_t* row) noexcept nogil:
    cdef Token token
    cdef int64_t at = line
    cdef int64_t text_start
    cdef int column = -1
    cdef int i
    cdef bint has_time = not layout.timed
    for i in range(ROW_SIZE):
        row[i] = 0
    row[ROW_ID] = row[ROW_CPU] = row[ROW_PID] = row[ROW_TID] = row[ROW_DEPTH] = -1
    while True:
        at = blanks_end(data, at, end)
        if at >= end:
            break
        if not layout.timed and (
            at - line >= layout.text_column if layout.aligned else column == layout.count - 1
        ):
            break
        token.start = at
        token.end = token_end(data, at, end)
        if layout.timed and seconds_of(data, &token, &row[ROW_TIME]):
            has_time = True
            at = token.end
            break
        if layout.count == 0:
            return False
        column = column_of(layout, &token, line, column)
        if not put(data, layout.kinds[column], &token, row):
            return False
        at = token.end
    if not has_time:
        return False
    if layout.count and layout.kinds[0] == HOOK_ID and row[ROW_ID] < 0:
        return False
    if not layout.timed and column < 0:
        return False
    text_start = blanks_end(data, at, end)
    if layout.has_delta and text_start < end:
        token.start = text_start
        token.end = token_end(data, text_start, end)
        if is_decimal(data, &token):
            text_start = blanks_end(data, token.end, end)
    while end > text_start and is_blank(data[end - 1]):
        end -= 1
    row[ROW_TEXT] = text_start
    row[ROW_TEXT_SIZE] = end - text_start
    if layout.aligned and end > text_start:
        row[ROW_LEVEL] = level_of(text_start - line, layout)
    return True


cdef inline int64_t level_of(int64_t column, Layout* layout) noexcept nogil:
    column = (column - layout.text_column) // LEVEL_WIDTH if column > layout.text_column else 0
    return column + 1 if column < LEVELS else LEVELS


def scan(
    const uint8_t[::1] data: bytes | bytearray | memoryview | NDArray[uint8],
    int64_t start,
    bint final,
    heading,
    int64_t[:, ::1] rows,
) -> tuple[int, int, bool]:
    """Read events of the lines from `start` on, at most as many as `rows` has; return their number, where the next line
    starts, and whether that line holds the heading's `title` and is a heading.

    The heading's `columns` are those before the time: (number of `report_header.FrontColumn`, offset in the line). A
    report is `aligned` where values are below their headings, else they are taken in order. An event's further lines
    belong to its text; with `final` the data ends here, else the last event waits for more.

    A row is 13 numbers, -1 for none: nanoseconds; 16-bit hook id (-2: no event, just text); CPU; pid; tid; nesting of
    interrupts; start and size of the process name, the system call and the text; 1 to 4 for the text's column, or 0.
    Releases the GIL.
    """
    cdef Layout layout
    cdef const uint8_t* bytes_of
    cdef bytes title = heading.title
    cdef const uint8_t* title_bytes = title
    cdef int64_t title_size = len(title)
    cdef int64_t total = data.shape[0]
    cdef int64_t at = start
    cdef int64_t line, end, size
    cdef int64_t count = 0
    cdef int64_t last_event = start
    cdef bint open_event = False
    cdef bint is_title = False
    cdef const uint8_t* found
    layout.count = min(len(heading.columns), MOST_COLUMNS)
    for i in range(layout.count):
        layout.kinds[i], layout.places[i] = heading.columns[i]
    layout.timed = heading.timed
    layout.has_delta = heading.has_delta
    layout.aligned = heading.aligned
    layout.text_column = heading.text_column
    if rows.shape[1] != ROW_SIZE or not 0 <= start <= total:
        raise ValueError("rows of another shape, or a start outside the data")
    if total == start:
        return 0, start, False
    bytes_of = &data[0]
    with nogil:
        while at < total and count < rows.shape[0]:
            line = at
            found = <const uint8_t*>memchr(bytes_of + at, c'\n', total - at)
            if found is NULL:
                if not final:
                    break
                end = total
                at = total
            else:
                end = found - bytes_of
                at = end + 1
            if blanks_end(bytes_of, line, end) == end:
                open_event = False
                continue
            if split(bytes_of, line, end, &layout, &rows[count, 0]):
                open_event = True
                last_event = line
                count += 1
                continue
            if title_size and find(bytes_of, line, end, title_bytes, title_size) >= 0:
                is_title = True
                at = line
                break
            while end > line and is_blank(bytes_of[end - 1]):
                end -= 1
            if open_event:
                # Another line of the same event.
                size = end - rows[count - 1, ROW_TEXT]
                if rows[count - 1, ROW_TEXT_SIZE] == 0:
                    rows[count - 1, ROW_TEXT] = blanks_end(bytes_of, line, end)
                    rows[count - 1, ROW_LEVEL] = (
                        level_of(rows[count - 1, ROW_TEXT] - line, &layout) if layout.aligned else 0
                    )
                    size = end - rows[count - 1, ROW_TEXT]
                rows[count - 1, ROW_TEXT_SIZE] = size
                continue
            rows[count, ROW_TIME] = rows[count - 1, ROW_TIME] if count else 0
            rows[count, ROW_ID] = -2
            rows[count, ROW_TEXT] = blanks_end(bytes_of, line, end)
            rows[count, ROW_TEXT_SIZE] = end - rows[count, ROW_TEXT]
            rows[count, ROW_LEVEL] = 0
            rows[count, ROW_NAME_SIZE] = rows[count, ROW_SVC_SIZE] = 0
            rows[count, ROW_CPU] = rows[count, ROW_PID] = rows[count, ROW_TID] = rows[count, ROW_DEPTH] = -1
            count += 1
    if open_event and not is_title and not (final and at >= total) and count > 1:
        # The event may continue after the data.
        return count - 1, last_event, False
    return count, at, is_title


def numbers(
    const uint8_t[::1] data: bytes | bytearray | memoryview | NDArray[uint8],
    const int64_t[:] starts: NDArray[signedinteger[Any]],
    const int64_t[:] sizes: NDArray[signedinteger[Any]],
    bytes key,
    int base,
    int64_t[::1] out,
    *,
    bint before=False,
) -> None:
    """Find the number after the first `key` of each span (or the word `before` it), in base 10 or 16; -1 for none."""
    cdef int64_t total = data.shape[0]
    cdef int64_t i, at, end, number, stop
    cdef const uint8_t* wanted = key
    cdef int64_t size = len(key)
    cdef const uint8_t* bytes_of
    if sizes.shape[0] != starts.shape[0] or out.shape[0] != starts.shape[0]:
        raise ValueError("starts, sizes and out differ in length")
    if base != 10 and base != 16:
        raise ValueError(f"base {base}")
    out[:] = -1
    if total == 0:
        return
    bytes_of = &data[0]
    with nogil:
        for i in range(starts.shape[0]):
            if not span_fits(starts[i], sizes[i], total):
                continue
            end = starts[i] + sizes[i]
            at = find(bytes_of, starts[i], end, wanted, size)
            if at < 0:
                continue
            if before:
                end = at
                while end > starts[i] and is_blank(bytes_of[end - 1]):
                    end -= 1
                at = end
                while at > starts[i] and not is_blank(bytes_of[at - 1]):
                    at -= 1
            else:
                at = blanks_end(bytes_of, at + size, end)
            if number_at(bytes_of, at, end, base, &number, &stop) and number >= 0:
                out[i] = number


def words(
    const uint8_t[::1] data: bytes | bytearray | memoryview | NDArray[uint8],
    const int64_t[:] starts: NDArray[signedinteger[Any]],
    const int64_t[:] sizes: NDArray[signedinteger[Any]],
    bytes key,
    bytes until,
    int64_t[::1] found_starts,
    int64_t[::1] found_sizes,
) -> None:
    """Find the text after the first `key` of each span up to `until`, or up to a blank where that is missing or empty.

    Blanks and full stops at its end are left out; of size 0 where there is no key.
    """
    cdef int64_t total = data.shape[0]
    cdef int64_t i, at, end, stop
    cdef const uint8_t* wanted = key
    cdef const uint8_t* closing = until
    cdef int64_t size = len(key)
    cdef int64_t closing_size = len(until)
    cdef const uint8_t* bytes_of
    if not starts.shape[0] == sizes.shape[0] == found_starts.shape[0] == found_sizes.shape[0]:
        raise ValueError("the columns differ in length")
    found_starts[:] = 0
    found_sizes[:] = 0
    if total == 0:
        return
    bytes_of = &data[0]
    with nogil:
        for i in range(starts.shape[0]):
            if not span_fits(starts[i], sizes[i], total):
                continue
            end = starts[i] + sizes[i]
            at = find(bytes_of, starts[i], end, wanted, size)
            if at < 0:
                continue
            at = blanks_end(bytes_of, at + size, end)
            stop = find(bytes_of, at, end, closing, closing_size) if closing_size else -1
            if stop < 0:
                stop = at
                while stop < end and not is_blank(bytes_of[stop]) and bytes_of[stop] != c'\n':
                    stop += 1
            while stop > at and (is_blank(bytes_of[stop - 1]) or bytes_of[stop - 1] == c'.'):
                stop -= 1
            found_starts[i] = at
            found_sizes[i] = stop - at


def copy_spans(
    const uint8_t[::1] data: bytes | bytearray | memoryview | NDArray[uint8],
    const int64_t[:] starts: NDArray[signedinteger[Any]],
    const int64_t[:] sizes: NDArray[signedinteger[Any]],
    int64_t[::1] offsets,
    uint8_t[::1] out,
) -> None:
    """Lay the spans end to end in `out`, where they are ``out[offsets[i]:offsets[i + 1]]``.

    Raises ValueError when a span lies outside the data, or `out` has not room for all. Releases the GIL.
    """
    cdef int64_t total = data.shape[0]
    cdef int64_t at = 0
    cdef int64_t i
    cdef bint fits = True
    if sizes.shape[0] != starts.shape[0] or offsets.shape[0] != starts.shape[0] + 1:
        raise ValueError("starts, sizes and offsets differ in length")
    with nogil:
        offsets[0] = 0
        for i in range(starts.shape[0]):
            if not span_fits(starts[i], sizes[i], total) or sizes[i] > out.shape[0] - at:
                fits = False
                break
            if sizes[i]:
                memcpy(&out[at], &data[starts[i]], sizes[i])
            at += sizes[i]
            offsets[i + 1] = at
    if not fits:
        raise ValueError("a span lies outside the data")


cdef inline bint span_fits(int64_t start, int64_t size, int64_t total) noexcept nogil:
    return start >= 0 and size >= 0 and start <= total and size <= total - start
