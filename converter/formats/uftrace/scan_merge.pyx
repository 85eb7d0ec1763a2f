# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Streams of records and of events that are decoded elsewhere: their windows, and which of them is next."""


from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from converter.kernels.byte_order cimport HOST_IS_BIG, load64
from converter.formats.uftrace.scan_functions cimport FunctionTable, grown
from converter.formats.uftrace.scan_streams cimport RECORD_SIZE, Stream, clipped, push



cdef class Streams:
    def __cinit__(
        self, object strings, FunctionTable functions not None, *, bint big_endian, bint close_abandoned, object classes
    ):
        self._functions = functions
        self._close = close_abandoned
        self._swap = big_endian != HOST_IS_BIG
        self._kept = []
        self._windows = []

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self._stream_count):
            free(self._streams[i].frames)
        free(self._streams)
        free(self._heap.items)

    cdef Stream* _add_stream(self) except NULL:
        cdef Stream* stream
        cdef int32_t* items
        self._streams = <Stream*>grown(self._streams, self._stream_count, sizeof(Stream))
        self._heap.streams = self._streams
        items = <int32_t*>realloc(self._heap.items, (self._stream_count + 1) * sizeof(int32_t))
        if items is NULL:
            raise MemoryError
        self._heap.items = items
        stream = &self._streams[self._stream_count]
        memset(stream, 0, sizeof(Stream))
        self._windows.append(None)
        self._stream_count += 1
        return stream

    cdef Stream* _empty(self, int32_t number, bint is_ready, int64_t segment) except NULL:
        cdef int32_t i
        if not 0 <= number < self._stream_count or self._streams[number].is_ready != is_ready:
            raise ValueError(f"stream {number} of {self._stream_count}")
        for i in range(self._heap.waiting):
            if self._heap.items[i] == number:
                raise ValueError(f"stream {number} still has events")
        if not 0 <= segment < 1 << 31:
            raise ValueError(f"segment {segment}")
        return &self._streams[number]

    def add_tasks(self, int32_t thread, const int64_t[::1] times, const int32_t[::1] spaces):
        cdef Stream* stream
        cdef int64_t i
        if times.shape[0] != spaces.shape[0] or times.shape[0] == 0:
            raise ValueError("times and spaces differ in length")
        for i in range(spaces.shape[0]):
            if not 0 <= spaces[i] < self._functions.space_count:
                raise ValueError(f"space {spaces[i]} of {self._functions.space_count}")
        stream = self._add_stream()
        stream.thread = thread
        stream.cpu = -1
        stream.times = &times[0]
        stream.spaces = &spaces[0]
        stream.space_count = spaces.shape[0]
        stream.next_space = times[1] if times.shape[0] > 1 else INT64_MAX
        stream.tracked = self._close
        stream.adrift = True
        self._kept.append((times, spaces))
        return self._stream_count - 1

    def untracked(self):
        cdef int32_t i
        if not self._close:
            return 0
        return sum([1 for i in range(self._stream_count) if not self._streams[i].is_ready and not self._streams[i].tracked])

    def add_ready(self, int32_t cpu):
        cdef Stream* stream = self._add_stream()
        stream.is_ready = True
        stream.cpu = cpu
        return self._stream_count - 1

    def feed(self, int32_t number, const uint8_t[::1] window, int64_t segment, bint final):
        cdef Stream* stream = self._empty(number, False, segment)
        if window.shape[0] > 0x7fffffff:
            raise ValueError("a window of 2 GiB and more")
        self._windows[number] = window
        stream.data = &window[0] if window.shape[0] else NULL
        stream.at = 0
        stream.end = window.shape[0]
        stream.segment = segment
        stream.final = final
        if stream.end >= RECORD_SIZE:
            stream.next_ts = clipped(load64(stream.data, self._swap))
        else:
            # The run over it finds that there is no whole record.
            stream.next_ts = 0
        push(&self._heap, number)

    def feed_ready(
        self,
        int32_t number,
        const int64_t[::1] ts,
        const int32_t[::1] class_id,
        const int32_t[::1] thread,
        const uint32_t[::1] start,
        const uint32_t[::1] size,
        int64_t count,
        int64_t segment,
    ):
        cdef Stream* stream = self._empty(number, True, segment)
        if count < 0 or (
            ts.shape[0] < count or class_id.shape[0] < count or thread.shape[0] < count
            or start.shape[0] < count or size.shape[0] < count
        ):
            raise ValueError("the columns are shorter than the count")
        if count == 0:
            return
        self._windows[number] = (ts, class_id, thread, start, size)
        stream.ts = &ts[0]
        stream.class_id = &class_id[0]
        stream.threads = &thread[0]
        stream.start = &start[0]
        stream.size = &size[0]
        stream.at = 0
        stream.end = count
        stream.segment = segment
        stream.next_ts = ts[0]
        push(&self._heap, number)

    def consumed(self, int32_t number):
        if not 0 <= number < self._stream_count:
            raise ValueError(f"stream {number} of {self._stream_count}")
        return self._streams[number].at

    def renumber(self, int32_t number, int64_t segment):
        if not 0 <= number < self._stream_count or not 0 <= segment < 1 << 31:
            raise ValueError(f"stream {number}, segment {segment}")
        self._streams[number].segment = segment
