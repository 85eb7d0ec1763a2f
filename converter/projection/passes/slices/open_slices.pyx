# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Slices that are open, by their names: which ends have a name that none of them has."""

# Stub:
# from collections.abc import Callable
#
# import numpy as np

import os

import numpy as np

from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from converter.kernels.batches.places cimport are_within
from converter.kernels.tables.open_slices cimport (
    NONE,
    Lanes,
    Open,
    find_matching,
    find_open,
    forget_closed,
    free_lanes,
    innermost,
    lane_of,
    pop,
    push,
    start,
)
from converter.projection.passes.slices.recent_stacks cimport RECENT, RecentLane, recent_lane
from converter.projection.passes.slices.turns cimport Turning, Turns, free_turning, keep_open, turns_of

cdef enum:
    BEGIN = 1
    END = 2
    # Complete slices, and those that become a begin and an end.
    STAYS = 3
    SPLIT = 4
    # Lines beside a track.
    MOST_LINES = 256
    # No viewer shows as many slices inside of each other.
    DEEPEST = 1024
    # The line of an end that closes nothing.
    NOWHERE = -1


cdef class OpenSlices:
    """Stacks are those of the tracks of threads."""

    cdef Lanes _open

    def __cinit__(self):
        start(&self._open, int.from_bytes(os.urandom(8), "little"))

    def __dealloc__(self):
        free_lanes(&self._open)

    def match(
        self,
        const int32_t[::1] step,
        const int32_t[:] thread,
        const int32_t[:] track,
        const int32_t[::1] name,
        bint by_name,
        bint in_turn=False,
        const int32_t[::1] category: NDArray[int32] | None = None,
    ) -> NDArray[np.intp]:
        """Go on with events, of which those of step 1 begin and those of step 2 end a slice of a track and thread.

        An end that finds none of its name ends the innermost slice; where ends are `by_name`, none, and one that has no
        name is of any; with categories, one that has a category ends a slice of that. Where they come `in_turn`, each
        ends the innermost, whatever its name.

        Returns:
            The places of ends that have another name than the slice that they end.

        """
        cdef int64_t count = step.shape[0]
        cdef int64_t i
        cdef int32_t lane, entry
        cdef Lanes* held = &self._open
        cdef RecentLane[RECENT] recent
        cdef bint failed
        cdef bint has_categories = category is not None
        if thread.shape[0] != count or track.shape[0] != count or name.shape[0] != count:
            raise ValueError("columns differ in length")
        if has_categories and category.shape[0] != count:
            raise ValueError("columns differ in length")
        result = np.zeros(count, np.uint8)
        cdef uint8_t[::1] foreign = result
        memset(recent, 0, sizeof(recent))
        with nogil:
            failed = not forget_closed(held)
            for i in range(0 if failed else count):
                if step[i] != BEGIN and step[i] != END:
                    continue
                lane = recent_lane(recent, &held.tops, thread[i], track[i]).number - 1
                entry = push(held, lane, name[i]) if lane >= 0 and step[i] == BEGIN else lane
                if entry < 0:
                    failed = True
                    break
                if step[i] == BEGIN and has_categories:
                    held.entries[entry].number = category[i]
                if step[i] == END and innermost(held, lane) >= 0:
                    entry = innermost(held, lane)
                    if in_turn:
                        foreign[i] = name[i] and held.entries[entry].name != name[i]
                    elif has_categories:
                        entry = find_matching(held, lane, name[i], category[i], by_name)
                    elif name[i]:
                        entry = find_open(held, lane, name[i], by_name)
                    if entry < 0 and by_name:
                        continue
                    if entry < 0 or name[i] and not held.entries[entry].name:
                        foreign[i] = True
                    if entry < 0:
                        entry = innermost(held, lane)
                    # Slices inside the one that ends are over as well.
                    while innermost(held, lane) != entry:
                        pop(held, lane)
                    pop(held, lane)
        if failed:
            raise MemoryError("too many slices are open")
        return np.flatnonzero(result)

    def close_innermost(
        self,
        const int32_t[::1] steps,
        const int32_t[:] class_id,
        const int32_t[:] thread,
        const int32_t[:] track,
        const int64_t[::1] order: NDArray[int64] | None,
    ) -> NDArray[int64]:
        """Go on with events whose ends have no name and end the innermost slice, but for begins of what stays open.

        Classes have steps; `order` is that of time, None where events are in it.

        Returns:
            The places of these begins, in order, with which `match` has to go on.

        """
        cdef int64_t count = class_id.shape[0]
        cdef bint is_ordered = order is None
        cdef uint32_t classes = <uint32_t>min(steps.shape[0], INT32_MAX)
        cdef int64_t i, k, ended
        cdef int32_t step
        cdef int32_t lane = -1
        cdef RecentLane last = RecentLane(0, 0, 0)
        cdef RecentLane[RECENT] recent
        cdef Lanes* held = &self._open
        cdef Turning turning
        cdef Turns* turns
        cdef Turns here = Turns(0, 0, 0)
        cdef int64_t[::1] left
        cdef bint failed
        if thread.shape[0] != count or track.shape[0] != count or (not is_ordered and order.shape[0] != count):
            raise ValueError("columns differ in length")
        if count and not is_ordered and not are_within(&order[0], count, count):
            raise ValueError("an event is outside of the columns")
        memset(recent, 0, sizeof(recent))
        memset(&turning, 0, sizeof(turning))
        try:
            with nogil:
                failed = not forget_closed(held)
                for k in range(-1 if failed else count - 1, -1, -1):
                    i = k if is_ordered else order[k]
                    step = steps[class_id[i]] if <uint32_t>class_id[i] < classes else 0
                    if step != BEGIN and step != END:
                        continue
                    if not last.number or thread[i] != last.thread or track[i] != last.track:
                        if last.number:
                            turning.lanes[last.number - 1] = here
                        last = recent_lane(recent, &held.tops, thread[i], track[i])
                        turns = turns_of(&turning, last.number - 1) if last.number else NULL
                        if turns is NULL:
                            failed = True
                            break
                        here = turns[0]
                    here.now += 2 * step - BEGIN - END
                    if here.now < here.lowest:
                        here.lowest = here.now
                        if not keep_open(&turning, i, last.number - 1):
                            failed = True
                            break
                if last.number and not failed:
                    turning.lanes[last.number - 1] = here
                for k in range(0 if failed else min(turning.room, held.tops.count)):
                    ended = turning.lanes[k].now - turning.lanes[k].lowest
                    while ended > 0 and innermost(held, <int32_t>k) >= 0:
                        pop(held, <int32_t>k)
                        ended -= 1
            if failed:
                raise MemoryError("too many slices are open")
            result = np.empty(turning.open_count, np.int64)
            left = result
            for k in range(turning.open_count):
                left[turning.open_count - 1 - k] = turning.open[2 * k]
        finally:
            free_turning(&turning)
        return result


# A column of strings of one class: its first id, how far the next is, and how many there are.
cdef struct Texts:
    uint8_t* first
    int64_t stride
    int64_t length


# The names and categories of one class; of ends, the names are written.
cdef struct Named:
    int32_t step
    Texts names
    Texts categories


cdef class NamedEnds:
    """Stacks are those of threads. `number` of an open slice is its category."""

    cdef Lanes _open

    def __cinit__(self):
        start(&self._open, int.from_bytes(os.urandom(8), "little"))

    def __dealloc__(self):
        free_lanes(&self._open)

    def name(
        self,
        const int32_t[:] class_id,
        const int32_t[:] row,
        const int32_t[:] thread,
        const int64_t[::1] order: NDArray[int64] | None,
        dict begins: dict[int, tuple[NDArray[int32], NDArray[int32]]],
        dict ends: dict[int, tuple[NDArray[int32], NDArray[int32]]],
    ) -> tuple[int, int]:
        """Give ends of slices without a name that of the innermost slice of their thread; goes on from batch to batch.

        One with a name ends the innermost slice of that name, or none; one that has a category alone ends the innermost
        slice if that is its category, too.

        Args:
            class_id: of each event.
            row: of each event, among those of its class.
            thread: of each event.
            order: that of time, None where the events are in it.
            begins: ids of names and categories of slices that begin, by class.
            ends: of slices that end. Their names are replaced.

        Returns:
            The number of ends that were named, and the position of the first of them.

        Raises:
            ValueError: a row that its class does not have.

        """
        cdef int64_t count = class_id.shape[0]
        cdef bint is_ordered = order is None
        cdef int32_t classes = max(*begins, *ends, -1, -1) + 1
        cdef int64_t i, k
        cdef int64_t found = 0
        cdef int64_t first = -1
        cdef int32_t lane, entry
        cdef int32_t* name
        cdef int32_t category
        cdef Lanes* held = &self._open
        cdef RecentLane[RECENT] recent
        cdef Named* of
        cdef bint failed = False
        cdef bint misplaced = False
        cdef Named* known
        if row.shape[0] != count or thread.shape[0] != count or (not is_ordered and order.shape[0] != count):
            raise ValueError("columns differ in length")
        if count and not is_ordered and not are_within(&order[0], count, count):
            raise ValueError("an event is outside of the columns")
        if min(*begins, *ends, 0, 0) < 0:
            raise ValueError("a class has a number")
        known = <Named*>calloc(classes + 1, sizeof(Named))
        if known is NULL:
            raise MemoryError
        memset(recent, 0, sizeof(recent))
        try:
            # The caller holds the columns as long as this runs.
            for step, columns in ((BEGIN, begins), (END, ends)):
                for number, (names, categories) in columns.items():
                    of = &known[<int32_t>number]
                    of.step = step
                    of.names = texts_of(names)
                    of.categories = texts_of(categories)
            with nogil:
                failed = not forget_closed(held)
                for k in range(0 if failed else count):
                    i = k if is_ordered else order[k]
                    if not 0 <= class_id[i] < classes or not known[class_id[i]].step:
                        continue
                    of = &known[class_id[i]]
                    if not 0 <= row[i] < min(of.names.length, of.categories.length):
                        misplaced = True
                        break
                    lane = recent_lane(recent, &held.tops, thread[i], -1).number - 1
                    if lane < 0:
                        failed = True
                        break
                    name = <int32_t*>(of.names.first + row[i] * of.names.stride)
                    category = (<int32_t*>(of.categories.first + row[i] * of.categories.stride))[0]
                    if of.step == BEGIN:
                        entry = push(held, lane, name[0])
                        if entry < 0:
                            failed = True
                            break
                        held.entries[entry].number = category
                        continue
                    entry = innermost(held, lane)
                    if entry < 0:
                        continue
                    if name[0]:
                        entry = find_matching(held, lane, name[0], category, False)
                    elif category and held.entries[entry].number != category:
                        entry = NONE
                    else:
                        name[0] = <int32_t>held.entries[entry].name
                        if name[0]:
                            found += 1
                            if first < 0:
                                first = i
                    if entry < 0:
                        continue
                    while innermost(held, lane) != entry:
                        pop(held, lane)
                    pop(held, lane)
        finally:
            free(known)
        if misplaced:
            raise ValueError("a class has fewer rows than events")
        if failed:
            raise MemoryError("too many slices are open")
        return found, first


cdef Texts texts_of(column) except *:
    cdef const int32_t[:] ids = column
    cdef Texts found = Texts(NULL, ids.strides[0], ids.shape[0])
    if ids.shape[0]:
        found.first = <uint8_t*>&ids[0]
    return found


cdef class NestedSlices:
    """Stacks are those of the tracks of threads, and of additional lines for the slices that do not nest there."""

    cdef Lanes _open
    cdef int64_t _count
    # At least the number of complete slices in which another is open that may never end.
    cdef int64_t _holding
    # Complete slices that end when one inside does: their numbers, and the positions of these ends.
    cdef list _around
    # Those that need an event for their end are counted if that of any slice around comes first.
    cdef bint _counts_outlasting

    def __cinit__(self, *, bint counts_outlasting=False):
        start(&self._open, int.from_bytes(os.urandom(8), "little"))
        self._counts_outlasting = counts_outlasting

    def __dealloc__(self):
        free_lanes(&self._open)

    def lines(
        self,
        const int32_t[::1] step,
        const int32_t[:] thread,
        const int32_t[:] track,
        const int64_t[:] ts,
        const int64_t[::1] end,
        const int64_t[::1] order,
        is_last: Callable[[], bool],
    ) -> tuple[NDArray[int32], int, int, int, list[tuple[int, int]]]:
        """Go on with events in an order of time. Those of step 1 begin and those of step 2 end a slice of a track and
        thread; those of step 3 are complete slices until an `end`, which those of step 4 need an event for.

        A slice that is open when the one around it ends crosses that end, too; `is_last` is asked where such a one
        could still end in a later batch.

        Returns:
            Which line beside its track each complete slice nests on, 0 for the track, and -1 for ends that close
            nothing though a slice of step 4 is open; how many slices are on a line because they cross an end, how many
            should be, but are of an earlier batch, and how many of both have one inside that lasts longer; of each
            slice of step 4 that ends at the time of an end of one inside, its position, negative in an earlier batch,
            and that of the end.

        """
        cdef int64_t count = step.shape[0]
        cdef int64_t i, k
        cdef int32_t lane = -1
        cdef int32_t last_thread = -1
        cdef int32_t last_track = -1
        cdef int64_t last = -1
        cdef int64_t crossed[3]
        cdef Lanes* held = &self._open
        cdef bint failed
        crossed[0] = crossed[1] = crossed[2] = 0
        self._around = []
        if min(thread.shape[0], track.shape[0], ts.shape[0], end.shape[0], order.shape[0]) != count:
            raise ValueError("columns differ in length")
        if count and not are_within(&order[0], count, count):
            raise ValueError("an event is outside of the columns")
        result = np.zeros(count, np.int32)
        cdef int32_t[::1] line = result
        with nogil:
            failed = not forget_closed(held)
            for k in range(0 if failed else count):
                i = order[k]
                if not step[i]:
                    continue
                if lane < 0 or thread[i] != last_thread or track[i] != last_track:
                    lane = lane_of(held, <uint64_t>thread[i], <uint64_t>track[i])
                    last_thread = thread[i]
                    last_track = track[i]
                if lane < 0:
                    failed = True
                    break
                pop_ended(held, lane, ts[i])
                if step[i] == END:
                    if find_open(held, lane, BEGIN, False) >= 0:
                        self._close(lane, i, ts[i], &line[0], crossed)
                    elif find_open(held, lane, SPLIT, False) >= 0:
                        line[i] = NOWHERE
                    continue
                self._holding += step[i] == BEGIN and is_innermost(held, lane, SPLIT)
                if self._counts_outlasting and step[i] == SPLIT:
                    crossed[0] += outlasts_any(held, lane, end[i])
                if step[i] != BEGIN and not fits(held, lane, end[i]):
                    line[i] = 1
                elif not push_until(held, lane, step[i], end[i], self._count + i):
                    failed = True
                    break
        if count and self._holding and not failed:
            self._cross_ended(INT64_MAX if is_last() else ts[order[count - 1]], &line[0], crossed)
        with nogil:
            # Slices that do not nest go to the first line on which they do.
            for k in range(0 if failed else count):
                i = order[k]
                if line[i] <= 0:
                    continue
                for last in range(1, MOST_LINES + 1):
                    line[i] = <int32_t>last
                    lane = lane_of(held, <uint64_t>thread[i], (<uint64_t>last << 32) | <uint32_t>track[i])
                    if lane < 0:
                        failed = True
                        break
                    pop_ended(held, lane, ts[i])
                    if fits(held, lane, end[i]) or last == MOST_LINES:
                        failed = not push_until(held, lane, step[i], end[i], self._count + i)
                        break
                if failed:
                    break
        if failed:
            raise MemoryError("too many slices are open")
        self._count += count
        return result, crossed[0], crossed[1], crossed[2], self._around

    # An end closes the innermost slice that began as one. Complete ones inside that last longer do not nest there, nor
    # do those around that are over; `crossed` counts those of this batch, those that began before it, and of both those
    # around one that lasts longer.
    cdef void _close(self, int32_t lane, int64_t i, int64_t at, int32_t* line, int64_t* crossed) noexcept nogil:
        cdef Lanes* held = &self._open
        cdef int32_t entry
        while held.entries[innermost(held, lane)].name != BEGIN:
            if held.entries[innermost(held, lane)].inside > at:
                self._cross(innermost(held, lane), line, crossed)
            pop(held, lane)
        pop(held, lane)
        while innermost(held, lane) >= 0 and held.entries[innermost(held, lane)].inside < at:
            crossed[2] += is_innermost(held, lane, SPLIT)
            self._cross(innermost(held, lane), line, crossed)
            pop(held, lane)
        entry = innermost(held, lane)
        while entry >= 0 and held.entries[entry].inside == at:
            if held.entries[entry].name == SPLIT:
                with gil:
                    self._around.append((held.entries[entry].number - self._count, i))
            entry = held.entries[entry].below

    # Complete slices that end before a time, and in which one is open, cross the end of that.
    cdef void _cross_ended(self, int64_t until, int32_t* line, int64_t* crossed) noexcept nogil:
        cdef Open* entry
        cdef int32_t lane, number
        cdef bint is_around
        self._holding = 0
        for lane in range(<int32_t>self._open.tops.count):
            is_around = False
            number = innermost(&self._open, lane)
            for _ in range(DEEPEST):
                if number < 0:
                    break
                entry = &self._open.entries[number]
                if entry.name == SPLIT and is_around:
                    if entry.inside < until:
                        crossed[2] += 1
                        self._cross(number, line, crossed)
                        entry.name = STAYS
                    else:
                        self._holding += 1
                is_around = is_around or entry.name == BEGIN
                number = entry.below

    cdef void _cross(self, int32_t entry, int32_t* line, int64_t* crossed) noexcept nogil:
        cdef int64_t number = self._open.entries[entry].number - self._count
        # Slices that stay complete are not in the way of ends.
        if self._open.entries[entry].name == SPLIT:
            crossed[0 if number >= 0 else 1] += 1
            if number >= 0:
                line[number] = 1


cdef inline void pop_ended(Lanes* held, int32_t lane, int64_t at) noexcept nogil:
    while innermost(held, lane) >= 0 and held.entries[innermost(held, lane)].inside <= at:
        pop(held, lane)


cdef inline bint is_innermost(const Lanes* held, int32_t lane, int32_t step) noexcept nogil:
    return innermost(held, lane) >= 0 and held.entries[innermost(held, lane)].name == step


cdef inline bint fits(const Lanes* held, int32_t lane, int64_t end) noexcept nogil:
    return innermost(held, lane) < 0 or end <= held.entries[innermost(held, lane)].inside


cdef bint outlasts_any(const Lanes* held, int32_t lane, int64_t end) noexcept nogil:
    cdef int32_t entry = innermost(held, lane)
    for _ in range(DEEPEST):
        if entry < 0:
            break
        if held.entries[entry].inside < end:
            return True
        entry = held.entries[entry].below
    return False


cdef inline bint push_until(Lanes* held, int32_t lane, int32_t step, int64_t end, int64_t number) noexcept nogil:
    cdef int32_t entry = push(held, lane, step)
    if entry < 0:
        return False
    held.entries[entry].inside = INT64_MAX if step == BEGIN else end
    held.entries[entry].number = number
    return True
