# The threads and processes that a scan of FXT meets, by their koids, and the names that kernel objects give them.

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, realloc

from converter.formats.fxt.words cimport FAILED, Pairs, pairs_find, pairs_free


# Threads by (process koid, thread koid), or processes by (koid, 0), each with the string id of its name, 0 without.
cdef struct Named:
    Pairs koids
    int32_t* names
    int64_t room


# Names given, as (position << 1 | is thread, string id).
cdef struct Namings:
    uint64_t* given
    int64_t count
    int64_t room


cdef struct Threads:
    Named threads
    Named processes
    Namings namings
    # The string id of "process": the argument of a thread object that says whose thread it is.
    int32_t process


# The position of a thread or process, added when new; FAILED without memory.
cdef inline int32_t named_find(Named* named, uint64_t first, uint64_t second) noexcept nogil:
    cdef int32_t found = pairs_find(&named.koids, first, second)
    cdef int32_t* moved
    if found >= named.room:
        moved = <int32_t*>realloc(named.names, named.koids.capacity * sizeof(int32_t))
        if moved is NULL:
            return FAILED
        named.names = moved
        while named.room < named.koids.capacity:
            moved[named.room] = 0
            named.room += 1
    return found


# The number of a thread, whose process is added as well; FAILED without memory.
cdef inline int32_t threads_find(Threads* threads, uint64_t pid, uint64_t tid) noexcept nogil:
    if named_find(&threads.processes, pid, 0) == FAILED:
        return FAILED
    return named_find(&threads.threads, pid, tid)


# Name a thread or process, and note it; 0 or FAILED.
cdef inline int threads_rename(Threads* threads, bint is_thread, int32_t number, int32_t name) noexcept nogil:
    cdef Named* named = &threads.threads if is_thread else &threads.processes
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
    named.names[number] = name
    return 0


cdef inline void threads_free(Threads* threads) noexcept nogil:
    pairs_free(&threads.threads.koids)
    pairs_free(&threads.processes.koids)
    free(threads.threads.names)
    free(threads.processes.names)
    free(threads.namings.given)
