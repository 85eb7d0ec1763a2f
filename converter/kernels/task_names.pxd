from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from converter.kernels.numbers cimport Numbers, find_or_add_key
from converter.kernels.strings cimport StringTable

from libc.string cimport memcmp, memcpy

cdef enum:
    # Bytes of a name that are compared without a look into the strings.
    SHORT_NAME = 16


cdef struct TaskName:
    # When an event said so; of several the latest counts, and of those at one time the last.
    int64_t ts
    # Of a text as long as that, its bytes; -1 where they are not known.
    int64_t size
    # In the table of strings; 0 before the first.
    int32_t name
    uint8_t text[SHORT_NAME]


@final
cdef class TaskNames:
    # By tid.
    cdef Numbers _numbers
    # Whether there was no room.
    cdef bint failed

    # A name by its string.
    cdef inline void note(self, int64_t tid, int64_t ts, int32_t name) noexcept nogil:
        cdef int64_t index
        cdef TaskName* task
        if tid < 0 or name <= 0:
            return
        index = find_or_add_key(&self._numbers, <uint64_t>tid)
        if index < 0:
            self.failed = True
            return
        task = <TaskName*>self._numbers.items + index
        if task.name and (tid == 0 or ts < task.ts):
            return
        task.ts = ts
        if task.name != name:
            task.name = name
            task.size = -1

    # A name by its text, which is made a string where it is not the one that the task has.
    cdef inline void note_text(
        self, int64_t tid, int64_t ts, const uint8_t* text, int64_t size, StringTable strings
    ) noexcept nogil:
        cdef int64_t index
        cdef TaskName* task
        if tid < 0 or size <= 0:
            return
        index = find_or_add_key(&self._numbers, <uint64_t>tid)
        if index < 0:
            self.failed = True
            return
        task = <TaskName*>self._numbers.items + index
        if task.name:
            # All CPUs' idle tasks have this tid and names of their own, of which none is later than the others.
            if tid == 0 or ts < task.ts:
                return
            # Most events repeat it.
            if task.size == size and memcmp(task.text, text, size) == 0:
                task.ts = ts
                return
        self.rename(index, ts, text, size, strings)

    cdef void rename(
        self, int64_t index, int64_t ts, const uint8_t* text, int64_t size, StringTable strings
    ) noexcept nogil
