"""Windows of several streams, merged by time into batches of events. The contents of events stay where
they were read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch, Table
from converter.ir.locations import Locations
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import OutputArrays
from converter.kernels.batches.order import Merge

#: The number of events of a batch. Larger batches allocate more and no longer fit the caches, smaller ones mean more
#: calls.
BATCH_SIZE: Final = 1 << 17

#: The next events of a stream, in the representation of its reader.
Window = TypeVar("Window")
#: The memory that the contents of a window's events are in.
Segment = TypeVar("Segment")


class WindowColumns(NamedTuple):
    """The events of a window, in the order of their stream: the first `filled` entries of each column.

    `ts` is int64, `class_id` and `thread` are int32; `start` and `size` (uint32) locate the contents in the
    segment.
    """

    ts: NDArray[np.int64]
    class_id: NDArray[np.int32]
    thread: NDArray[np.int32]
    start: NDArray[np.uint32]
    size: NDArray[np.uint32]
    filled: int


class EventWindow(Generic[Segment]):
    """Reusable columns for the events of a window (`WindowColumns`). Contents are in `segment`."""

    __slots__ = ("class_id", "count", "segment", "size", "start", "thread", "ts")

    segment: Segment

    def __init__(self, room: int) -> None:
        self.count = 0
        self.ts = np.empty(room, np.int64)
        self.class_id = np.empty(room, np.int32)
        self.thread = np.empty(room, np.int32)
        self.start = np.empty(room, np.uint32)
        self.size = np.empty(room, np.uint32)

    @property
    def columns(self) -> WindowColumns:
        """The events; there are `count` of them."""
        return WindowColumns(self.ts, self.class_id, self.thread, self.start, self.size, self.count)


@dataclass(slots=True)
class MergedEvents(Generic[Segment]):
    """The events of a batch, in stream order. Columns are int32, except `ts` (int64), with an entry for each event.

    `locations` point into `segments`: the segment's number in the upper 32 bits, the offset in it in the lower
    ones.
    """

    ts: NDArray[np.int64]
    class_id: NDArray[np.int32]
    row: NDArray[np.int32]
    thread: NDArray[np.int32]
    cpu: NDArray[np.int32]
    #: None if no stream has a track.
    track: NDArray[np.int32] | None
    locations: Locations
    segments: list[Segment]

    @property
    def class_ids(self) -> list[int]:
        """The classes that have events, in ascending order."""
        return [int(id) for id in np.flatnonzero(self.locations.counts)]

    def batch(
        self,
        tables: dict[int, Table],
        places: tuple[NDArray[np.int32], NDArray[np.int32] | None] | None = None,
    ) -> Batch:
        """Return the batch with these tables; `places` are threads and tracks that replace those of the merge."""
        thread, track = (self.thread, self.track) if places is None else places
        return Batch(
            ts=self.ts,
            class_id=self.class_id,
            row=self.row,
            tables=tables,
            thread=thread,
            cpu=self.cpu,
            track=track,
        )


class StreamMerge(ABC, Generic[Window, Segment]):
    """Streams merged by time; at equal times the lower stream goes first. Subclasses say how to read windows.

    `cpus` and `tracks` are those of the events of each stream, -1 for none. A batch ends at 131,072 events, or when
    it holds more than `most_bytes`; with `trace`, at the maximum number of events of that trace's batches.
    """

    def __init__(
        self,
        cpus: Sequence[int],
        tracks: Sequence[int] | None = None,
        *,
        most_bytes: int | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.merge: Final = Merge(cpus, [-1] * len(cpus) if tracks is None else tracks)
        self._has_tracks = tracks is not None and any(track >= 0 for track in tracks)
        self._most_bytes = most_bytes
        self._size = BATCH_SIZE if trace is None else trace.events_of_a_batch(BATCH_SIZE)
        self._current: list[Window | None] = [None] * len(cpus)
        self._segments: list[Segment] = []
        self._bytes = 0
        self._started = False

    @abstractmethod
    def next_window(self, stream: int, done: Window | None) -> Window | None:
        """Return the next window of a stream with events, None after the last. `done` is the previous one and may be
        reused.
        """

    @abstractmethod
    def columns(self, window: Window) -> WindowColumns:
        """Return the events of a window; the arrays are kept until the next window of its stream is requested."""

    @abstractmethod
    def segment(self, window: Window) -> Segment:
        """Return the segment that the contents of a window's events are in; it is kept as long as batches need it."""

    @abstractmethod
    def class_count(self) -> int:
        """Return the number of classes known so far."""

    def size_of(self, segment: Segment) -> int:
        """Return the size of a segment in bytes, for batches that are limited by size."""
        return 0

    def next(self) -> MergedEvents[Segment] | None:
        """Return the events of the next batch, None after the last."""
        if not self._started:
            self._started = True
            for stream in range(len(self._current)):
                self._feed(stream)
        ts, location = (np.empty(self._size, np.int64) for _ in range(2))
        class_id, row, thread, cpu = (np.empty(self._size, np.int32) for _ in range(4))
        track = np.empty(self._size if self._has_tracks else 0, np.int32)
        size = np.empty(self._size, np.uint32)
        columns = {"class_id": class_id, "row": row, "thread": thread, "cpu": cpu, "size": size}
        if self._has_tracks:
            columns["track"] = track
        events = OutputArrays(ts=ts, location=location, **columns)
        counts = np.zeros(self.class_count(), np.int32)
        filled = 0
        while True:
            filled, empty = self.merge.fill(events, filled, counts)
            if empty < 0:
                break
            self._feed(empty)
            more = self.class_count() - len(counts)
            if more:
                counts = np.append(counts, np.zeros(more, np.int32))
            if filled and self._most_bytes is not None and self._bytes > self._most_bytes:
                break
        if filled == 0:
            return None
        segments, self._segments, self._bytes = self._segments, [], 0
        for stream, window in enumerate(self._current):
            if window is not None:
                self.merge.renumber(stream, self._hold(window))
        return MergedEvents(
            ts[:filled],
            class_id[:filled],
            row[:filled],
            thread[:filled],
            cpu[:filled],
            track[:filled] if self._has_tracks else None,
            Locations(class_id[:filled], row[:filled], location[:filled], size[:filled], counts),
            segments,
        )

    def _feed(self, stream: int) -> None:
        window = self._current[stream] = self.next_window(stream, self._current[stream])
        if window is not None:
            self.merge.feed(stream, *self.columns(window), self._hold(window))

    def _hold(self, window: Window) -> int:
        """Return the number of the window's segment in the batch, adding it if needed."""
        segment = self.segment(window)
        self._segments.append(segment)
        self._bytes += self.size_of(segment)
        return len(self._segments) - 1
