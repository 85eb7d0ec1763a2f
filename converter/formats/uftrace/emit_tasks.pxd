# The buffers of task files under construction, and the stacks of their open functions.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy


cdef extern from *:
    """
    #define UFTRACE_HOST_IS_BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
    """
    const bint HOST_IS_BIG "UFTRACE_HOST_IS_BIG"


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
    uint8_t* data
    int64_t used
    int64_t room
    int32_t* stack
    int64_t depth
    int64_t stack_room
    uint64_t last
    bint dirty
    bint has_functions


cdef inline void store64(uint8_t* to, uint64_t value) noexcept nogil:
    cdef int i
    if HOST_IS_BIG:
        for i in range(8):
            to[i] = <uint8_t>(value >> 8 * i)
    else:
        memcpy(to, &value, 8)


cdef inline void store_value(uint8_t* to, const uint8_t* value, int64_t width) noexcept nogil:
    cdef int64_t i
    if HOST_IS_BIG:
        for i in range(width):
            to[i] = value[width - 1 - i]
    elif width == 4:
        memcpy(to, value, 4)
    elif width == 8:
        memcpy(to, value, 8)
    else:
        memcpy(to, value, width)


# Room for `size` more bytes; false without memory.
cdef inline bint ensure(Task* task, int64_t size) noexcept nogil:
    cdef int64_t room
    cdef void* moved
    if task.used + size <= task.room:
        return True
    room = 2 * (task.used + size) + 1024
    moved = realloc(task.data, room)
    if moved is NULL:
        return False
    task.data = <uint8_t*>moved
    task.room = room
    return True


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
    cdef uint8_t* to = task.data + task.used
    store64(to, ts)
    # The depth wraps around: a carry into the address would be another function.
    store64(to + 8, type | (MORE if more else 0) | MAGIC | <uint64_t>(depth & 1023) << 6 | address << 16)
    task.used += RECORD_SIZE
    task.last = ts
