"""Decodes files into columns, merges streams by time, and cuts batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceWarning, too_many_holes
from converter.formats.lttng_legacy.reading.classes import Classes, Records
from converter.formats.lttng_legacy.reading.markers import ThreadIndex
from converter.formats.lttng_legacy.reading.scan import DONE, NEEDS_DATA, Scanner
from converter.formats.lttng_legacy.recording import ChannelFile, Recording
from converter.ir.columns import Column
from converter.ir.events import Batch, Table
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.kernels.batches.gather import Segments
from converter.limits import allowed, limit
from converter.storage.window_memory import WindowMemory
from converter.streaming.stream_merge import EventWindow, MergedEvents, StreamMerge, WindowColumns

#: The memory for all files together, and the limits of each file's share.
_MEMORY = 32 << 20
_SMALLEST_WINDOW = 1 << 14
_LARGEST_WINDOW = 1 << 20
#: Bytes of a window per event in its columns; a window with more events takes another pass.
_BYTES_AN_EVENT = 8


#: The events of a range of a file.
Window = EventWindow[NDArray[np.uint8]]


class StreamReader:
    """One file, window by window."""

    def __init__(
        self,
        recording: Recording,
        file: ChannelFile,
        classes: Classes,
        threads: ThreadIndex | None,
        window: int,
    ) -> None:
        self._recording = recording
        self.file = file
        self._size = recording.size(file.path)
        self._window = min(window, max(self._size, 1))
        self._memory = WindowMemory()
        self.scanner = Scanner(
            classes.tables[file.marker_channel], threads, *classes.geometry(file), limit("holes")
        )
        self._data: NDArray[np.uint8] = np.zeros(0, np.uint8)
        self._base = 0
        self._done = False
        #: The offset of an event that is too large, -1 for none.
        self._gave_up = -1

    def next(self, done: Window | None) -> Window | None:
        """Return the next events, None after the last. The columns of `done` are reused."""
        events = done or Window(self._window // _BYTES_AN_EVENT + 16)
        while not self._done:
            if self._base + len(self._data) <= self.scanner.position:
                self._load()
                continue
            events.segment = self._data
            events.count, status = self.scanner.scan(
                self._data,
                self._base,
                self._size,
                events.ts,
                events.class_id,
                events.thread,
                events.start,
                events.size,
            )
            if status == NEEDS_DATA:
                self._load()
            elif status == DONE:
                self._done = True
            if events.count:
                return events
        return None

    def _load(self) -> None:
        """Load the window at the scanner's position, larger if one event does not fit it."""
        at = self.scanner.position
        if at >= self._size:
            self._done = True
            return
        size = self._window
        if at == self._base and len(self._data) >= size:
            size = min(4 * len(self._data), limit("lttng_legacy.event"))
            if len(self._data) >= limit("lttng_legacy.event"):
                self._done = True
                self._gave_up = at
                return
        # Not the previous buffer: batches keep what they were read from.
        data = self._memory.take(min(size, self._size - at))
        filled = self._recording.read_into(self.file.path, at, data.data)
        if filled < len(data):
            # The file has become shorter while it was read.
            self._size = at + filled
        self._data, self._base = data[:filled], at

    @property
    def bytes_read(self) -> int:
        """The number of bytes of the file that have been read."""
        return min(self.scanner.position, self._size)

    @property
    def faults(self) -> int:
        """The number of invalid blocks and records so far."""
        scanner = self.scanner
        return scanner.damaged + scanner.mismatches + scanner.undeclared

    def damage(self, path: str) -> Iterator[TraceWarning]:
        """Yield the damage of the file; complete when the file has been read."""
        scanner = self.scanner
        name = f"{path}/{self.file.path}"
        for offset, found, ts in scanner.holes:
            yield TraceWarning(
                message=f"a damaged block: events after tick {ts:,} are lost up to {found:#x}",
                format="lttng_legacy",
                path=name,
                offset=offset,
                is_damage=True,
            )
        if scanner.given_up >= 0:
            error = too_many_holes(scanner.given_up)
            yield error.within(format="lttng_legacy", path=name).to_warning()
        if scanner.damaged > scanner.resumed:
            what = "the file ends within a block" if scanner.truncated else None
            count = scanner.damaged - scanner.resumed
            what = what if scanner.damaged == 1 and what else f"{count:,} damaged blocks"
            yield TraceWarning(
                message=f"{what}: read up to the damage",
                format="lttng_legacy",
                path=name,
                offset=scanner.first_damage,
                is_damage=True,
            )
        if scanner.mismatches:
            yield TraceWarning(
                message=f"{scanner.mismatches:,} events are not of the size of their marker's format",
                format="lttng_legacy",
                path=name,
                offset=scanner.first_mismatch,
                is_damage=True,
            )
        if scanner.unclosed:
            yield TraceWarning(
                message=f"{scanner.unclosed:,} blocks that the tracer never closed",
                format="lttng_legacy",
                path=name,
                is_damage=True,
            )
        if self._gave_up >= 0:
            yield TraceWarning(
                message="too large an event",
                expected=allowed("lttng_legacy.event"),
                format="lttng_legacy",
                path=name,
                offset=self._gave_up,
                is_damage=True,
            )


class Decoder(StreamMerge[Window, NDArray[np.uint8]]):
    """One pass over some files of a trace."""

    def __init__(
        self,
        trace: Trace,
        recording: Recording,
        classes: Classes,
        files: Sequence[ChannelFile],
        threads: ThreadIndex | None,
    ) -> None:
        super().__init__([file.cpu for file in files], trace=trace)
        window = _MEMORY // max(len(files), 1)
        window = min(max(window, _SMALLEST_WINDOW), _LARGEST_WINDOW)
        self._trace = trace
        self._classes = classes
        self.readers = [StreamReader(recording, file, classes, threads, window) for file in files]

    def batches(self) -> Iterator[Batch]:
        """Yield the events, merged by time."""
        while (merged := self.next()) is not None:
            segments = Segments(merged.segments)
            tables: dict[int, Table] = {}
            for id in merged.class_ids:
                records = Records(
                    int(merged.locations.counts[id]),
                    merged.locations.of_class(id),
                    segments,
                    merged.segments,
                    self._trace.strings,
                )
                tables[id] = self._table(id, records, merged)
            yield merged.batch(tables)

    def bytes_read(self) -> int:
        """The number of bytes that have been read."""
        return sum(reader.bytes_read for reader in self.readers)

    def next_window(self, stream: int, done: Window | None) -> Window | None:
        return self.readers[stream].next(done)

    def columns(self, window: Window) -> WindowColumns:
        return window.columns

    def segment(self, window: Window) -> NDArray[np.uint8]:
        return window.segment

    def class_count(self) -> int:
        return len(self._classes.sources)

    def _table(self, id: int, records: Records, merged: MergedEvents[NDArray[np.uint8]]) -> Table:
        source = self._classes.sources[id]
        event_class = self._trace.event_classes[id]

        def column(index: int) -> Callable[[], Column]:
            return lambda: source.column(index, records)

        columns: list[Column | Callable[[], Column]] = [
            column(index) for index in range(len(event_class.fields))
        ]
        if event_class.kind is Kind.NATIVE:
            # The scanner returns the IDs in place of threads, of which it has none.
            places = np.flatnonzero(merged.class_id == id)
            columns[0] = merged.thread[places].astype(np.uint16)
            merged.thread[places] = -1
        return Table(records.count, columns)


def damage_of(decoder: Decoder, path: str) -> list[TraceWarning]:
    """Return all damage of the files of a pass."""
    return [warning for reader in decoder.readers for warning in reader.damage(path)]
