"""The second pass: pages become columns, streams are merged by time, batches are cut."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from converter.errors import TraceError
from converter.formats.ftrace.event_format.event_classes import EventClasses
from converter.formats.ftrace.event_format.formats import EventFormats
from converter.formats.ftrace.ring_buffer.pages import Pages, PageStream, Window
from converter.formats.ftrace.ring_buffer.scan import most_records_in, scan_pages
from converter.formats.ftrace.ring_buffer.timestamps import Timestamps
from converter.ir.events import Batch, Table
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import OutputArrays
from converter.kernels.batches.gather import Segments
from converter.kernels.tables.tasks import TaskTable
from converter.storage.pool.workers import Future, TaskGroup, workers
from converter.streaming.stream_merge import EventWindow, StreamMerge, WindowColumns

#: The events of a window of pages.
Events = EventWindow[Pages]
#: Windows that are decoded ahead: of all streams per thread, and of one stream at most.
_AHEAD_FOR_A_THREAD: Final = 2
_AHEAD_OF_A_STREAM: Final = 4


class Decoding(NamedTuple):
    """All that is needed to decode pages into batches, as determined by the prescan."""

    formats: EventFormats
    classes: EventClasses
    class_count: int
    tasks: TaskTable
    timestamps: Timestamps
    long_size: int
    big_endian: bool

    def scan(
        self, stream: PageStream, window: Window, spare: Events | None
    ) -> tuple[Events, list[TraceError]]:
        """Return the events of a window, in `spare` if they fit, and the damage."""
        pages, errors = stream.load(window)
        page_size = stream.buffer.page_size
        # For the pages that exist: the window's size is what damaged chunks claim.
        capacity = most_records_in(len(pages), page_size)
        events = spare if spare is not None and len(spare.ts) >= capacity else Events(capacity)
        timestamps = self.timestamps
        host_time = timestamps.host_time
        raw = host_time is not None
        events.segment = pages
        events.count, damaged, first = scan_pages(
            pages,
            (page_size, self.long_size, self.big_endian),
            (self.classes.of_type, self.classes.missed),
            self.tasks,
            (self.formats.type_offset, self.formats.pid_offset),
            (0, 0, 0) if raw else timestamps.scaling,
            OutputArrays(events, start=events.start, size=events.size),
        )
        if host_time is not None:
            ts = events.ts[: events.count]
            ts[:] = timestamps.scale(host_time.apply(ts, stream.cpu))
        return events, errors + stream.damage(window, damaged, first)


class StreamReader:
    """The windows of one stream, the next `ahead` of them already being decoded."""

    def __init__(self, decoding: Decoding, stream: PageStream, pool: TaskGroup, ahead: int) -> None:
        self._decoding = decoding
        self._stream = stream
        self._pool = pool
        self._ahead = ahead
        self._windows = stream.windows()
        self._spare: list[Events] = []
        self._pending: deque[Future[tuple[Events, list[TraceError]]] | TraceError] = deque()
        self.errors: list[TraceError] = []
        self._prepare()

    def _prepare(self) -> None:
        while len(self._pending) < self._ahead:
            window = next(self._windows, None)
            if window is None:
                return
            if isinstance(window, TraceError):
                self._pending.append(window)
                continue
            spare = self._spare.pop() if self._spare else None
            work = self._pool.submit(self._decoding.scan, self._stream, window, spare)
            self._pending.append(work)

    def next(self, done: Events | None) -> Events | None:
        """Return the next window's events, None after the last. `done` is reused."""
        while self._pending:
            pending = self._pending.popleft()
            if isinstance(pending, TraceError):
                self.errors.append(pending)
                self._prepare()
                continue
            events, errors = pending.result()
            self.errors += errors
            if done is not None:
                self._spare.append(done)
                done = None
            self._prepare()
            if events.count:
                return events
            self._spare.append(events)
        return None


class ReadyEvents:
    """A stream whose events are all in memory."""

    def __init__(self, events: Events) -> None:
        self._events: Events | None = events
        self.errors: list[TraceError] = []

    def next(self, done: Events | None) -> Events | None:
        """Return the events, then None."""
        events, self._events = self._events, None
        return events


def batches(
    decoding: Decoding,
    streams: Sequence[PageStream],
    ready: Sequence[Events],
    cpus: Sequence[int],
    tracks: Sequence[int],
    report: Callable[[list[TraceError]], None],
    trace: Trace,
) -> Iterator[Batch]:
    """Merge all streams, those of pages before those in memory, and yield batches in stream order.

    `cpus` and `tracks` are those of each stream; damage is passed to `report` before the batch that follows it.
    """
    # Windows to decode when a thread has nothing else to do.
    ahead = _AHEAD_FOR_A_THREAD * workers() // max(len(streams), 1)
    ahead = max(1, min(ahead, _AHEAD_OF_A_STREAM))
    with TaskGroup() as pool:
        readers: list[StreamReader | ReadyEvents] = [
            *(StreamReader(decoding, stream, pool, ahead) for stream in streams),
            *(ReadyEvents(events) for events in ready),
        ]
        merge = _PageMerge(decoding, readers, cpus, tracks, trace)
        while True:
            batch = merge.batch()
            for reader in readers:
                if reader.errors:
                    report(reader.errors)
                    reader.errors = []
            if batch is None:
                return
            yield batch


class _PageMerge(StreamMerge[Events, Pages]):
    """The streams of all buffers and CPUs, merged."""

    def __init__(
        self,
        decoding: Decoding,
        readers: Sequence[StreamReader | ReadyEvents],
        cpus: Sequence[int],
        tracks: Sequence[int],
        trace: Trace,
    ) -> None:
        super().__init__(cpus, tracks, trace=trace)
        self._decoding = decoding
        self._readers = readers

    def next_window(self, stream: int, done: Events | None) -> Events | None:
        return self._readers[stream].next(done)

    def columns(self, window: Events) -> WindowColumns:
        return window.columns

    def segment(self, window: Events) -> Pages:
        return window.segment

    def class_count(self) -> int:
        return self._decoding.class_count

    def batch(self) -> Batch | None:
        """Return the next batch, None after the last."""
        merged = self.next()
        if merged is None:
            return None
        decoding = self._decoding
        segments = Segments(merged.segments)
        tables: dict[int, Table] = {}
        for id in merged.class_ids:
            tables[id] = decoding.classes.table(
                id,
                int(merged.locations.counts[id]),
                merged.locations.of_class(id),
                segments,
                big_endian=decoding.big_endian,
            )
        return merged.batch(tables)
