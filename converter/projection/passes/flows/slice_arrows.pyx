# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Arrows between slices by the ids of flows that they say: where each begins, goes on and ends."""

import os

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from converter.kernels.batches.places cimport are_within
from converter.kernels.tables.numbers cimport Numbers, find_or_add_key, free_numbers

cdef enum:
    BEGIN = 1
    STEP = 2
    END = 3


cdef struct Flow:
    # The number of this id that have ended, and whether one is under way.
    int32_t ended
    int32_t active


cdef class SliceArrows:
    """Flows by their ids."""

    cdef Numbers _flows

    def __cinit__(self):
        self._flows.item_size = sizeof(Flow)
        self._flows.seed = int.from_bytes(os.urandom(8), "little")

    def __dealloc__(self):
        free_numbers(&self._flows)

    def steps(
        self, const uint64_t[::1] id, const uint8_t[::1] terminates, const int64_t[::1] order
    ) -> tuple[NDArray[uint8], NDArray[int32]]:
        """Go on with slices that say the id of a flow, in an order of time.

        Returns:
            What each is to its flow (1 the begin, 2 a step, 3 the end, 0 the end of one that never began), and how many
            flows of that id have ended before.

        """
        cdef int64_t count = id.shape[0]
        cdef int64_t i, k
        cdef int32_t number = 0
        cdef Flow* flow
        if terminates.shape[0] != count or order.shape[0] != count:
            raise ValueError("columns differ in length")
        if count and not are_within(&order[0], count, count):
            raise ValueError("an event is outside of the columns")
        steps, earlier = np.zeros(count, np.uint8), np.zeros(count, np.int32)
        cdef uint8_t[::1] step = steps
        cdef int32_t[::1] ended = earlier
        with nogil:
            for k in range(count):
                i = order[k]
                number = find_or_add_key(&self._flows, id[i])
                if number < 0:
                    break
                flow = &(<Flow*>self._flows.items)[number]
                ended[i] = flow.ended
                if flow.active and terminates[i]:
                    step[i] = END
                    flow.active = 0
                    flow.ended += 1
                elif not terminates[i]:
                    step[i] = STEP if flow.active else BEGIN
                    flow.active = 1
        if number < 0:
            raise MemoryError("too many flows")
        return steps, earlier
