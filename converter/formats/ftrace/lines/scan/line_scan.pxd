from libc.stdint cimport int32_t, int64_t, uint8_t

from converter.formats.ftrace.lines.scan.graph_lines cimport GraphClock, GraphLine
from converter.formats.ftrace.lines.scan.line_prefix cimport Prefix, Style
from converter.kernels.tables.strings cimport StringTable

cdef enum:
    EVENT = 0
    COMMENT = 1
    LOST = 2
    OTHER = 3


cdef class Lines:
    cdef readonly object kind, ts, cpu, pid, tgid, flags, name, start, end, text, comm, comm_size, buffer
    cdef readonly int64_t count
    cdef uint8_t[::1] _kind
    cdef int64_t[::1] _ts, _start, _end, _text, _comm
    cdef int32_t[::1] _cpu, _pid, _tgid, _flags, _name, _comm_size, _buffer
    cdef int64_t _capacity
    cdef int64_t _last_ts
    cdef bint _bare
    cdef Style _style
    cdef StringTable _names, _buffers
    cdef GraphClock _graph
    cdef int32_t _call_name, _end_name

    cdef bint _continues(self, const uint8_t* base, int64_t at, int64_t end, int64_t count) noexcept nogil
    cdef bint _line(self, const uint8_t* base, int64_t at, int64_t start, int64_t end, int64_t i) noexcept nogil
    cdef bint _take_buffer(self, const uint8_t* base, Prefix* prefix, int64_t i) noexcept nogil
    cdef bint _graph_line(self, const uint8_t* base, int kind, const GraphLine* found, int64_t end, int64_t i) noexcept nogil
    cdef void _name_before(self, const GraphLine* found, int64_t count) noexcept nogil
    cdef bint _event_name(self, const uint8_t* base, int64_t at, int64_t end, int64_t i) noexcept nogil
