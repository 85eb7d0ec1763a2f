# The threads and processes that a scan of FXT meets, by their koids, and the names that kernel objects give them.

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, realloc

from converter.kernels.tables.numbers cimport FAILED, Numbers, find_or_add_pair, free_numbers


# Names given, as (position << 1 | is thread, string id).
cdef struct Namings:
    uint64_t* given
    int64_t count
    int64_t room


# Threads by (process koid, thread koid), or processes by (koid, 0), each with the string id of its name, 0 without.
cdef struct Threads:
    Numbers threads
    Numbers processes
    Namings namings
    # The string id of "process": the argument of a thread object that says whose thread it is.
    int32_t process


cdef inline void threads_init(Threads* threads, uint64_t seed) noexcept nogil:
    threads.threads.seed = threads.processes.seed = seed
    threads.threads.item_size = threads.processes.item_size = sizeof(int32_t)


# The number of a thread, whose process is added as well; FAILED without memory.
cdef inline int32_t threads_find(Threads* threads, uint64_t pid, uint64_t tid) noexcept nogil:
    if find_or_add_pair(&threads.processes, pid, 0) == FAILED:
        return FAILED
    return find_or_add_pair(&threads.threads, pid, tid)


# Name a thread or process, and note it; 0 or FAILED.
cdef inline int threads_rename(Threads* threads, bint is_thread, int32_t number, int32_t name) noexcept nogil:
    cdef Numbers* named = &threads.threads if is_thread else &threads.processes
    cdef Namings* namings = &threads.namings
    cdef uint64_t* moved
    if namings.count == namings.room:
        moved = <uint64_t*>realloc(namings.given, (namings.room * 2 + 64) * 2 * sizeof(uint64_t))
        if moved is NULL:
            return FAILED
        namings.given = moved
        namings.room = namings.room * 2 + 64
    namings.given[2 * namings.count] = <uint64_t>number << 1 | is_thread
    namings.given[2 * namings.count + 1] = <uint64_t>name
    namings.count += 1
    (<int32_t*>named.items)[number] = name
    return 0


cdef inline void threads_free(Threads* threads) noexcept nogil:
    free_numbers(&threads.threads)
    free_numbers(&threads.processes)
    free(threads.namings.given)
