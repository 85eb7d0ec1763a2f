# The part of a line for a record in a report: its time, text and indentation.

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint64_t, uint8_t

cdef enum:
    # The factors between units: microseconds, milliseconds, seconds, minutes, hours.
    THOUSAND = 1000
    SIXTY = 60
    # The last unit, and the most of it.
    HOURS = 5
    MOST = 999


# The shown part of a record; a time of 0 is not shown.
cdef packed struct Line:
    uint8_t part
    # The unit of the time, its whole number and its thousandths.
    uint8_t unit
    uint16_t whole
    uint16_t thousandths
    int16_t text
    int32_t indent
    int32_t name


cdef inline void show(Line* line, int part, int64_t indent, uint64_t time) noexcept nogil:
    cdef uint64_t below
    cdef uint64_t limit = THOUSAND
    line.part = <uint8_t>part
    line.indent = <int32_t>indent
    line.unit = 0
    # A number of 64 bits, of which the absolute value is shown.
    if <int64_t>time < 0:
        time = <uint64_t>0 - time
    if time == 0:
        return
    line.unit = 1
    below = time % THOUSAND
    time //= THOUSAND
    while line.unit < HOURS and time >= limit:
        below = time % limit
        time //= limit
        line.unit += 1
        limit = THOUSAND if line.unit < 3 else SIXTY
    if time > MOST:
        time = below = MOST
    line.whole = <uint16_t>time
    line.thousandths = <uint16_t>below
