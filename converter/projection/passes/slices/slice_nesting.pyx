# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Nesting depth of slices: finds those inside too many others for viewers to show."""

# Stub:
# from converter.kernels.batches.event_arrays import EventArrays

import os

from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from converter.kernels.batches.places cimport are_within
from converter.kernels.batches.event_arrays cimport EventArrays, Events, WITH_CLASS, WITH_CPU, WITH_THREAD, WITH_TRACK
from converter.kernels.tables.numbers cimport Numbers, free_numbers
from converter.projection.passes.slices.recent_stacks cimport RECENT, RecentLane, recent_lane
from converter.projection.passes.slices.turns cimport Turning, Turns, free_turning, keep_open, turns_of

cdef enum:
    BEGIN = 1
    END = 2

# Results of going through a batch only for the slices that stay open.
cdef enum Outcome:
    DONE
    MORE_TO_IT
    NO_MEMORY


cdef struct Place:
    int32_t track
    int32_t thread


# Slices open on a track or thread: the begin and end of each, from the outermost on.
cdef struct Nest:
    int64_t* spans
    int64_t size
    int64_t room


cdef class SliceDepths:
    """Stacks are those of tracks, and of threads for events on no track."""

    cdef Numbers _lanes

    def __cinit__(self):
        self._lanes.item_size = sizeof(Nest)
        self._lanes.seed = int.from_bytes(os.urandom(8), "little")

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._lanes.count):
            free((<Nest*>self._lanes.items)[i].spans)
        free_numbers(&self._lanes)

    def beyond(
        self,
        const int32_t[::1] steps,
        const int32_t[::1] of_cpus,
        EventArrays events not None,
        const int64_t[::1] order: NDArray[int64] | None,
        int64_t most,
    ) -> int:
        """Go on with events in an order of time, None where they are in it; classes have steps.

        The events have all common columns but `row`, and `end`.

        Those of step 1 begin and those of step 2 end a slice of a track, or of a thread where they are on no track;
        those of step 3 are complete slices until an `end`. Classes that have a number `of_cpus`, below -1, are on the
        track of that number of their CPU.

        Returns:
            How many are inside of `most` others. Viewers drop them, so that they are not around any.

        """
        cdef Events columns = events.common(WITH_CLASS | WITH_THREAD | WITH_CPU | WITH_TRACK)
        cdef const int32_t* class_id = columns.class_id
        cdef const int32_t* thread = columns.thread
        cdef const int32_t* track = columns.track
        cdef const int32_t* cpu = columns.cpu
        cdef const int64_t* ts = columns.ts
        cdef const int64_t* end = <const int64_t*>events.own("end", 8)
        cdef int64_t count = columns.count
        cdef bint is_ordered = order is None
        cdef uint32_t classes = <uint32_t>steps.shape[0]
        cdef int32_t step, lane
        cdef int64_t found = 0
        cdef int64_t i, k
        cdef RecentLane[RECENT] recent
        cdef Place place
        cdef Nest* nest
        cdef Turning turning
        cdef Outcome outcome = DONE
        cdef bint failed = False
        if not is_ordered and order.shape[0] != count:
            raise ValueError("order and columns differ in length")
        if count and not is_ordered and not are_within(&order[0], count, count):
            raise ValueError("an event is outside of the columns")
        if of_cpus.shape[0] != steps.shape[0]:
            raise ValueError("steps and of_cpus differ in length")
        if steps.shape[0] > INT32_MAX:
            raise ValueError(f"{steps.shape[0]} classes")
        memset(recent, 0, sizeof(recent))
        memset(&turning, 0, sizeof(turning))
        with nogil:
            if count:
                outcome = self._go_back(steps, of_cpus, &columns, order, most, &turning)
                free_turning(&turning)
            failed = outcome == NO_MEMORY
            for k in range(count if outcome == MORE_TO_IT else 0):
                i = k if is_ordered else order[k]
                step = steps[class_id[i]] if <uint32_t>class_id[i] < classes else 0
                if not step:
                    continue
                place = place_of(of_cpus[class_id[i]], cpu[i], track[i], thread[i])
                if place.track < 0 and place.thread < 0:
                    continue
                lane = recent_lane(recent, &self._lanes, place.thread, place.track).number - 1
                if lane < 0:
                    failed = True
                    break
                nest = &(<Nest*>self._lanes.items)[lane]
                if step == END:
                    while nest.size and nest.spans[2 * nest.size - 1] < ts[i]:
                        nest.size -= 1
                    nest.size -= nest.size > 0
                    continue
                while nest.size and is_over(nest, ts[i]):
                    nest.size -= 1
                if nest.size >= most:
                    found += 1
                elif not open_inside(nest, ts[i], INT64_MAX if step == BEGIN else end[i]):
                    failed = True
                    break
        if failed:
            raise MemoryError("too many slices are open")
        return found

    # Most batches have begins and ends alone, which are never deep: then nothing but what is open at their end matters, which
    # is found from there on backwards (turns.pxd). The highest that ends are above begins is how much deeper it was before.
    cdef Outcome _go_back(
        self,
        const int32_t[::1] steps,
        const int32_t[::1] of_cpus,
        const Events* events,
        const int64_t[::1] order,
        int64_t most,
        Turning* turning,
    ) noexcept nogil:
        cdef const int32_t* class_id = events.class_id
        cdef const int32_t* thread = events.thread
        cdef const int32_t* track = events.track
        cdef const int32_t* cpu = events.cpu
        cdef const int64_t* ts = events.ts
        cdef int64_t count = events.count
        cdef bint is_ordered = order is None
        cdef uint32_t classes = <uint32_t>steps.shape[0]
        cdef int32_t step
        cdef int64_t i, k
        cdef RecentLane last = RecentLane(0, 0, 0)
        cdef RecentLane[RECENT] recent
        cdef Place place
        cdef Turns* turns
        cdef Turns here = Turns(0, 0, 0)
        cdef Nest* nest
        memset(recent, 0, sizeof(recent))
        for k in range(count - 1, -1, -1):
            i = k if is_ordered else order[k]
            step = steps[class_id[i]] if <uint32_t>class_id[i] < classes else 0
            if not step:
                continue
            place = place_of(of_cpus[class_id[i]], cpu[i], track[i], thread[i])
            if place.track < 0 and place.thread < 0:
                continue
            if step != BEGIN and step != END:
                return MORE_TO_IT
            if not last.number or place.thread != last.thread or place.track != last.track:
                if last.number:
                    turning.lanes[last.number - 1] = here
                last = recent_lane(recent, &self._lanes, place.thread, place.track)
                if not last.number:
                    return NO_MEMORY
                turns = turns_of(turning, last.number - 1)
                if turns is NULL:
                    return NO_MEMORY
                here = turns[0]
            here.now += 2 * step - BEGIN - END
            here.highest = max(here.highest, here.now)
            if here.now < here.lowest:
                here.lowest = here.now
                if not keep_open(turning, i, last.number - 1):
                    return NO_MEMORY
        if not last.number:
            return DONE
        turning.lanes[last.number - 1] = here
        if ts[count - 1 if is_ordered else order[count - 1]] == INT64_MAX:
            return MORE_TO_IT
        for k in range(min(turning.room, self._lanes.count)):
            here = turning.lanes[k]
            nest = &(<Nest*>self._lanes.items)[k]
            if here.now == here.lowest == here.highest:
                # Nothing is on it.
                continue
            if left_of(nest, here) - here.lowest + here.highest > most:
                return MORE_TO_IT
            if nest.size and (
                nest.spans[2 * nest.size - 1] != INT64_MAX
                or nest.spans[2 * nest.size - 2] > ts[0 if is_ordered else order[0]]
            ):
                return MORE_TO_IT
        for k in range(min(turning.room, self._lanes.count)):
            nest = &(<Nest*>self._lanes.items)[k]
            nest.size = left_of(nest, turning.lanes[k])
        for k in range(turning.open_count - 1, -1, -1):
            nest = &(<Nest*>self._lanes.items)[turning.open[2 * k + 1]]
            if not open_inside(nest, ts[turning.open[2 * k]], INT64_MAX):
                return NO_MEMORY
        return DONE


# The track or thread that an event is on: a CPU's tracks have their own numbers, and threads do not matter on tracks.
cdef inline Place place_of(int32_t of_cpu, int32_t cpu, int32_t track, int32_t thread) noexcept nogil:
    if of_cpu:
        return Place(of_cpu, cpu)
    return Place(track, thread if track < 0 else -1)


# Return the number of slices that are left open of those open when the batch began, which has ends left over.
cdef inline int64_t left_of(const Nest* nest, Turns turns) noexcept nogil:
    return max(nest.size - (turns.now - turns.lowest), 0)


# Return True if the innermost is not around what begins now: what takes no time is around all that begins with it.
# Slices that begin later, as where an earlier batch has what is later, are around nothing before.
cdef inline bint is_over(const Nest* nest, int64_t ts) noexcept nogil:
    cdef int64_t start = nest.spans[2 * nest.size - 2]
    cdef int64_t end = nest.spans[2 * nest.size - 1]
    return start > ts or end < ts or end == ts and start < end


# A slice ends with the one that it is in at the latest; false without memory.
cdef inline bint open_inside(Nest* nest, int64_t ts, int64_t end) noexcept nogil:
    cdef int64_t room = max(8, 2 * nest.room)
    cdef int64_t* moved
    if nest.size == nest.room:
        moved = <int64_t*>realloc(nest.spans, room * 2 * sizeof(int64_t))
        if moved is NULL:
            return False
        nest.spans = moved
        nest.room = room
    if nest.size:
        end = min(end, nest.spans[2 * nest.size - 1])
    nest.spans[2 * nest.size] = ts
    nest.spans[2 * nest.size + 1] = end
    nest.size += 1
    return True
