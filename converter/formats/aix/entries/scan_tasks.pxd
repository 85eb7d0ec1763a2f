# cython: language_level=3
"""The processes that the threads of a trace belong to: items of the numbers of the threads' ids."""

from libc.stdint cimport int32_t, uint64_t

from converter.kernels.tables.numbers cimport Numbers, find_or_add_key


cdef struct Owner:
    uint64_t pid
    bint known


# The first process that a task is said to belong to counts. False when memory or numbers run out.
cdef inline bint note_process(Numbers* tasks, uint64_t tid, uint64_t pid) noexcept nogil:
    cdef int32_t number = find_or_add_key(tasks, tid)
    cdef Owner* owners = <Owner*>tasks.items
    if number < 0:
        return False
    if not owners[number].known:
        owners[number] = Owner(pid, True)
    return True
