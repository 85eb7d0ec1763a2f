# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The tasks of a trace: a table by pid of what the records say about names, processes and parents."""

from cpython.bytes cimport PyBytes_FromStringAndSize

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

NAMES_OF_RELATIONS = ("", "forked", "process", "thread")


cdef inline uint64_t mix(int32_t pid) noexcept nogil:
    return (<uint64_t>(<int64_t>pid) * <uint64_t>0x9E3779B97F4A7C15) >> 32


cdef class TaskTable:

    def __cinit__(self):
        self._capacity = 64
        self._mask = 255
        self._tasks = <Task*>malloc(self._capacity * sizeof(Task))
        self._slots = <int32_t*>calloc(self._mask + 1, sizeof(int32_t))
        if self._tasks is NULL or self._slots is NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self._tasks)
        free(self._slots)

    cdef int64_t find(self, int32_t pid) noexcept nogil:
        cdef uint64_t slot = mix(pid) & self._mask
        cdef int32_t found
        while True:
            found = self._slots[slot]
            if found == 0:
                return -1
            if self._tasks[found - 1].pid == pid:
                return found - 1
            slot = (slot + 1) & self._mask

    cdef int64_t find_or_add(self, int32_t pid) noexcept nogil:
        cdef int64_t index = self.find(pid)
        cdef uint64_t slot
        cdef Task* task
        cdef Task* moved
        if index >= 0:
            return index
        if self._count == self._capacity:
            moved = <Task*>realloc(self._tasks, self._capacity * 2 * sizeof(Task))
            if moved is NULL:
                return -1
            self._tasks = moved
            self._capacity *= 2
        if <uint64_t>self._count * 2 > self._mask and self._grow() < 0:
            return -1
        slot = mix(pid) & self._mask
        while self._slots[slot]:
            slot = (slot + 1) & self._mask
        index = self._count
        self._count += 1
        self._slots[slot] = <int32_t>(index + 1)
        task = &self._tasks[index]
        memset(task, 0, sizeof(Task))
        task.pid = pid
        task.thread = -1
        task.process = -1
        task.creator = -1
        return index

    cdef int32_t _grow(self) noexcept nogil:
        cdef uint64_t mask = (self._mask + 1) * 4 - 1
        cdef int32_t* slots = <int32_t*>calloc(mask + 1, sizeof(int32_t))
        cdef uint64_t slot
        cdef int64_t i
        if slots is NULL:
            return -1
        for i in range(self._count):
            slot = mix(self._tasks[i].pid) & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = <int32_t>(i + 1)
        free(self._slots)
        self._slots = slots
        self._mask = mask
        return 0

    cdef void note_name(self, int32_t pid, int64_t ts, const uint8_t* name, int64_t room) noexcept nogil:
        cdef int64_t index = self.find_or_add(pid)
        cdef Task* task
        cdef int64_t size = 0
        if index < 0:
            return
        task = &self._tasks[index]
        if task.name_size and ts < task.name_ts:
            return
        if room > 16:
            room = 16
        while size < room and name[size]:
            size += 1
        if size:
            memcpy(task.name, name, size)
            task.name_size = <uint8_t>size
            task.name_ts = ts

    cdef void note_creator(self, int32_t pid, int64_t ts, int32_t creator, int relation) noexcept nogil:
        cdef int64_t index = self.find_or_add(pid)
        cdef Task* task
        if index < 0:
            return
        task = &self._tasks[index]
        # What task_newtask says is better than what a fork record says, and of the same kind the latest is.
        if task.relation == NO_CREATOR or (
            (relation != FORKED) >= (task.relation != FORKED) and ts >= task.creator_ts
        ) or (relation != FORKED and task.relation == FORKED):
            task.creator = creator
            task.relation = <uint8_t>relation
            task.creator_ts = ts

    def __len__(self):
        return self._count

    def add(self, int32_t pid):
        if self.find_or_add(pid) < 0:
            raise MemoryError("no room for more tasks")

    def absorb(self, TaskTable other):
        cdef int64_t i, index
        cdef Task* theirs
        with nogil:
            for i in range(other._count):
                theirs = &other._tasks[i]
                index = self.find_or_add(theirs.pid)
                if index < 0:
                    break
                if theirs.process >= 0:
                    self._tasks[index].process = theirs.process
                self._tasks[index].leader |= theirs.leader
                if theirs.name_size:
                    self.note_name(theirs.pid, theirs.name_ts, theirs.name, theirs.name_size)
                if theirs.relation != NO_CREATOR:
                    self.note_creator(theirs.pid, theirs.creator_ts, theirs.creator, theirs.relation)
            else:
                index = 0
        if index < 0:
            raise MemoryError("no room for more tasks")

    def tasks(self):
        cdef int64_t i
        cdef Task* task
        for i in range(self._count):
            task = &self._tasks[i]
            yield (
                task.pid,
                PyBytes_FromStringAndSize(<const char*>task.name, task.name_size),
                task.process,
                task.creator,
                NAMES_OF_RELATIONS[task.relation],
                bool(task.leader),
            )

    def assign(self, int32_t pid, int32_t thread):
        cdef int64_t index = self.find_or_add(pid)
        if index < 0:
            raise MemoryError("no room for more tasks")
        self._tasks[index].thread = thread

    def thread_of(self, int32_t pid):
        cdef int64_t index = self.find(pid)
        return -1 if index < 0 else self._tasks[index].thread
