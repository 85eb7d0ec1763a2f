# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Task, CPU, flags and time, before the text of an event.

The forms are those of kernel/trace/trace_output.c (`trace`, `trace_pipe`, the latency format, the same with the option
`verbose`, the option `raw`), trace-cmd's report, and systrace:

    comm-pid [(tgid)] [cpu] [flags] seconds.fraction: text
    comm-pid cpu flags micros us[mark]: text
    comm-pid cpu flags seconds.fraction: text
    comm pid cpu flags depth number [micros] millis.micros ms (+millis.micros ms): text
    pid cpu nanos text

Times are numbers without a fraction and a unit where the clock has ticks.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr, memcmp

from converter.formats.ftrace.lines.scan.flag_letters cimport read_letters
from converter.formats.ftrace.lines.scan.words cimport after_spaces, digits, hexadecimal, is_digit, nanoseconds

cdef enum:
    # A line that is longer has no event: the kernel prints one into a page or two.
    LONGEST_PREFIX = 4096


# False for a line that has no event.
cdef bint read_prefix(const Style* style, const uint8_t* base, int64_t at, int64_t end, Prefix* found) noexcept nogil:
    cdef int64_t limit = end if end - at < LONGEST_PREFIX else at + LONGEST_PREFIX
    cdef int64_t bracket = at
    cdef const uint8_t* hit
    found.depths = 0
    if style.raw:
        return with_numbers(base, at, end, found)
    while bracket < limit:
        hit = <const uint8_t*>memchr(base + bracket, c"[", limit - bracket)
        if hit is NULL:
            break
        bracket = hit - base
        if bracket > at and (
            with_brackets(style, base, at, bracket, end, found) or verbose(style, base, at, bracket, end, found)
        ):
            return True
        bracket += 1
    return latency(style, base, at, limit, end, found)


# A time, in nanoseconds or ticks; -1 for none.
cdef int64_t read_time(const Style* style, const uint8_t* base, int64_t* at, int64_t end) noexcept nogil:
    cdef int64_t ts
    if not style.ticks:
        return nanoseconds(base, at, end)
    ts = digits(base, at, end, 18)
    return -1 if at[0] < end and base[at[0]] == c"." else ts


# After the prefix and its colon, of which one space is part.
cdef inline bint after_colon(
    const Style* style, const uint8_t* base, int64_t at, int64_t end, Prefix* found
) noexcept nogil:
    # trace-cmd report --ts-diff prints the distance to the line before, older versions before the colon.
    at = after_difference(base, at, end)
    if at >= end or base[at] != c":":
        return False
    at += 1
    if style.columns.of_report:
        at = after_spaces(base, after_difference(base, at, end), end)
        found.text = at
    else:
        found.text = at + 1 if at < end and base[at] == c" " else at
    return True


cdef inline int64_t after_difference(const uint8_t* base, int64_t at, int64_t end) noexcept nogil:
    if end - at <= 3 or memcmp(base + at, <const char*>b" (+", 3) != 0:
        return at
    while at < end and base[at] != c")":
        at += 1
    return at + 1 if at < end else end


# comm-pid (tgid) [cpu] flags seconds.fraction:
cdef bint with_brackets(
    const Style* style, const uint8_t* base, int64_t start, int64_t bracket, int64_t end, Prefix* found
) noexcept nogil:
    cdef int64_t at = bracket + 1
    cdef int64_t left = bracket
    found.cpu = digits(base, &at, end, 5)
    if found.cpu < 0 or at >= end or base[at] != c"]":
        return False
    at += 1
    while left > start and base[left - 1] == c" ":
        left -= 1
    if not read_task(base, start, left, found):
        return False
    at = after_spaces(base, at, end)
    found.flags = -1
    if at < end and not is_digit(base[at]):
        left = at
        while at < end and base[at] != c" ":
            at += 1
        # trace-cmd report -R prints flags as a number.
        if memcmp(base + left, <const char*>b"-0x", 3) == 0:
            found.flags = <int32_t>(number_of(base, left + 3, at, 16) & 0xff)
        elif not read_letters(&style.columns, base, left, at, &found.flags, &found.depths):
            return False
        at = after_spaces(base, at, end)
    found.ts = read_time(style, base, &at, end)
    if found.ts < 0:
        return False
    return after_colon(style, base, at, end, found)


# comm-pid cpu flags micros us mark:
cdef bint latency(
    const Style* style, const uint8_t* base, int64_t start, int64_t limit, int64_t end, Prefix* found
) noexcept nogil:
    cdef int64_t at = start
    cdef int64_t left, flags
    while at < limit:
        if base[at] != c"-" or at == start or at + 1 >= limit or not is_digit(base[at + 1]):
            at += 1
            continue
        left = at + 1
        while left < limit and is_digit(base[left]):
            left += 1
        if left >= limit or base[left] != c" " or not read_task(base, start, left, found):
            at += 1
            continue
        left = after_spaces(base, left, limit)
        found.cpu = digits(base, &left, end, 5)
        if found.cpu < 0 or left >= limit or is_digit(base[left]):
            return False
        flags = left
        while left < limit and base[left] != c" ":
            left += 1
        if left == flags or not read_letters(&style.columns, base, flags, left, &found.flags, &found.depths):
            return False
        left = after_spaces(base, left, limit)
        flags = left
        found.ts = read_time(style, base, &left, end)
        if found.ts >= 0:
            # Of trace-cmd, or of a counter.
            return after_colon(style, base, left, end, found)
        left = flags
        found.ts = digits(base, &left, end, 15)
        if found.ts < 0 or end - left < 3 or base[left] != c"u" or base[left + 1] != c"s":
            return False
        found.ts *= 1000
        left += 2
        if left < end and base[left] != c":":
            # The kernel marks long gaps.
            left += 1
        return after_colon(style, base, after_spaces(base, left, end), end, found)
    return False


# comm pid cpu flags depth number [micros] millis.micros ms (+millis.micros ms):
cdef bint verbose(
    const Style* style, const uint8_t* base, int64_t start, int64_t bracket, int64_t end, Prefix* found
) noexcept nogil:
    cdef int64_t at = bracket + 1, value
    cdef int count
    found.ts = 0
    while at < end and hexadecimal(base[at]) >= 0 and not found.ts >> 59:
        found.ts = found.ts << 4 | hexadecimal(base[at])
        at += 1
    if at - bracket < 9 or end - at < 2 or base[at] != c"]" or base[at + 1] != c" ":
        return False
    if not style.ticks:
        if found.ts >> 53:
            return False
        found.ts *= 1000
    while at < end and base[at] != c":":
        at += 1
    if at == end or base[at - 1] != c")" or not after_colon(style, base, at, end, found):
        return False
    # Before the time: the number of the line, depth, flags, CPU and pid.
    found.tgid = -1
    at = bracket
    for count in range(5):
        value = number_before(base, start, &at, 16 if count < 2 else 10)
        if value < 0 or value >> 31 and count:
            return False
        if count == 1:
            found.depths = <int32_t>(value & 15)
        elif count == 2:
            found.flags = <int32_t>(value & 0xff)
        elif count == 3:
            found.cpu = value
        elif count == 4:
            found.pid = value
    found.comm = start
    while at > start and base[at - 1] == c" ":
        at -= 1
    found.comm_end = at
    return at > start


# The number after spaces that ends before spaces; -1 for none.
cdef int64_t number_before(const uint8_t* base, int64_t start, int64_t* at, int radix) noexcept nogil:
    cdef int64_t stop = at[0], first
    while stop > start and base[stop - 1] == c" ":
        stop -= 1
    first = stop
    while first > start and base[first - 1] != c" ":
        first -= 1
    at[0] = first
    return -1 if first == start else number_of(base, first, stop, radix)


# The number that a text is; -1 for another text, or more than 15 digits.
cdef int64_t number_of(const uint8_t* base, int64_t start, int64_t stop, int radix) noexcept nogil:
    cdef int64_t i, value = 0
    if stop == start or stop - start > 15:
        return -1
    for i in range(start, stop):
        if hexadecimal(base[i]) < 0 or hexadecimal(base[i]) >= radix:
            return -1
        value = value * radix + hexadecimal(base[i])
    return value


# pid cpu nanos text
cdef bint with_numbers(const uint8_t* base, int64_t at, int64_t end, Prefix* found) noexcept nogil:
    found.flags = -1
    found.tgid = -1
    found.comm = found.comm_end = at
    found.pid = digits(base, &at, end, 10)
    at = after_spaces(base, at, end)
    found.cpu = digits(base, &at, end, 5)
    at = after_spaces(base, at, end)
    found.ts = digits(base, &at, end, 18)
    found.text = after_spaces(base, at, end)
    return found.pid >= 0 and not found.pid >> 31 and found.cpu >= 0 and found.ts >= 0 and found.text > at


# comm-pid, and the (tgid) after it, which has dashes where it is not known.
cdef bint read_task(const uint8_t* base, int64_t start, int64_t end, Prefix* found) noexcept nogil:
    cdef int64_t at = end
    cdef int64_t first
    found.tgid = -1
    if at > start and base[at - 1] == c")":
        at -= 1
        first = at
        while first > start and base[first - 1] != c"(":
            first -= 1
        if first == start:
            return False
        end = first - 1
        while first < at and base[first] == c" ":
            first += 1
        found.tgid = digits(base, &first, at, 9)
        at = end
        while at > start and base[at - 1] == c" ":
            at -= 1
    end = at
    while at > start and is_digit(base[at - 1]):
        at -= 1
    if at == end or at - start < 1 or base[at - 1] != c"-":
        return False
    found.comm = start
    found.comm_end = at - 1
    found.pid = digits(base, &at, end, 10)
    return found.pid >= 0 and found.pid >> 31 == 0
