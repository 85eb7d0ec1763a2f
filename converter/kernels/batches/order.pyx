# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Merging streams of events by time, and grouping the merged events by class.

The heads of the streams are compared and nothing is sorted within a stream, so a stream whose clock once went
backwards comes out as it is; at equal times the stream of the lower number goes first.
"""

# Stub:
# from collections.abc import Sequence
# from typing import TypeVar
# from converter.kernels.batches.event_arrays import OutputArrays
#
# _First = TypeVar("_First", int64, int32)
# _Second = TypeVar("_Second", uint32, int32)

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free
from converter.kernels.batches.event_arrays cimport Events, OutputArrays, WITH_CLASS, WITH_CPU, WITH_ROW, WITH_THREAD


cdef struct Stream:
    const int64_t* ts
    const int32_t* class_id
    const int32_t* thread
    const uint32_t* start
    const uint32_t* size
    int64_t at
    int64_t end
    int64_t segment
    int32_t cpu
    int32_t track


cdef class Merge:
    """Streams of events merged by time: heads are compared, at equal times the lower stream goes first.

    A stream has a window of events at a time; `fill` stops where one runs out.
    """

    cdef Stream* _streams
    # Numbers of the streams that have an event, as a binary heap: the next one's first.
    cdef int32_t* _heap
    cdef int32_t _waiting
    cdef int32_t _count
    cdef list _windows

    def __init__(self, cpus: Sequence[int], tracks: Sequence[int]):
        """One stream for each cpu (and track), all empty."""
        if self._streams is not NULL:
            raise TypeError("streams cannot be set anew")
        if len(cpus) != len(tracks):
            raise ValueError("cpus and tracks differ in length")
        self._streams = <Stream*>calloc(len(cpus) + 1, sizeof(Stream))
        self._heap = <int32_t*>calloc(len(cpus) + 1, sizeof(int32_t))
        if self._streams is NULL or self._heap is NULL:
            raise MemoryError
        self._count = len(cpus)
        self._windows = [None] * len(cpus)
        for i, (cpu, track) in enumerate(zip(cpus, tracks)):
            self._streams[i].cpu = cpu
            self._streams[i].track = track

    def __dealloc__(self):
        free(self._streams)
        free(self._heap)

    cdef inline bint _before(self, int32_t a, int32_t b) noexcept nogil:
        cdef int64_t ts_a = self._streams[a].ts[self._streams[a].at]
        cdef int64_t ts_b = self._streams[b].ts[self._streams[b].at]
        return ts_a < ts_b or (ts_a == ts_b and a < b)

    cdef void _sink(self, int32_t place) noexcept nogil:
        cdef int32_t stream = self._heap[place]
        cdef int32_t child
        while True:
            child = 2 * place + 1
            if child >= self._waiting:
                break
            if child + 1 < self._waiting and self._before(self._heap[child + 1], self._heap[child]):
                child += 1
            if not self._before(self._heap[child], stream):
                break
            self._heap[place] = self._heap[child]
            place = child
        self._heap[place] = stream

    cdef void _rise(self, int32_t place) noexcept nogil:
        cdef int32_t stream = self._heap[place]
        cdef int32_t parent
        while place:
            parent = (place - 1) // 2
            if not self._before(stream, self._heap[parent]):
                break
            self._heap[place] = self._heap[parent]
            place = parent
        self._heap[place] = stream

    def feed(
        self,
        int32_t stream,
        const int64_t[::1] ts,
        const int32_t[::1] class_id,
        const int32_t[::1] thread,
        const uint32_t[::1] start,
        const uint32_t[::1] size,
        int64_t count,
        int64_t segment,
    ) -> None:
        """Give an empty stream its next `count` events, whose payloads lie in `segment`. The arrays are kept."""
        if not 0 <= stream < self._count:
            raise ValueError(f"stream {stream} of {self._count}")
        cdef Stream* fed = &self._streams[stream]
        if fed.at < fed.end:
            raise ValueError(f"stream {stream} still has events")
        if not 0 <= segment < 1 << 31:
            raise ValueError(f"segment {segment}")
        if count < 0 or (
            ts.shape[0] < count or class_id.shape[0] < count or thread.shape[0] < count
            or start.shape[0] < count or size.shape[0] < count
        ):
            raise ValueError("the columns are shorter than the count")
        if count == 0:
            return
        fed.ts = &ts[0]
        fed.class_id = &class_id[0]
        fed.thread = &thread[0]
        fed.start = &start[0]
        fed.size = &size[0]
        fed.at = 0
        fed.end = count
        fed.segment = segment
        self._windows[stream] = (ts, class_id, thread, start, size)
        self._heap[self._waiting] = stream
        self._waiting += 1
        self._rise(self._waiting - 1)

    def move(self, int32_t stream, int32_t cpu) -> None:
        """From now on the events of the stream, which is empty, are on this CPU."""
        if not 0 <= stream < self._count:
            raise ValueError(f"stream {stream} of {self._count}")
        if self._streams[stream].at < self._streams[stream].end:
            raise ValueError(f"stream {stream} still has events")
        self._streams[stream].cpu = cpu

    def renumber(self, int32_t stream, int64_t segment) -> None:
        """From now on the stream's window is `segment`."""
        if not 0 <= stream < self._count or not 0 <= segment < 1 << 31:
            raise ValueError(f"stream {stream}, segment {segment}")
        self._streams[stream].segment = segment

    def fill(self, OutputArrays events not None, int64_t filled, int32_t[::1] counts) -> tuple[int, int]:
        """Fill the columns from place `filled` on: (places filled, the stream that ran out or -1).

        The columns are the common ones, of which `track` may be missing, location (int64) and size (uint32). `counts`
        numbers the rows of each class. With -1 the columns are full, or no stream has an event. Raises ValueError for a
        class without an entry in `counts`. Releases the GIL.
        """
        cdef Events columns = events.common(WITH_CLASS | WITH_ROW | WITH_THREAD | WITH_CPU)
        cdef int64_t room = columns.count
        cdef int64_t classes = counts.shape[0]
        cdef int64_t* ts = columns.ts
        cdef int32_t* class_id = columns.class_id
        cdef int32_t* row = columns.row
        cdef int32_t* thread = columns.thread
        cdef int32_t* cpu = columns.cpu
        cdef int32_t* track = columns.track
        cdef int64_t* location = <int64_t*>events.own("location", 8)
        cdef uint32_t* size = <uint32_t*>events.own("size", 4)
        cdef int64_t at, end, last, time, segment
        cdef int32_t top, rival, of_cpu, of_track
        cdef int32_t kind
        cdef Stream* stream
        # The stream's columns: what is written is never one of these, which a compiler cannot know.
        cdef const int64_t* times
        cdef const int32_t* kinds
        cdef const int32_t* threads
        cdef const uint32_t* starts
        cdef const uint32_t* sizes
        cdef int64_t bad = 0
        cdef bint is_bad = False
        cdef int32_t empty = -1
        if not 0 <= filled <= room:
            raise ValueError("more is filled than there is")
        with nogil:
            while self._waiting and filled < room:
                top = self._heap[0]
                stream = &self._streams[top]
                # As long as the top stream stays before its nearest rival the heap need not change.
                last = INT64_MAX
                rival = -1
                if self._waiting > 1:
                    rival = self._heap[1]
                    if self._waiting > 2 and self._before(self._heap[2], rival):
                        rival = self._heap[2]
                    # A rival of a lower number is later than the top stream, and goes first at equal times.
                    last = self._streams[rival].ts[self._streams[rival].at] - (top > rival)
                times, kinds, threads = stream.ts, stream.class_id, stream.thread
                starts, sizes = stream.start, stream.size
                segment, of_cpu, of_track = stream.segment << 32, stream.cpu, stream.track
                at = stream.at
                end = stream.end
                if end - at > room - filled:
                    end = at + room - filled
                while at < end:
                    time = times[at]
                    if time > last:
                        break
                    kind = kinds[at]
                    if kind < 0 or kind >= classes:
                        is_bad, bad = True, kind
                        break
                    ts[filled] = time
                    class_id[filled] = kind
                    row[filled] = counts[kind]
                    counts[kind] = <int32_t>(<uint32_t>counts[kind] + 1)
                    thread[filled] = threads[at]
                    cpu[filled] = of_cpu
                    if track is not NULL:
                        track[filled] = of_track
                    location[filled] = segment | starts[at]
                    size[filled] = sizes[at]
                    filled += 1
                    at += 1
                stream.at = at
                if is_bad:
                    break
                if at == stream.end:
                    self._waiting -= 1
                    self._heap[0] = self._heap[self._waiting]
                    if self._waiting:
                        self._sink(0)
                    empty = top
                    break
                if self._waiting == 2 and at < end:
                    # The rival is before.
                    self._heap[0], self._heap[1] = rival, top
                else:
                    self._sink(0)
        if is_bad:
            raise ValueError(f"an event is of class {bad} of {classes}")
        return filled, empty


ctypedef fused first_value:
    int64_t
    int32_t

ctypedef fused second_value:
    uint32_t
    int32_t


def group_by_class(
    const int32_t[::1] class_id,
    const int32_t[::1] row,
    const int64_t[::1] first,
    const first_value[::1] one: NDArray[_First],
    const second_value[::1] other: NDArray[_Second],
    first_value[::1] grouped_one: NDArray[_First],
    second_value[::1] grouped_other: NDArray[_Second],
) -> None:
    """Put event i's values in two columns at place ``first[class] + row``.

    Raises ValueError for an event that has no place. Releases the GIL.
    """
    cdef int64_t count = class_id.shape[0]
    cdef int64_t i, at
    cdef int64_t failed = -1
    if row.shape[0] != count or one.shape[0] != count or other.shape[0] != count:
        raise ValueError("the columns differ in length")
    if grouped_one.shape[0] != count or grouped_other.shape[0] != count:
        raise ValueError("the columns differ in length")
    with nogil:
        for i in range(count):
            if class_id[i] < 0 or class_id[i] >= first.shape[0]:
                failed = i
                break
            at = first[class_id[i]] + row[i]
            if at < 0 or at >= count:
                failed = i
                break
            grouped_one[at] = one[i]
            grouped_other[at] = other[i]
    if failed >= 0:
        raise ValueError(f"event {failed} has no place")
