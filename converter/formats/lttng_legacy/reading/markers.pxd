# Markers of a channel by id, and threads by pid and tid, as a scanner asks for them.
from libc.stdint cimport int32_t, int64_t, uint64_t

cdef enum:
    # Kinds of a marker's events.
    PLAIN = 0
    ON_THREAD = 1  # the last two 32-bit numbers are pid and tid
    HEARTBEAT = 2  # no event, only time
    HEARTBEAT_64 = 3  # the same, with all bits of the time


cdef struct Marker:
    const int32_t* steps
    int64_t count
    # The size of the payload, -1 where it varies.
    int64_t size
    int64_t largest
    int32_t class_id
    int32_t kind


cdef class MarkerTable:
    cdef Marker* _markers
    cdef int64_t _count
    cdef int32_t* _steps


cdef struct Slot:
    uint64_t key
    # The thread's number and 1, 0 for an empty slot.
    int32_t known


cdef class ThreadIndex:
    cdef Slot* _slots
    cdef uint64_t _mask

    cdef uint64_t _place(self, uint64_t key) noexcept nogil
    # A thread's number, -1 for none.
    cdef int32_t find(self, uint64_t key) noexcept nogil
