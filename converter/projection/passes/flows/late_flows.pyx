# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Flows at the end of a complete slice or after it, which viewers attach to that slice while nothing else begins."""

# Stub:
# import numpy as np
#
# from converter.kernels.batches.event_arrays import EventArrays

import os

import numpy as np

from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from converter.kernels.batches.places cimport are_within
from converter.kernels.batches.event_arrays cimport EventArrays, Events, WITH_CLASS, WITH_THREAD, WITH_TRACK
from converter.kernels.tables.numbers cimport Numbers, free_numbers
from converter.projection.passes.slices.recent_stacks cimport RECENT, RecentLane, recent_lane

cdef enum:
    # The numbers of `slice_columns`, and a complete slice that gets an end of its own.
    BEGIN = 1
    END = 2
    COMPLETE = 3
    FLOW = 4
    SPLIT = 5
    # Viewers hide what is inside more.
    MOST_OPEN = 512


# A slice on a stack: until when it lasts, INT64_MAX where its end is an event that has not come.
cdef struct Span:
    int64_t start
    int64_t end
    # The earliest end of it and of those around it.
    int64_t earliest
    bint split


cdef struct Stack:
    Span* spans
    int32_t size
    int32_t room


cdef class LateFlows:
    """Stacks of slices by thread and track, as trace_processor has them: a complete slice stays until the next event."""

    cdef Numbers _lanes

    def __cinit__(self):
        self._lanes.item_size = sizeof(Stack)
        self._lanes.seed = int.from_bytes(os.urandom(8), "little")

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._lanes.count):
            free((<Stack*>self._lanes.items)[i].spans)
        free_numbers(&self._lanes)

    def find(
        self, EventArrays events not None, const int64_t[::1] order
    ) -> tuple[NDArray[np.intp], NDArray[int64], NDArray[int64]]:
        """Continue with the events of a batch, in an order of time.

        The events have the columns thread, track, `class_id` with the step of each (1: begin, 2: end, 3: complete slice
        or instant, 4: flow, 5: complete slice that gets an end of its own; else 0), and `end`.

        Returns:
            The positions of flows whose slice has ended, and is or is inside one of step 5 that has ended; the begin of
            their slice, and the first end of one of step 5.

        """
        cdef Events columns = events.common(WITH_CLASS | WITH_THREAD | WITH_TRACK)
        cdef const int64_t* end = <const int64_t*>events.own("end", 8)
        cdef int64_t count = columns.count
        cdef int64_t found = 0
        cdef int64_t i, k
        cdef int32_t lane, step
        cdef RecentLane[RECENT] recent
        cdef Stack* stack
        cdef int64_t first_end
        cdef bint failed = False
        if order.shape[0] != count:
            raise ValueError("order and columns differ in length")
        if count and not are_within(&order[0], count, count):
            raise ValueError("an event is outside of the columns")
        flows = np.empty(count, np.intp)
        spans = np.empty((2, count), np.int64)
        cdef int64_t[::1] flow = flows
        cdef int64_t[:, ::1] span = spans
        memset(recent, 0, sizeof(recent))
        with nogil:
            for k in range(count):
                i = order[k]
                step = columns.class_id[i]
                if step == 0:
                    continue
                lane = recent_lane(recent, &self._lanes, columns.thread[i], columns.track[i]).number - 1
                if lane < 0:
                    failed = True
                    break
                stack = &(<Stack*>self._lanes.items)[lane]
                if step == FLOW:
                    first_end = first_split_end(stack, columns.ts[i])
                    # An event may be at the last time of all, and a stack be empty.
                    if first_end != INT64_MAX and first_end <= columns.ts[i]:
                        flow[found] = i
                        span[0, found] = stack.spans[stack.size - 1].start
                        span[1, found] = first_end
                        found += 1
                elif not follow(stack, step, columns.ts[i], end[i]):
                    failed = True
                    break
        if failed:
            raise MemoryError("too many slices are open")
        return flows[:found], spans[0, :found], spans[1, :found]

    def outside(self, EventArrays events not None, const int64_t[::1] order) -> NDArray[np.intp]:
        """Continue like `find`, and return the positions of flows that viewers attach to no slice."""
        cdef Events columns = events.common(WITH_CLASS | WITH_THREAD | WITH_TRACK)
        cdef const int64_t* end = <const int64_t*>events.own("end", 8)
        cdef int64_t count = columns.count
        cdef int64_t found = 0
        cdef int64_t i, k
        cdef int32_t lane, step
        cdef RecentLane[RECENT] recent
        cdef Stack* stack
        cdef bint failed = False
        if order.shape[0] != count:
            raise ValueError("order and columns differ in length")
        if count and not are_within(&order[0], count, count):
            raise ValueError("an event is outside of the columns")
        flows = np.empty(count, np.intp)
        cdef int64_t[::1] flow = flows
        memset(recent, 0, sizeof(recent))
        with nogil:
            for k in range(count):
                i = order[k]
                step = columns.class_id[i]
                if step == 0:
                    continue
                lane = recent_lane(recent, &self._lanes, columns.thread[i], columns.track[i]).number - 1
                if lane < 0:
                    failed = True
                    break
                stack = &(<Stack*>self._lanes.items)[lane]
                if step != FLOW:
                    if not follow(stack, step, columns.ts[i], end[i]):
                        failed = True
                        break
                elif stack.size == 0:
                    flow[found] = i
                    found += 1
        if failed:
            raise MemoryError("too many slices are open")
        return flows[:found]


# Continue a stack with an event that is no flow; False if there is no memory.
cdef inline bint follow(Stack* stack, int32_t step, int64_t ts, int64_t end) noexcept nogil:
    if step == END:
        take_off(stack, ts, False)
        close_open(stack, ts)
        return True
    take_off(stack, ts, step != BEGIN and end == ts)
    return stack.size >= MOST_OPEN or push(stack, ts, INT64_MAX if step == BEGIN else end, step == SPLIT)


# Return the first end of those on a stack whose innermost has ended that get an end of their own; INT64_MAX for none.
cdef inline int64_t first_split_end(const Stack* stack, int64_t ts) noexcept nogil:
    cdef int64_t first = INT64_MAX
    cdef int32_t i
    if not stack.size or stack.spans[stack.size - 1].end > ts:
        return first
    for i in range(stack.size):
        if stack.spans[i].split:
            first = min(first, stack.spans[i].end)
    return first


# Take off what has ended; a slice that takes no time is around all such of its time.
cdef inline void take_off(Stack* stack, int64_t ts, bint takes_no_time) noexcept nogil:
    cdef int32_t i
    cdef bint inner_is_open = False
    for i in range(stack.size - 1, -1, -1):
        if stack.spans[i].earliest > ts:
            # Nothing from here on has ended.
            return
        if stack.spans[i].end == INT64_MAX:
            inner_is_open = True
        elif stack.spans[i].end < ts or stack.spans[i].end == ts and not inner_is_open and not (
            takes_no_time and stack.spans[i].start == ts
        ):
            stack.size = i
            inner_is_open = False


# Close the innermost slice that is open, which stays where others are inside.
cdef inline void close_open(Stack* stack, int64_t ts) noexcept nogil:
    cdef int32_t i, inner
    for i in range(stack.size - 1, -1, -1):
        if stack.spans[i].end == INT64_MAX:
            stack.spans[i].end = ts
            if i == stack.size - 1:
                stack.size = i
                return
            for inner in range(i, stack.size):
                stack.spans[inner].earliest = min(stack.spans[inner].earliest, ts)
            return


cdef inline bint push(Stack* stack, int64_t start, int64_t end, bint split) noexcept nogil:
    cdef int64_t around = stack.spans[stack.size - 1].earliest if stack.size else INT64_MAX
    cdef int32_t room = max(8, 2 * stack.room)
    cdef void* moved
    if stack.size == stack.room:
        moved = realloc(stack.spans, room * sizeof(Span))
        if moved is NULL:
            return False
        stack.spans = <Span*>moved
        stack.room = room
    stack.spans[stack.size] = Span(start, end, min(around, end), split)
    stack.size += 1
    return True
