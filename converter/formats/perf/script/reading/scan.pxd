from libc.stdint cimport int32_t, int64_t, uint8_t

from converter.formats.ftrace.lines.scan.line_scan cimport Lines
from converter.formats.perf.script.reading.frames cimport StackTexts
from converter.kernels.tables.strings cimport StringTable


# The start of a line; positions are -1 for what it lacks.
cdef struct Head:
    int64_t ts
    int64_t tid
    int64_t tgid
    int64_t cpu
    int64_t misc
    int64_t misc_end
    # After the number of the thread.
    int64_t task_end
    int64_t period
    int64_t name
    int64_t name_end
    # After all these.
    int64_t tail


cdef class TaskTexts:
    cdef StringTable _texts
    cdef readonly object tid, tgid, name, name_size
    cdef int32_t[::1] _tid, _tgid
    cdef int64_t[::1] _name
    cdef int32_t[::1] _name_size


cdef class ScriptLines(Lines):
    cdef readonly object period, stack, task, last, misc, misc_size, before, before_size, after, after_size
    cdef int64_t[::1] _period, _last, _misc, _before, _after
    cdef int32_t[::1] _stack, _task, _misc_size, _before_size, _after_size
    cdef TaskTexts _tasks
    cdef StackTexts _stacks
    cdef uint8_t[::1] _tracepoint
    cdef bint _timed
    cdef int64_t _stack_start, _stack_end

    cdef void _extend(self, int64_t at, int64_t stop, int64_t i) noexcept nogil
    cdef int _close(self, const uint8_t* base, int64_t start, int64_t end, int64_t i) noexcept nogil
    cdef int _header(
        self, const uint8_t* base, int64_t at, int64_t end, bint has_stack, int64_t i
    ) noexcept nogil
    cdef int _take(
        self, const uint8_t* base, int64_t start, int64_t comm_end, int64_t end, Head* head, int64_t i
    ) noexcept nogil
    cdef void _rest(self, const uint8_t* base, int64_t at, int64_t end, int64_t i) noexcept nogil
