from libc.stdint cimport int32_t, int64_t, uint8_t

from converter.formats.ftrace.lines.graph_lines cimport GraphClock, GraphLine
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    EVENT = 0
    COMMENT = 1
    LOST = 2
    OTHER = 3
    # The most characters of flags.
    MOST_FLAGS = 12


cdef struct Prefix:
    int64_t ts
    int64_t comm
    int64_t comm_end
    int64_t pid
    int64_t tgid
    int64_t cpu
    # 0 to 255 where there are flags, -1 where there are none.
    int32_t flags
    int32_t depths
    # After the time and its colon.
    int64_t text


cdef class Lines:
    cdef readonly object kind, ts, cpu, pid, tgid, flags, name, start, end, text, comm, comm_size
    cdef readonly int64_t count
    cdef uint8_t[::1] _kind
    cdef int64_t[::1] _ts, _start, _end, _text, _comm
    cdef int32_t[::1] _cpu, _pid, _tgid, _flags, _name, _comm_size
    cdef int64_t _capacity
    cdef int64_t _last_ts
    cdef bint _ticks
    cdef bint _of_report
    cdef int _columns
    cdef uint8_t[MOST_FLAGS] _meaning
    cdef StringTable _names
    cdef GraphClock _graph
    cdef int32_t _call_name, _end_name

    cdef bint _continues(self, const uint8_t* base, int64_t at, int64_t end, int64_t count) noexcept nogil
    cdef bint _line(self, const uint8_t* base, int64_t at, int64_t end, int64_t i) noexcept nogil
    cdef bint _graph_line(self, const uint8_t* base, int kind, const GraphLine* found, int64_t end, int64_t i) noexcept nogil
    cdef void _name_before(self, const GraphLine* found, int64_t count) noexcept nogil
    cdef bint _event_name(self, const uint8_t* base, int64_t at, int64_t end, int64_t i) noexcept nogil
    cdef bint _prefix(self, const uint8_t* base, int64_t at, int64_t end, Prefix* found) noexcept nogil
    cdef bint _with_brackets(
        self, const uint8_t* base, int64_t start, int64_t bracket, int64_t end, Prefix* found
    ) noexcept nogil
    cdef bint _latency(
        self, const uint8_t* base, int64_t start, int64_t limit, int64_t end, Prefix* found
    ) noexcept nogil
    cdef bint _time(
        self, const uint8_t* base, int64_t* at, int64_t end, Prefix* found, bint colon
    ) noexcept nogil
    cdef bint _letters(self, const uint8_t* base, int64_t at, int64_t end, Prefix* found) noexcept nogil
    cdef int _column(self, int64_t i, int64_t count) noexcept nogil


cdef inline bint is_digit(uint8_t letter) noexcept nogil:
    return c"0" <= letter <= c"9"


# A decimal number of at most `most` digits; -1 for none, or more.
cdef inline int64_t digits(const uint8_t* base, int64_t* at, int64_t end, int most) noexcept nogil:
    cdef int64_t value = 0
    cdef int count = 0
    while at[0] < end and is_digit(base[at[0]]):
        if count == most:
            return -1
        value = value * 10 + base[at[0]] - c"0"
        at[0] += 1
        count += 1
    return value if count else -1
