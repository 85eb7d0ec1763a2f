# Lookups of what ascends: kinds of EVENT records by their ids, streams by the tids of their tasks.

from libc.stdint cimport int32_t, int64_t, uint64_t


cdef struct Event:
    uint64_t id
    int32_t class_id
    int32_t name
    int32_t category
    int32_t words
    int32_t width


# The index of the kind of an id, -1 if there is none.
cdef inline int64_t event_at(const Event* events, int64_t count, uint64_t id) noexcept nogil:
    cdef int64_t low = 0
    cdef int64_t high = count
    cdef int64_t middle
    while low < high:
        middle = (low + high) >> 1
        if events[middle].id < id:
            low = middle + 1
        else:
            high = middle
    return low if low < count and events[low].id == id else -1


# The stream of a task, of `count` in ascending order, -1 of one that has none.
cdef inline int32_t stream_of(
    const int32_t* tids, const int32_t* streams, int64_t count, int32_t tid
) noexcept nogil:
    cdef int64_t low = 0
    cdef int64_t high = count
    cdef int64_t middle
    while low < high:
        middle = (low + high) >> 1
        if tids[middle] < tid:
            low = middle + 1
        else:
            high = middle
    return streams[low] if low < count and tids[low] == tid else -1
