"""Finds the pages of a time: each page has the time of its first event, and the pages of a CPU are in order.

Compressed pages are found by the first page of each chunk: a search decompresses few chunks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ftrace.ring_buffer.pages import PageStream, Window
from converter.formats.ftrace.ring_buffer.scan import most_records_in, scan_pages
from converter.formats.ftrace.ring_buffer.timestamps import Timestamps
from converter.formats.trace_cmd.container.trace_file import TraceFile
from converter.ir.trace import Narrowed
from converter.kernels.batches.event_arrays import OutputArrays
from converter.kernels.tables.tasks import TaskTable

#: Bytes of pages before a time that are also read: they determine the state at that time.
_LEAD = 1 << 16
#: The size of a page's time, the first field of its header.
_TIME_SIZE = 8
#: Bytes of chunks that are read at once, for their sizes.
_HEADERS: Final = 1 << 16
#: A table that ignores the type of events: only times are read.
_ANY_TYPE = np.zeros(1 << 16, np.int32)


_NOTHING: Final = Narrowed(leaves_out=False, goes_on=False)


class PageSeeking:
    """The pages of a file's streams by their times."""

    def __init__(
        self,
        file: TraceFile,
        streams: Sequence[PageStream],
        timestamps: Timestamps,
        long_size: int,
        unprepared: Callable[[], bool],
    ) -> None:
        self._file = file
        self._timestamps = timestamps
        self._long_size = long_size
        self._unprepared = unprepared
        self._indices = [_PageIndex(file, stream, timestamps) for stream in streams]

    def first(self) -> int | None:
        """Return the time of the first event of the first pages."""
        return min(self._edges(0), default=None)

    def last(self) -> int | None:
        """Return the time of the last event of the last pages."""
        return max(self._edges(-1), default=None)

    def _edges(self, which: int) -> list[int]:
        """Return the time of the first or last event of each stream; streams whose pages do not show it are omitted."""
        edges: list[int] = []
        for index in self._indices if self._can_seek() else ():
            if len(index):
                times = self._times(index, which % len(index))
                if not len(times):
                    return []
                edges.append(int(times[which]))
        return edges

    def narrow(self, start: int, end: int) -> Narrowed:
        """Skip pages of other times, except some right before."""
        if not self._can_seek() or not self._unprepared():
            return _NOTHING
        left = [index.restrict(start, end) for index in self._indices]
        return Narrowed(*(any(one) for one in zip(*left, strict=True))) if left else _NOTHING

    def _can_seek(self) -> bool:
        # The times of guests need their own conversion; text has no pages.
        return self._timestamps.host_time is None and all(
            buffer.text is None for buffer in self._file.buffers
        )

    def _times(self, index: _PageIndex, number: int) -> NDArray[np.int64]:
        """Return the times of the events of a page or chunk."""
        stream, timestamps = index.stream, self._timestamps
        pages, errors = stream.load(index.window(number))
        if errors or not len(pages):
            return np.zeros(0, np.int64)
        capacity = most_records_in(len(pages), stream.buffer.page_size)
        ts = np.empty(capacity, np.int64)
        class_id, thread = np.empty((2, capacity), np.int32)
        start, size = np.empty((2, capacity), np.uint32)
        count, _, _ = scan_pages(
            pages,
            (stream.buffer.page_size, self._long_size, self._file.big_endian),
            (_ANY_TYPE, -1),
            TaskTable(),
            (0, 0),
            timestamps.scaling,
            OutputArrays(ts=ts, class_id=class_id, thread=thread, start=start, size=size),
        )
        return ts[:count]


class _PageIndex:
    """The pages or chunks of a stream, as a sequence of their start times."""

    def __init__(self, file: TraceFile, stream: PageStream, timestamps: Timestamps) -> None:
        self.stream = stream
        self._file = file
        self._timestamps = timestamps
        self._places: Sequence[int] | None = None

    @property
    def places(self) -> Sequence[int]:
        """The file offset of each entry."""
        if self._places is None:
            stream = self.stream
            self._places = (
                self._chunks()
                if stream.buffer.compressed
                else range(stream.offset, stream.end, stream.buffer.page_size)
            )
        return self._places

    def _chunks(self) -> Sequence[int]:
        offsets = array("q")
        counted = self.stream.chunk_count()
        at, left = counted if counted is not None else (0, 0)
        order: Literal["big", "little"] = "big" if self._file.big_endian else "little"
        # Chunks are small, so that one read covers many of their headers.
        start, window = at, b""
        while left:
            if at + 8 > start + len(window):
                start, window = at, self._file.source.read(at, _HEADERS)
                if len(window) < 8:
                    break
            packed = int.from_bytes(window[at - start : at - start + 4], order)
            if packed == 0 or packed > self.stream.end - at - 8:
                break
            offsets.append(at)
            at += 8 + packed
            left -= 1
        return offsets

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, number: int) -> int:
        """Return the time of the first page of entry `number`, for `bisect`."""
        if self.stream.buffer.compressed:
            pages, errors = self.stream.load(self.window(number))
            head = pages[:_TIME_SIZE].tobytes()
            if errors or len(head) < _TIME_SIZE:
                raise TraceError("a damaged page is in the way of a search")
        else:
            head = self._file.source.read(self.places[number], _TIME_SIZE)
        raw = int.from_bytes(head, "big" if self._file.big_endian else "little")
        return int(self._timestamps.scale(np.array([raw], np.uint64).view(np.int64))[0])

    def window(self, number: int) -> Window:
        """Return the pages of an entry."""
        at = self.places[number]
        if not self.stream.buffer.compressed:
            return Window(at, min(self.stream.buffer.page_size, self.stream.end - at))
        sizes = self._file.source.read(at, 8)
        order: Literal["big", "little"] = "big" if self._file.big_endian else "little"
        packed, size = int.from_bytes(sizes[:4], order), int.from_bytes(sizes[4:], order)
        data = self._file.source.read(at, 8 + packed)
        chunk = np.array([[8, len(data) - 8, size]])
        return Window(at, size, memoryview(data), chunk, (at + 8, size))

    def restrict(self, start: int, end: int) -> Narrowed:
        """Restrict the stream to what is needed."""
        if not len(self):
            return _NOTHING
        try:
            # Start with the page before the first one that begins at the time, less the lead.
            first = max(bisect_left(self, start) - 1, 0)
            last = max(bisect_right(self, end), first + 1)
        except TraceError:
            return _NOTHING
        lead = self.places[first] - _LEAD
        if self.stream.buffer.compressed:
            first = max(first - 1, 0)
        else:
            first = max(bisect_left(self.places, lead), 0)
        if first == 0 and last == len(self):
            return _NOTHING
        at = self.places[first]
        until = self.places[last] if last < len(self) else self.stream.end
        chunks = last - first if self.stream.buffer.compressed else None
        self.stream.restrict(at, until, chunks)
        return Narrowed(leaves_out=True, goes_on=last < len(self))
