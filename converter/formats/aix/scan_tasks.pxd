# cython: language_level=3
"""The threads of a trace by their ids of 64 bits, numbered as they are met, with the processes that they belong to."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc


cdef struct Task:
    uint64_t tid
    uint64_t pid
    bint has_pid


# Slots have the number of a task and 1, or 0; of these at most half are used.
cdef struct Tasks:
    Task* tasks
    int64_t count
    int64_t room
    int32_t* slots
    uint64_t mask


cdef inline uint64_t mixed(uint64_t key) noexcept nogil:
    return (key * <uint64_t>0x9E3779B97F4A7C15) >> 20


# False without memory.
cdef inline bint start_tasks(Tasks* table) noexcept nogil:
    table.room = 256
    table.tasks = <Task*>malloc(table.room * sizeof(Task))
    table.mask = 1023
    table.slots = <int32_t*>calloc(table.mask + 1, sizeof(int32_t))
    return table.tasks is not NULL and table.slots is not NULL


cdef inline void free_tasks(Tasks* table) noexcept nogil:
    free(table.tasks)
    free(table.slots)


# The task's number, -1 when there is none.
cdef inline int32_t find(const Tasks* table, uint64_t tid) noexcept nogil:
    cdef uint64_t slot = mixed(tid) & table.mask
    cdef int32_t found
    while True:
        found = table.slots[slot]
        if found == 0:
            return -1
        if table.tasks[found - 1].tid == tid:
            return found - 1
        slot = (slot + 1) & table.mask


# The task's number, added when new; -1 when memory or numbers run out.
cdef inline int32_t find_or_add(Tasks* table, uint64_t tid) noexcept nogil:
    cdef int32_t number = find(table, tid)
    cdef Task* moved
    cdef uint64_t slot
    if number >= 0:
        return number
    if table.count >= 0x7FFFFFF0:
        return -1
    if table.count == table.room:
        moved = <Task*>realloc(table.tasks, table.room * 2 * sizeof(Task))
        if moved is NULL:
            return -1
        table.tasks = moved
        table.room *= 2
    if <uint64_t>table.count * 2 > table.mask and not grow_slots(table):
        return -1
    slot = mixed(tid) & table.mask
    while table.slots[slot]:
        slot = (slot + 1) & table.mask
    number = <int32_t>table.count
    table.tasks[number] = Task(tid, 0, False)
    table.count += 1
    table.slots[slot] = number + 1
    return number


# Of the processes that a task is said to be of, the first counts. False when memory or numbers run out.
cdef inline bint note_process(Tasks* table, uint64_t tid, uint64_t pid) noexcept nogil:
    cdef int32_t number = find_or_add(table, tid)
    if number < 0:
        return False
    if not table.tasks[number].has_pid:
        table.tasks[number].pid = pid
        table.tasks[number].has_pid = True
    return True


cdef inline bint grow_slots(Tasks* table) noexcept nogil:
    cdef uint64_t mask = (table.mask + 1) * 4 - 1
    cdef int32_t* slots = <int32_t*>calloc(mask + 1, sizeof(int32_t))
    cdef int64_t i
    cdef uint64_t slot
    if slots is NULL:
        return False
    for i in range(table.count):
        slot = mixed(table.tasks[i].tid) & mask
        while slots[slot]:
            slot = (slot + 1) & mask
        slots[slot] = <int32_t>(i + 1)
    free(table.slots)
    table.slots = slots
    table.mask = mask
    return True
