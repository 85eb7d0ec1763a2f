# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Meaning of ids and contexts of records: markers of a channel by id, threads by pid and tid."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from converter.formats.lttng_legacy.payload cimport STEP_ALIGN


cdef class MarkerTable:
    """The markers of a channel, by id.

    A marker is (first step, steps, payload size or -1, largest alignment, class or -1, kind); a step (code, argument).
    Steps: 0 n bytes, 1 a string, 2 alignment to n bytes. Kinds: 0 plain, 1 with pid and tid at its end, 2 heartbeat, 3
    heartbeat with all bits of the time. A marker of size -1 without steps is not declared.
    """

    def __init__(self, const int32_t[:, ::1] markers, const int32_t[:, ::1] steps):
        cdef int64_t i
        cdef int64_t total = steps.shape[0]
        cdef Marker* marker
        if self._markers is not NULL:
            raise TypeError("markers cannot be set anew")
        if markers.shape[0] > 65536 or (markers.shape[0] and markers.shape[1] != 6) or (total and steps.shape[1] != 2):
            raise ValueError("markers have six numbers, steps two")
        self._markers = <Marker*>calloc(markers.shape[0] + 1, sizeof(Marker))
        self._steps = <int32_t*>calloc(2 * total + 1, sizeof(int32_t))
        if self._markers is NULL or self._steps is NULL:
            raise MemoryError
        for i in range(total):
            if steps[i, 0] < 0 or steps[i, 0] > STEP_ALIGN or steps[i, 1] < 0:
                raise ValueError(f"no step {steps[i, 0]}")
            if steps[i, 0] == STEP_ALIGN and (steps[i, 1] & (steps[i, 1] - 1) or steps[i, 1] == 0):
                raise ValueError(f"an alignment to {steps[i, 1]}")
            self._steps[2 * i] = steps[i, 0]
            self._steps[2 * i + 1] = steps[i, 1]
        for i in range(markers.shape[0]):
            marker = &self._markers[i]
            if markers[i, 0] < 0 or markers[i, 1] < 0 or <int64_t>markers[i, 0] + markers[i, 1] > total:
                raise ValueError("a marker's steps lie outside the steps")
            marker.steps = self._steps + 2 * markers[i, 0]
            marker.count = markers[i, 1]
            marker.size = markers[i, 2]
            marker.largest = markers[i, 3]
            marker.class_id = markers[i, 4]
            marker.kind = markers[i, 5]
        self._count = markers.shape[0]

    def __dealloc__(self):
        free(self._markers)
        free(self._steps)


cdef class ThreadIndex:
    """Threads by pid and tid: number i is (pids[i], tids[i])."""

    def __init__(self, const int32_t[::1] pids, const int32_t[::1] tids):
        cdef int64_t i
        cdef uint64_t size = 16
        cdef uint64_t key, slot
        if self._slots is not NULL:
            raise TypeError("threads cannot be set anew")
        if pids.shape[0] != tids.shape[0]:
            raise ValueError("pids and tids differ in length")
        while size < 2 * <uint64_t>pids.shape[0] + 2:
            size *= 2
        self._slots = <Slot*>calloc(size, sizeof(Slot))
        if self._slots is NULL:
            raise MemoryError
        self._mask = size - 1
        for i in range(pids.shape[0]):
            key = <uint64_t><uint32_t>pids[i] << 32 | <uint32_t>tids[i]
            slot = self._place(key)
            if self._slots[slot].known == 0:
                self._slots[slot].key = key
                self._slots[slot].known = <int32_t>(i + 1)

    def __dealloc__(self):
        free(self._slots)

    cdef uint64_t _place(self, uint64_t key) noexcept nogil:
        cdef uint64_t slot = (key * <uint64_t>0x9E3779B97F4A7C15) >> 20 & self._mask
        while self._slots[slot].known and self._slots[slot].key != key:
            slot = (slot + 1) & self._mask
        return slot

    cdef int32_t find(self, uint64_t key) noexcept nogil:
        return self._slots[self._place(key)].known - 1
