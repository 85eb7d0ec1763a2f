# The records of task files under construction, and the stacks of their open functions.
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport realloc

from converter.kernels.io.byte_order cimport HOST_IS_BIG
from converter.kernels.io.output cimport Output, put64


cdef enum:
    # Types of records.
    TYPE_ENTRY = 0
    TYPE_EXIT = 1
    TYPE_LOST = 2
    TYPE_EVENT = 3
    MAGIC = 5 << 3
    MORE = 1 << 2
    RECORD_SIZE = 16


cdef struct Task:
    Output out
    int32_t* stack
    int64_t depth
    int64_t stack_room
    uint64_t last
    bint dirty
    bint has_functions
    # It has entered or left a function.
    bint has_begun


cdef inline bint push(Task* task, int32_t symbol) noexcept nogil:
    cdef void* moved
    if task.depth == task.stack_room:
        moved = realloc(task.stack, 2 * (task.stack_room + 32) * sizeof(int32_t))
        if moved is NULL:
            return False
        task.stack = <int32_t*>moved
        task.stack_room = 2 * (task.stack_room + 32)
    task.stack[task.depth] = symbol
    task.depth += 1
    return True


# A record's head; the caller has ensured room for it.
cdef inline void put_head(
    Task* task, uint64_t ts, uint64_t type, bint more, int64_t depth, uint64_t address
) noexcept nogil:
    put64(&task.out, ts, HOST_IS_BIG)
    # The depth wraps around: a carry into the address would be another function.
    put64(
        &task.out, type | (MORE if more else 0) | MAGIC | <uint64_t>(depth & 1023) << 6 | address << 16, HOST_IS_BIG
    )
    task.last = ts
