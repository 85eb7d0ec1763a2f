# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The tasks of a trace: a table by pid of what the records say about names, processes and parents."""

# Stub:
# from collections.abc import Iterator

from cpython.bytes cimport PyBytes_FromStringAndSize

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from converter.kernels.tables.numbers cimport find_key, find_or_add_key, free_numbers

NAMES_OF_RELATIONS = ("", "forked", "process", "thread")


cdef class TaskTable:
    """The tasks of a trace by pid: what records said about them, and the index of the thread each became."""

    def __cinit__(self):
        self._numbers.item_size = sizeof(Task)

    def __dealloc__(self):
        free_numbers(&self._numbers)

    cdef int64_t find(self, int32_t pid) noexcept nogil:
        return find_key(&self._numbers, <uint64_t>pid)

    cdef int64_t find_or_add(self, int32_t pid) noexcept nogil:
        cdef int64_t before = self._numbers.count
        cdef int64_t index = find_or_add_key(&self._numbers, <uint64_t>pid)
        cdef Task* task
        if index == before:
            task = self.task_at(index)
            task.thread = -1
            task.process = -1
            task.creator = -1
        return index

    cdef void note_name(self, int32_t pid, int64_t ts, const uint8_t* name, int64_t room) noexcept nogil:
        cdef int64_t index = self.find_or_add(pid)
        cdef Task* task
        cdef int64_t size = 0
        if index < 0:
            return
        task = self.task_at(index)
        if task.name_size and ts < task.name_ts:
            return
        if room > 16:
            room = 16
        # Most records repeat it.
        if room == 16 and task.name_size and memcmp(task.name, name, 16) == 0:
            task.name_ts = ts
            return
        while size < room and name[size]:
            size += 1
        if size == 5 and memcmp(name, <const char*>b"<...>", 5) == 0:
            # The name that tools give to a task without a name.
            return
        if size:
            memset(task.name, 0, 16)
            memcpy(task.name, name, room)
            task.name_size = <uint8_t>size
            task.name_ts = ts

    cdef void note_creator(self, int32_t pid, int64_t ts, int32_t creator, int relation) noexcept nogil:
        cdef int64_t index = self.find_or_add(pid)
        cdef Task* task
        if index < 0:
            return
        task = self.task_at(index)
        # A task_newtask record is better than a fork record, and of the same kind the latest counts.
        if task.relation == NO_CREATOR or (
            (relation != FORKED) >= (task.relation != FORKED) and ts >= task.creator_ts
        ) or (relation != FORKED and task.relation == FORKED):
            task.creator = creator
            task.relation = <uint8_t>relation
            task.creator_ts = ts

    def __len__(self) -> int:
        return self._numbers.count

    def add(self, int32_t pid) -> None:
        """Make sure that a task is in the table."""
        if self.find_or_add(pid) < 0:
            raise MemoryError("no room for more tasks")

    def absorb(self, TaskTable other) -> None:
        """Add what another table says; of contradictory statements the one of the later record wins."""
        cdef int64_t i, index
        cdef int32_t pid
        cdef Task* theirs
        with nogil:
            for i in range(other._numbers.count):
                theirs = other.task_at(i)
                pid = <int32_t>other._numbers.keys[i]
                index = self.find_or_add(pid)
                if index < 0:
                    break
                if theirs.process >= 0:
                    self.task_at(index).process = theirs.process
                self.task_at(index).leader |= theirs.leader
                if theirs.name_size:
                    self.note_name(pid, theirs.name_ts, theirs.name, theirs.name_size)
                if theirs.relation != NO_CREATOR:
                    self.note_creator(pid, theirs.creator_ts, theirs.creator, theirs.relation)
            else:
                index = 0
        if index < 0:
            raise MemoryError("no room for more tasks")

    def tasks(self) -> Iterator[tuple[int, bytes, int, int, str, bool]]:
        """(pid, name, process id that it named itself or -1, creator's pid or -1, relation, is a group leader).

        The relation is "thread" (of the creator's process), "process", "forked" (either) or "".
        """
        cdef int64_t i
        cdef Task* task
        for i in range(self._numbers.count):
            task = self.task_at(i)
            yield (
                <int32_t>self._numbers.keys[i],
                PyBytes_FromStringAndSize(<const char*>task.name, task.name_size),
                task.process,
                task.creator,
                NAMES_OF_RELATIONS[task.relation],
                bool(task.leader),
            )

    def assign(self, int32_t pid, int32_t thread) -> None:
        """Set the thread that `pid` becomes, adding the task if need be."""
        cdef int64_t index = self.find_or_add(pid)
        if index < 0:
            raise MemoryError("no room for more tasks")
        self.task_at(index).thread = thread

    def thread_of(self, int32_t pid) -> int:
        """The thread assigned to `pid`, -1 if none."""
        cdef int64_t index = self.find(pid)
        return -1 if index < 0 else self.task_at(index).thread
