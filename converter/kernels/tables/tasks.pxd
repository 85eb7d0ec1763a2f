from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t

from converter.kernels.tables.numbers cimport Numbers

# The relation of `creator` to the task.
cdef enum:
    NO_CREATOR = 0
    # Seen in a fork record, which does not say whether a thread or a process was made.
    FORKED = 1
    # Made as a process, or as a thread of the creator's process.
    PROCESS_OF = 2
    THREAD_OF = 3


cdef struct Task:
    # Index in the trace's threads, -1 until assigned.
    int32_t thread
    # The process id that the task itself named (a marker), -1 if none.
    int32_t process
    int32_t creator
    # When `creator` and `name` were learnt: the latest wins.
    int64_t creator_ts
    int64_t name_ts
    uint8_t relation
    uint8_t leader
    uint8_t name_size
    # With the bytes after its end.
    uint8_t name[16]


@final
cdef class TaskTable:
    # By pid. Its items are the tasks; only `task_at` may look at them, because they move when a task is added.
    cdef Numbers _numbers

    # The task's index, -1 when there is none.
    cdef int64_t find(self, int32_t pid) noexcept nogil
    # The task's index, added when new; below 0 when memory runs out.
    cdef int64_t find_or_add(self, int32_t pid) noexcept nogil
    # The task of an index that `find` or `find_or_add` returned. Keep the index, not the pointer: it is stale after the next
    # `find_or_add`, `note_name` or `note_creator`.
    cdef inline Task* task_at(self, int64_t index) noexcept nogil:
        return <Task*>self._numbers.items + index

    cdef void note_name(self, int32_t pid, int64_t ts, const uint8_t* name, int64_t room) noexcept nogil
    cdef void note_creator(self, int32_t pid, int64_t ts, int32_t creator, int relation) noexcept nogil
