"""From streams to batches: windows scanned ahead by other threads, merged by time, their columns decoded on demand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ctf.mapping import DISCARDED, DISCARDED_PACKETS
from converter.formats.ctf.packets import StreamFile, StreamState
from converter.formats.ctf.program import Decoder
from converter.formats.ctf.stream_types import RecordType
from converter.formats.ctf.tables import RecordColumns, Records, lost_table
from converter.formats.ctf.tasks import Tasks
from converter.formats.ctf.windows import FIRST_NUMBER, LOST_EVENTS, Events
from converter.ir.events import Batch, EventClass, Table
from converter.ir.locations import Locations
from converter.ir.trace import Trace
from converter.kernels.order import Merge

BATCH_SIZE: Final = 1 << 17

#: Bytes of windows that a batch may hold.
_BATCH_BYTES: Final = 1 << 26

#: Windows of all streams together that are scanned ahead.
_AHEAD: Final = 16

_WORKERS: Final = 2


class Classes:
    """The event classes of the trace that have occurred, and how the records of each are decoded."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._ids: dict[tuple[object, ...], int] = {}
        self._decoders: dict[int, Decoder] = {}
        self._packet_registers: dict[int, int] = {}
        self.lost: dict[int, int] = {}
        #: Classes whose columns have been asked for: those of the next batch are decoded ahead.
        self.wanted: set[int] = set()

    def id_of(self, record: RecordType) -> int:
        """The class of records of this type, declared when new."""
        id = self._ids.get(record.key)
        if id is None:
            id = self._ids[record.key] = self._trace.add_class(record.event_class)
            self._decoders[id] = record.decoder
            self._packet_registers[id] = record.packet_registers
        return id

    def id_of_lost(self, number: int) -> int:
        """The class of lost events or packets, declared when new."""
        if number not in self.lost:
            declared = DISCARDED if number == LOST_EVENTS else DISCARDED_PACKETS
            self.lost[number] = self._trace.add_class(declared)
        return self.lost[number]

    def declared(self, id: int) -> EventClass:
        """An event class."""
        return self._trace.event_classes[id]

    def decoder(self, id: int) -> tuple[Decoder, int]:
        """How the records of a class are decoded, and how many registers their packets set."""
        return self._decoders[id], self._packet_registers[id]


@dataclass(slots=True)
class DataStream:
    """A data stream: its files in order, and how its clock's values become times."""

    files: list[StreamFile]
    times: list[tuple[int, int, int]]
    errors: list[TraceError] = field(default_factory=list)

    def scan(self) -> Iterator[Events]:
        """The events of each window."""
        state = StreamState()
        for file, time in zip(self.files, self.times, strict=True):
            for events in file.scan(state, time):
                self._collect(file)
                yield events
            self._collect(file)

    def _collect(self, file: StreamFile) -> None:
        self.errors += file.errors
        file.errors = []


class _StreamReader:
    """The windows of one stream, the next ones already being scanned by other threads."""

    def __init__(self, stream: DataStream, pool: ThreadPoolExecutor, ahead: int) -> None:
        self._stream = stream
        self._pool = pool
        self._windows = stream.scan()
        self._lock = Lock()
        # Windows in order, whichever of the pending tasks have scanned them.
        self._ready: deque[Events | None] = deque()
        self._pending: deque[Future[None]] = deque()
        self._ended = False
        self.errors: list[TraceError] = []
        for _ in range(ahead):
            self._prepare()

    def _prepare(self) -> None:
        self._pending.append(self._pool.submit(self._scan))

    def _scan(self) -> None:
        with self._lock:
            events = next(self._windows, None)
            errors, self._stream.errors = self._stream.errors, []
            self.errors += errors
            self._ready.append(events)

    def next(self) -> Events | None:
        """The next window's events, None after the last."""
        if self._ended:
            return None
        self._pending.popleft().result()
        events = self._ready.popleft()
        if events is None:
            self._ended = True
        else:
            self._prepare()
        return events

    def take_errors(self) -> list[TraceError]:
        """What was damaged in the windows scanned so far."""
        with self._lock:
            errors, self.errors = self.errors, []
        return errors


def batches(
    trace: Trace,
    streams: Sequence[DataStream],
    classes: Classes,
    tasks: Tasks,
    report: Callable[[list[TraceError]], None],
) -> Iterator[Batch]:
    """Merge the streams by time and yield batches; damage goes to `report` before the batch after it."""
    with ThreadPoolExecutor(_WORKERS) as pool:
        try:
            ahead = max(1, _AHEAD // max(1, len(streams)))
            readers = [_StreamReader(stream, pool, ahead) for stream in streams]
            builder = _BatchBuilder(trace, readers, classes, tasks, pool)
            while True:
                batch = builder.next()
                for reader in readers:
                    if errors := reader.take_errors():
                        report(errors)
                if batch is None:
                    return
                yield batch
        finally:
            pool.shutdown(cancel_futures=True)


class _BatchBuilder:
    def __init__(
        self,
        trace: Trace,
        readers: Sequence[_StreamReader],
        classes: Classes,
        tasks: Tasks,
        pool: ThreadPoolExecutor,
    ) -> None:
        self._pool = pool
        self._trace = trace
        self._readers = readers
        self._classes = classes
        self._tasks = tasks
        self._current: list[Events | None] = [None] * len(readers)
        self._windows: list[Events] = []
        self._bytes = 0
        absent = [-1] * len(readers)
        self._merge = Merge(absent, absent)
        for number in range(len(readers)):
            self._feed(number)

    def _feed(self, number: int) -> None:
        events = self._readers[number].next()
        self._current[number] = events
        if events is None:
            return
        class_id = self._class_ids(events)
        place = self._places(events, class_id)
        self._merge.move(number, events.cpu)
        self._merge.feed(
            number,
            events.ts,
            class_id,
            place,
            events.start,
            events.size,
            events.count,
            len(self._windows),
        )
        self._windows.append(events)
        self._bytes += len(events.window)

    def _class_ids(self, events: Events) -> NDArray[np.int32]:
        """The classes of the trace, by the scanner's numbers."""
        numbers = events.class_id[: events.count]
        ids = np.full(len(events.types) - FIRST_NUMBER, -1, np.int32)
        present = np.flatnonzero(np.bincount(numbers - FIRST_NUMBER)) + FIRST_NUMBER
        for number in present.tolist():
            ids[number - FIRST_NUMBER] = (
                self._classes.id_of(events.types[number])
                if number >= 0
                else self._classes.id_of_lost(number)
            )
        return ids[numbers - FIRST_NUMBER]

    def _places(self, events: Events, class_id: NDArray[np.int32]) -> NDArray[np.int32]:
        """The places of the trace, by the scanner's numbers."""
        numbers = events.place[: events.count]
        if not events.places:
            return numbers
        places, renamed = self._tasks.places(events.places)
        if renamed.any():
            # These events carry the name that their thread has here.
            for i in np.flatnonzero(renamed[numbers]).tolist():
                named = events.types[events.class_id[i]].named
                if named is not None:
                    class_id[i] = self._classes.id_of(named())
        return places[numbers]

    def next(self) -> Batch | None:
        """The next batch, None after the last."""
        ts = np.empty(BATCH_SIZE, np.int64)
        class_id, row, place, cpu, track = (np.empty(BATCH_SIZE, np.int32) for _ in range(5))
        location = np.empty(BATCH_SIZE, np.int64)
        size = np.empty(BATCH_SIZE, np.uint32)
        counts = np.zeros(len(self._trace.event_classes), np.int32)
        filled = 0
        while True:
            filled, empty = self._merge.fill(
                ts, class_id, row, place, cpu, track, location, size, filled, counts
            )
            if empty < 0:
                break
            self._feed(empty)
            if len(self._trace.event_classes) > len(counts):
                more = len(self._trace.event_classes) - len(counts)
                counts = np.concatenate([counts, np.zeros(more, np.int32)])
            if filled and self._bytes > _BATCH_BYTES:
                break
        if filled == 0:
            return None
        batch = self._batch(
            ts[:filled],
            class_id[:filled],
            row[:filled],
            place[:filled],
            cpu[:filled],
            location[:filled],
            size[:filled],
            counts,
        )
        self._windows = []
        self._bytes = 0
        for number, events in enumerate(self._current):
            if events is not None:
                self._merge.renumber(number, len(self._windows))
                self._windows.append(events)
                self._bytes += len(events.window)
        return batch

    def _batch(
        self,
        ts: NDArray[np.int64],
        class_id: NDArray[np.int32],
        row: NDArray[np.int32],
        place: NDArray[np.int32],
        cpu: NDArray[np.int32],
        location: NDArray[np.int64],
        size: NDArray[np.uint32],
        counts: NDArray[np.int32],
    ) -> Batch:
        locations = Locations(class_id, row, location, size, counts)
        records = Records(self._windows, self._trace.strings)
        tables: dict[int, Table] = {}
        lost = {id: number for number, id in self._classes.lost.items()}
        for id in np.flatnonzero(counts).tolist():
            locate = locations.of_class(id)
            if id in lost:
                tables[id] = lost_table(lost[id], int(counts[id]), locate)
            else:
                decoder, registers = self._classes.decoder(id)
                columns = RecordColumns(records, decoder, registers, int(counts[id]), locate)
                if id in self._classes.wanted:
                    columns.decode_ahead(self._pool)
                tables[id] = columns.table(partial(self._classes.wanted.add, id))
        thread, track = self._tasks.threads_and_tracks(place)
        batch = Batch(
            ts=ts,
            class_id=class_id,
            row=row,
            tables=tables,
            thread=thread,
            cpu=cpu,
            track=track,
        )
        self._tasks.place(batch)
        return batch
