from libc.stdint cimport int32_t, int64_t, uint8_t

from converter.formats.ftrace.lines.scan.flag_letters cimport Columns

# What a header says of all lines.
cdef struct Style:
    Columns columns
    # Times are numbers without a fraction.
    bint ticks
    # Lines are those of the option `raw`.
    bint raw


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


cdef bint read_prefix(const Style* style, const uint8_t* base, int64_t at, int64_t end, Prefix* found) noexcept nogil
cdef int64_t read_time(const Style* style, const uint8_t* base, int64_t* at, int64_t end) noexcept nogil
