from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from converter.kernels.tables.numbers cimport Numbers, find_or_add_key
from converter.kernels.tables.strings cimport StringTable

from libc.string cimport memcmp, memcpy

cdef enum:
    # Bytes of a name that are compared without a look into the strings.
    SHORT_NAME = 16
    # Tasks that are found without a search: events name the same few again and again.
    RECENT_TASKS = 64


cdef struct TaskName:
    # When an event said so; of several the latest counts, and of those at one time the last.
    int64_t ts
    # The number of bytes of a name that `text` holds; -1 where they are not known.
    int64_t size
    # In the table of strings; 0 before the first.
    int32_t name
    uint8_t text[SHORT_NAME]


# Return True if a text is what the kernel's tools print for a task whose name they do not know.
cdef inline bint is_no_name(const uint8_t* text, int64_t size) noexcept nogil:
    return size == 5 and memcmp(text, b"<...>", 5) == 0


@final
cdef class TaskNames:
    # By tid.
    cdef Numbers _numbers
    # By the last bits of a tid: the number that one with these had last.
    cdef int32_t[RECENT_TASKS] _recent
    # True if the idle tasks have a name: all have tid 0 and names of their own, of which none is later than the others.
    cdef bint _idle_is_named
    # True if there was no room.
    cdef bint failed

    # The number of a task, added when new; negative without memory.
    cdef inline int64_t _index_of(self, int64_t tid) noexcept nogil:
        cdef int64_t index = self._recent[tid & (RECENT_TASKS - 1)]
        if index < self._numbers.count and self._numbers.keys[index] == <uint64_t>tid:
            return index
        index = find_or_add_key(&self._numbers, <uint64_t>tid)
        if index >= 0:
            self._recent[tid & (RECENT_TASKS - 1)] = <int32_t>index
        return index

    # A name by its string.
    cdef inline void note(self, int64_t tid, int64_t ts, int32_t name, StringTable strings) noexcept nogil:
        cdef int64_t index
        cdef TaskName* task
        if tid < 0 or name <= 0 or tid == 0 and self._idle_is_named:
            return
        index = self._index_of(tid)
        if index < 0:
            self.failed = True
            return
        task = <TaskName*>self._numbers.items + index
        if task.name and ts < task.ts:
            return
        if task.name != name:
            if is_no_name(strings.entry(name).data, strings.entry(name).size):
                return
            task.name = name
            task.size = -1
        task.ts = ts
        self._idle_is_named |= tid == 0

    # A name by its text, which is made a string where it is not the one that the task has.
    cdef inline void note_text(
        self, int64_t tid, int64_t ts, const uint8_t* text, int64_t size, StringTable strings
    ) noexcept nogil:
        cdef int64_t index
        cdef TaskName* task
        if tid < 0 or size <= 0 or tid == 0 and self._idle_is_named:
            return
        index = self._index_of(tid)
        if index < 0:
            self.failed = True
            return
        task = <TaskName*>self._numbers.items + index
        if task.name:
            if ts < task.ts:
                return
            # Most events repeat it.
            if task.size == size and memcmp(task.text, text, size) == 0:
                task.ts = ts
                return
        self.rename(index, ts, text, size, strings)
        if tid == 0 and task.name:
            self._idle_is_named = True

    cdef void rename(
        self, int64_t index, int64_t ts, const uint8_t* text, int64_t size, StringTable strings
    ) noexcept nogil
