"""The second pass: windows of streams are decoded into columns, and the streams of several CPUs are merged by time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.aix.entries.encoding import Decoded, Nodes
from converter.formats.aix.entries.scan import WIDE, Forms, Scanner
from converter.formats.aix.entries.streams import WINDOW, Stream
from converter.formats.aix.layout import MIN_ENTRY
from converter.formats.aix.reading.native_classes import Entries, EntryTable, Gather, columns_of
from converter.ir.events import Batch, NativeRecords, Table
from converter.ir.locations import Locations
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import OutputArrays
from converter.kernels.batches.gather import Segments
from converter.streaming.stream_merge import MergedEvents, StreamMerge, WindowColumns

#: Entries of a window that are decoded at a time; windows of small entries take several rounds.
_ROOM: Final = 1 << 17
#: The format name of native records in batches from several streams.
MERGED: Final = "aix of several CPUs"
#: The most bytes of an entry that templates do not see: half a hook word, padding, thread ID and timestamp.
_MOST_BESIDE: Final = 32


@dataclass(frozen=True, slots=True)
class Decoding:
    """Everything that turns windows into batches, as the prescan has determined it.

    `class_of_form`, `class_of_own` and `thread_of_task` (int32) are indexed by the numbers of `forms` and of
    declarations, `nodes` has those of declared classes, and `gathers` the column readers of a kernel's hooks by class
    ID.
    """

    trace: Trace
    streams: list[Stream]
    own: bool
    forms: Forms
    class_of_form: NDArray[np.int32]
    class_of_own: NDArray[np.int32]
    thread_of_task: NDArray[np.int32]
    nodes: list[Nodes]
    gathers: dict[int, Sequence[Gather]]
    warn: Callable[[TraceError], None]


class Window:
    """The events of a window, in stream order; only the first `count` entries of each column are valid."""

    def __init__(self, capacity: int, classes: int) -> None:
        self.count = 0
        self.data = memoryview(b"")
        self.side = b""
        self.ts, self.start, self.size, self.location = (
            np.empty(capacity, np.int64) for _ in range(4)
        )
        self.class_id, self.row, self.thread, self.cpu, self.track = (
            np.empty(capacity, np.int32) for _ in range(5)
        )
        self.shown = np.empty(capacity, np.uint32)
        self.counts = np.zeros(classes, np.int32)


class _Pass:
    """A pass over one stream."""

    def __init__(self, decoding: Decoding, stream: Stream) -> None:
        self._decoding = decoding
        self._stream = stream
        self._scanner = Scanner(decoding.forms, bits=stream.bits, own=decoding.own)
        self._window: Window | None = None
        self.offset = 0

    def windows(self) -> Iterator[Window]:
        """Yield the windows that have events; bytes after the last event belong to the last window."""
        capacity = self._decoding.trace.bytes_of_a_window(WINDOW)
        try:
            decoding = self._decoding
            windows = self._stream.windows(
                self._scan, decoding.warn, own=decoding.own, capacity=capacity
            )
            for data, offset in windows:
                window = self._window
                assert window is not None
                window.data = data
                self.offset = offset + len(data)
                # Entries that are not events belong to the byte range all the same.
                if len(data):
                    yield window
        except TraceError as error:
            self._decoding.warn(error)
        if self._scanner.holes:
            self._decoding.warn(
                TraceError(
                    f"zeros where entries should be, in {self._scanner.holes:,} places",
                    path=self._stream.source.name,
                    offset=self._scanner.first_hole,
                )
            )
        if self._scanner.undeclared:
            self._decoding.warn(
                TraceError(
                    f"{self._scanner.undeclared:,} entries of hooks that the stream does not declare, left out",
                    path=self._stream.source.name,
                )
            )

    def _scan(self, data: memoryview, offset: int) -> tuple[int, int, int]:
        decoding, scanner = self._decoding, self._scanner
        scanner.offset = offset
        capacity = min(len(data) // MIN_ENTRY[self._stream.bits] + 1, _ROOM)
        window = self._window = Window(capacity, len(decoding.trace.event_classes))
        status, window.count = scanner.scan(
            data,
            decoding.class_of_form,
            decoding.class_of_own,
            decoding.thread_of_task,
            (len(decoding.trace.threads), len(decoding.trace.tracks), self._stream.cpu),
            OutputArrays(
                window,
                start=window.start,
                size=window.size,
                location=window.location,
                shown=window.shown,
            ),
            window.counts,
        )
        window.side = scanner.take_side()
        return status, scanner.consumed, scanner.needed


def batches(decoding: Decoding) -> Iterator[tuple[Batch, int]]:
    """Yield batches in stream order, each with the number of bytes that are done."""
    if len(decoding.streams) == 1:
        stream = decoding.streams[0]
        head = stream.source.read(0, stream.start)
        one = _Pass(decoding, stream)
        for window in one.windows():
            yield _batch(decoding, window, head), one.offset
            head = b""
        if head:
            # No entry at all: there is only the magic number to copy.
            yield _batch(decoding, Window(0, len(decoding.trace.event_classes)), head), len(head)
        return
    merge = _EntryMerge(decoding)
    while (batch := merge.batch()) is not None:
        yield batch, merge.done


def _batch(decoding: Decoding, window: Window, head: bytes) -> Batch:
    """Return the batch of a window of the only stream, with the bytes that it was read from."""
    count = window.count
    places = Locations(
        window.class_id[:count],
        window.row[:count],
        window.location[:count],
        window.shown[:count],
        window.counts,
    )
    data, start = window.data, window.start[:count]
    if head:
        # The byte ranges of all batches make up the whole stream.
        data = memoryview(head + bytes(data))
        start = start + len(head)
    return Batch(
        ts=window.ts[:count],
        class_id=window.class_id[:count],
        row=window.row[:count],
        thread=window.thread[:count],
        cpu=window.cpu[:count],
        track=window.track[:count],
        tables=_tables(decoding, places, [window.data, window.side]),
        native=NativeRecords("aix", data, start, window.size[:count]),
    )


class _EntryMerge(StreamMerge[Window, memoryview]):
    """Merges streams of several CPUs; all of their entries are a kernel's."""

    def __init__(self, decoding: Decoding) -> None:
        super().__init__([stream.cpu for stream in decoding.streams], trace=decoding.trace)
        self._decoding = decoding
        self._passes = [_Pass(decoding, stream) for stream in decoding.streams]
        self._windows = [one.windows() for one in self._passes]
        #: By class: the offset in an entry of the part that templates see. Words of the other word size start in the
        #: middle of the hook word, or after hook 00B.
        self._shown_at = np.zeros(len(decoding.trace.event_classes), np.int64)
        for form, id in zip(decoding.forms.found(0), decoding.class_of_form.tolist(), strict=True):
            of_kernel = bool(form & WIDE) == (decoding.streams[0].bits == 64)
            self._shown_at[id] = 0 if of_kernel else 4

    @property
    def done(self) -> int:
        """The number of bytes that have been read."""
        return sum(one.offset for one in self._passes)

    def next_window(self, stream: int, done: Window | None) -> Window | None:
        return next((window for window in self._windows[stream] if window.count), None)

    def columns(self, window: Window) -> WindowColumns:
        start = window.location.astype(np.uint32)
        return WindowColumns(
            window.ts, window.class_id, window.thread, start, window.shown, window.count
        )

    def segment(self, window: Window) -> memoryview:
        return window.data

    def class_count(self) -> int:
        return len(self._decoding.trace.event_classes)

    def batch(self) -> Batch | None:
        """Return the next batch, None after the last."""
        merged = self.next()
        if merged is None:
            return None
        batch = merged.batch(_tables(self._decoding, merged.locations, merged.segments))
        batch.native = self._entries(batch, merged)
        return batch

    def _entries(self, batch: Batch, merged: MergedEvents[memoryview]) -> NativeRecords:
        """Return the windows of all streams concatenated, which are not for replay, and the events' entries in them."""
        ends = np.cumsum([0, *map(len, merged.segments)])

        def starts() -> NDArray[np.int64]:
            result = np.empty(len(batch), np.int64)
            for id in merged.class_ids:
                location, _ = merged.locations.of_class(id)()
                segment, at = location >> 32, location & 0xFFFF_FFFF
                result[batch.positions(id)] = ends[segment] + at - self._shown_at[id]
            return result

        def sizes() -> NDArray[np.int64]:
            result = np.empty(len(batch), np.int64)
            for id in merged.class_ids:
                location, shown = merged.locations.of_class(id)()
                segment, at = location >> 32, location & 0xFFFF_FFFF
                left = ends[segment + 1] - ends[segment] - at + self._shown_at[id]
                size = np.minimum(shown.astype(np.int64) + _MOST_BESIDE, left)
                result[batch.positions(id)] = size
            return result

        return NativeRecords(MERGED, lambda: memoryview(b"".join(merged.segments)), starts, sizes)


def _tables(
    decoding: Decoding, places: Locations, buffers: Sequence[memoryview | bytes]
) -> dict[int, Table]:
    segments = Segments(buffers)
    strings = decoding.trace.strings
    tables: dict[int, Table] = {}
    for id in np.flatnonzero(places.counts).tolist():
        count = int(places.counts[id])
        if id in decoding.gathers:
            entries = Entries(count, places.of_class(id), segments, strings)
            tables[id] = EntryTable(entries, columns_of(decoding.gathers[id], entries))
            continue
        nodes = decoding.nodes[id]
        decoded = Decoded(nodes, buffers, places.of_class(id), strings, _damage(decoding))
        tables[id] = Table(count, [decoded.column(i) for i in range(nodes.count)])
    return tables


def _damage(decoding: Decoding) -> Callable[[int], None]:
    def damage(_: int) -> None:
        decoding.warn(TraceError("data of events contradict their declarations"))

    return damage
