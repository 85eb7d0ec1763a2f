# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Slices as a tree of calls: which begins and ends belong together, and how long each call stack took by itself."""

import os

import numpy as np

from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from converter.kernels.tables.numbers cimport Numbers, find_or_add_pair, free_numbers

cdef enum:
    BEGIN = 1
    END = 2
    NONE = -1


# The slices that are open on a thread, or on a track: the innermost call, and the time until which all is counted.
cdef struct Lane:
    int64_t last
    int32_t call
    int32_t depth
    bint known


# A function with all those around it; the outermost one of each thread or track is its root.
cdef struct Call:
    int64_t itself
    int32_t outer
    int32_t name


cdef class CallTree:
    """The tree of all threads and tracks; continues from batch to batch. Memory is that of the different calls."""

    cdef Numbers _lanes
    cdef Numbers _calls

    def __cinit__(self):
        self._lanes.item_size = sizeof(Lane)
        self._calls.item_size = sizeof(Call)
        self._lanes.seed = self._calls.seed = int.from_bytes(os.urandom(8), "little")

    def __dealloc__(self):
        free_numbers(&self._lanes)
        free_numbers(&self._calls)

    def add(
        self,
        const int32_t[::1] step,
        const int32_t[::1] thread,
        const int32_t[::1] track,
        const int32_t[::1] name,
        const int64_t[::1] ts,
        int32_t[::1] calls=None,
    ) -> tuple[NDArray[uint8], NDArray[int64]]:
        """Go on with slices in the order of the trace: those of step 1 begin, those of step 2 end the innermost one.

        Slices are of a track, or of a thread where `track` is -1. The number of the innermost call after each event
        (`calls`) is stored in `calls`.

        Returns:
            Per event, 1 if it is an end that ends nothing, and its time: not before that of the one before it on its
            thread or track.

        """
        cdef int64_t count = step.shape[0]
        cdef int64_t i
        cdef int32_t lane, call
        cdef int64_t now
        cdef Lane* on
        cdef bint failed = False
        if thread.shape[0] != count or track.shape[0] != count or name.shape[0] != count or ts.shape[0] != count:
            raise ValueError("columns differ in length")
        if calls is not None and calls.shape[0] != count:
            raise ValueError("columns differ in length")
        stray_ends = np.zeros(count, np.uint8)
        times = np.empty(count, np.int64)
        cdef uint8_t[::1] strays = stray_ends
        cdef int64_t[::1] at = times
        with nogil:
            for i in range(count):
                lane = self._lane(thread[i] if track[i] < 0 else NONE, track[i])
                if lane < 0:
                    failed = True
                    break
                on = &(<Lane*>self._lanes.items)[lane]
                now = ts[i]
                if on.known and now < on.last:
                    now = on.last
                at[i] = now
                if on.depth:
                    self._count(on.call, on.last, now)
                on.last = now
                on.known = True
                if step[i] == BEGIN:
                    call = self._inside(on.call, name[i])
                    if call < 0 or on.depth == INT32_MAX:
                        failed = True
                        break
                    on.call = call
                    on.depth += 1
                elif on.depth:
                    on.call = (<Call*>self._calls.items)[on.call].outer
                    on.depth -= 1
                else:
                    strays[i] = 1
                if calls is not None:
                    calls[i] = on.call
        if failed:
            raise MemoryError("too many different calls")
        return stray_ends, times

    def close(self, int64_t now) -> tuple[NDArray[int32], NDArray[int32], NDArray[int64]]:
        """End all slices that are open, at a time or that of the last event of their thread or track.

        Returns:
            Thread, track and time of each of these ends.

        """
        cdef int64_t i, k
        cdef int64_t size = 0
        cdef Lane* on
        for i in range(self._lanes.count):
            size += (<Lane*>self._lanes.items)[i].depth
        threads, tracks, times = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int64)
        cdef int32_t[::1] thread = threads
        cdef int32_t[::1] track = tracks
        cdef int64_t[::1] at = times
        size = 0
        for i in range(self._lanes.count):
            on = &(<Lane*>self._lanes.items)[i]
            if not on.depth:
                continue
            if now > on.last:
                self._count(on.call, on.last, now)
                on.last = now
            for k in range(on.depth):
                thread[size] = <int32_t>(<uint32_t>self._lanes.keys[2 * i]) - 1
                track[size] = <int32_t>(<uint32_t>self._lanes.keys[2 * i + 1]) - 1
                at[size] = on.last
                size += 1
                on.call = (<Call*>self._calls.items)[on.call].outer
            on.depth = 0
        return threads, tracks, times

    def calls(self) -> tuple[NDArray[int32], NDArray[int32], NDArray[int32], NDArray[int64]]:
        """Return all calls by number, each after the one around it; the outermost of a thread or track is its root.

        Returns:
            The number of the call around it, -1 for roots; its name; the number of its thread or track (`roots`); and
            the ticks that it took apart from those inside of it.

        """
        cdef int64_t i
        cdef int64_t count = self._calls.count
        cdef const Call* all_calls = <const Call*>self._calls.items
        outers, names, lanes = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
        ticks = np.empty(count, np.int64)
        cdef int32_t[::1] outer = outers
        cdef int32_t[::1] name = names
        cdef int32_t[::1] lane = lanes
        cdef int64_t[::1] itself = ticks
        for i in range(count):
            outer[i] = all_calls[i].outer
            name[i] = all_calls[i].name
            lane[i] = all_calls[i].name if outer[i] < 0 else lane[outer[i]]
            itself[i] = all_calls[i].itself
        return outers, names, lanes, ticks

    def roots(self) -> tuple[NDArray[int32], NDArray[int32]]:
        """Return the thread and the track of each root, by its number; one of them is -1."""
        cdef int64_t i
        cdef int64_t count = self._lanes.count
        threads, tracks = np.empty(count, np.int32), np.empty(count, np.int32)
        cdef int32_t[::1] thread = threads
        cdef int32_t[::1] track = tracks
        for i in range(count):
            thread[i] = <int32_t>(<uint32_t>self._lanes.keys[2 * i]) - 1
            track[i] = <int32_t>(<uint32_t>self._lanes.keys[2 * i + 1]) - 1
        return threads, tracks

    # The number of a thread or track, negative without memory.
    cdef int32_t _lane(self, int32_t thread, int32_t track) noexcept nogil:
        cdef int64_t known = self._lanes.count
        cdef int32_t lane = find_or_add_pair(&self._lanes, <uint32_t>(thread + 1), <uint32_t>(track + 1))
        cdef int32_t root
        if lane < known:
            return lane
        # No call has such a name.
        root = find_or_add_pair(&self._calls, <uint64_t>lane, <uint64_t>1 << 40)
        if root < 0:
            return root
        (<Call*>self._calls.items)[root].outer = NONE
        (<Call*>self._calls.items)[root].name = lane
        (<Lane*>self._lanes.items)[lane].call = root
        return lane

    # The call of a name inside of another one, negative without memory.
    cdef int32_t _inside(self, int32_t outer, int32_t name) noexcept nogil:
        cdef int64_t known = self._calls.count
        cdef int32_t call = find_or_add_pair(&self._calls, <uint64_t>outer, <uint32_t>name)
        if call == known:
            (<Call*>self._calls.items)[call].outer = outer
            (<Call*>self._calls.items)[call].name = name
        return call

    cdef void _count(self, int32_t call, int64_t since, int64_t now) noexcept nogil:
        cdef Call* one = &(<Call*>self._calls.items)[call]
        cdef uint64_t ticks = <uint64_t>now - <uint64_t>since
        # More than 292 years are as many.
        one.itself = INT64_MAX if ticks > <uint64_t>(INT64_MAX - one.itself) else one.itself + <int64_t>ticks
