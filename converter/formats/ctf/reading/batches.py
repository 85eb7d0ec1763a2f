"""Turns streams into batches: windows are scanned ahead and merged by time; columns are decoded on demand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ctf.mapping import DISCARDED, DISCARDED_PACKETS
from converter.formats.ctf.reading.packets import MAX_CPU, check, scan_events
from converter.formats.ctf.reading.tables import RecordColumns, RecordWindows, lost_table
from converter.formats.ctf.reading.windows import FIRST_NUMBER, LOST_EVENTS, Events, Records
from converter.formats.ctf.streams.program import Decoder
from converter.formats.ctf.streams.stream_files import StreamFile, StreamState
from converter.formats.ctf.streams.stream_types import RecordType
from converter.formats.ctf.streams.tasks import Tasks
from converter.ir.events import Batch, EventClass, Table
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up, mark
from converter.storage.pool.ahead import Ahead, is_in_order
from converter.storage.pool.workers import TaskGroup
from converter.streaming.stream_merge import StreamMerge, WindowColumns

#: Bytes of windows that a batch may hold.
_BATCH_BYTES: Final = 1 << 26

#: Windows of all streams together that are scanned ahead.
_PREFETCHED_WINDOWS: Final = 16
_NO_WINDOW: Final = np.zeros(0, np.uint8)


class Classes:
    """The event classes of the trace that have occurred, and the decoder of each."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._ids: dict[tuple[object, ...], int] = {}
        # Comparing keys is slow: types that were seen before, by their identity, with their classes.
        self._seen: dict[int, tuple[RecordType, int]] = {}
        self._decoders: dict[int, Decoder] = {}
        self._packet_registers: dict[int, int] = {}
        #: By class, the field with the CPU of each of its events.
        self.cpu_fields: dict[int, int] = {}
        self.lost: dict[int, int] = {}
        #: Classes whose columns have been requested: those of the next batch are decoded ahead.
        self.wanted: set[int] = set()

    def id_of(self, record: RecordType) -> int:
        """Return the class of records of this type, declaring it if it is new."""
        seen = self._seen.get(id(record))
        if seen is not None:
            return seen[1]
        number = self._ids.get(record.key)
        if number is None:
            number = self._ids[record.key] = self._trace.add_class(record.event_class)
            if record.of_program:
                self._trace.of_programs.add(record.event_class)
            self._decoders[number] = record.decoder
            self._packet_registers[number] = record.packet_registers
            if record.cpu_field is not None:
                self.cpu_fields[number] = record.cpu_field
        self._seen[id(record)] = record, number
        return number

    def id_of_lost(self, number: int) -> int:
        """Return the class of lost events or packets, declaring it if it is new."""
        if number not in self.lost:
            declared = DISCARDED if number == LOST_EVENTS else DISCARDED_PACKETS
            self.lost[number] = self._trace.add_class(declared)
        return self.lost[number]

    def declared(self, id: int) -> EventClass:
        """Return an event class."""
        return self._trace.event_classes[id]

    def decoder(self, id: int) -> tuple[Decoder, int]:
        """Return the decoder of a class's records, and the number of registers that their packets set."""
        return self._decoders[id], self._packet_registers[id]


@dataclass(slots=True)
class DataStream:
    """A data stream: its files in order, and the conversion of its clock's values to times."""

    files: list[StreamFile]
    times: list[tuple[int, int, int]]
    errors: list[TraceError] = field(default_factory=list)
    #: Columns of windows whose events have been merged.
    spare: list[Events] = field(default_factory=list)

    def scan(self) -> Iterator[Events]:
        """Yield the events of each window."""
        state = StreamState()
        for file, time in zip(self.files, self.times, strict=True):
            for events in scan_events(file, state, time, self.spare):
                self._collect(file)
                yield events
            self._collect(file)

    def check(self) -> None:
        """Go from packet to packet; damage is added to the errors."""
        state = StreamState()
        for file, time in zip(self.files, self.times, strict=True):
            check(file, state, time)
            self._collect(file)

    def take_errors(self) -> list[TraceError]:
        """Return and clear the damage found so far."""
        errors, self.errors = self.errors, []
        return errors

    def _collect(self, file: StreamFile) -> None:
        self.errors += file.errors
        file.errors = []


class _StreamReader:
    """The windows of one stream; the next ones are scanned ahead."""

    def __init__(self, stream: DataStream, pool: TaskGroup, ahead: int) -> None:
        self._stream = stream
        self._windows = stream.scan()
        self._scanned = Ahead(self._scan, pool, ahead)
        self._errors: deque[TraceError] = deque()

    def _scan(self) -> Events | None:
        events = next(self._windows, None)
        self._errors += self._stream.take_errors()
        return events

    def next(self, done: Events | None) -> Events | None:
        """Return the next window's events, None after the last. `done` is reused."""
        if done is not None:
            done.begin_window(_NO_WINDOW)
            self._stream.spare.append(done)
        return self._scanned.next()

    def take_errors(self) -> list[TraceError]:
        """Return and clear the damage in the windows scanned so far."""
        return [self._errors.popleft() for _ in range(len(self._errors))]


def batches(
    trace: Trace,
    streams: Sequence[DataStream],
    classes: Classes,
    tasks: Tasks,
    report: Callable[[list[TraceError]], None],
) -> Iterator[Batch]:
    """Merge the streams by time and yield batches; damage goes to `report` before the next batch."""
    with TaskGroup() as pool:
        ahead = max(1, _PREFETCHED_WINDOWS // max(1, len(streams)))
        readers = [_StreamReader(stream, pool, ahead) for stream in streams]
        merge = _PacketMerge(trace, readers, classes, tasks, pool)
        while True:
            batch = merge.batch()
            for reader in readers:
                if errors := reader.take_errors():
                    report(errors)
            if batch is None:
                return
            yield batch


class _PacketMerge(StreamMerge[Events, Records]):
    """Merges the data streams of all traces. Merging's threads are placements here: pairs of thread and track."""

    def __init__(
        self,
        trace: Trace,
        readers: Sequence[_StreamReader],
        classes: Classes,
        tasks: Tasks,
        pool: TaskGroup,
    ) -> None:
        super().__init__([-1] * len(readers), most_bytes=_BATCH_BYTES, trace=trace)
        self._pool = pool
        self._trace = trace
        self._readers = readers
        self._classes = classes
        self._tasks = tasks

    def next_window(self, stream: int, done: Events | None) -> Events | None:
        events = self._readers[stream].next(done)
        if events is not None:
            self.merge.move(stream, events.cpu)
        return events

    def columns(self, window: Events) -> WindowColumns:
        class_id = self._class_ids(window)
        place = self._placements(window, class_id)
        return WindowColumns(window.ts, class_id, place, window.start, window.size, window.count)

    def segment(self, window: Events) -> Records:
        return Records(window.window, window.packet_registers, window.packets)

    def class_count(self) -> int:
        return len(self._trace.event_classes)

    def size_of(self, segment: Records) -> int:
        return len(segment.window)

    def _class_ids(self, events: Events) -> NDArray[np.int32]:
        """Return the trace's classes for the scanner's numbers."""
        numbers = events.class_id[: events.count] - np.int32(FIRST_NUMBER)
        occurs = np.zeros(len(events.types) - FIRST_NUMBER, np.uint8)
        mark(occurs, numbers)
        ids = np.full(len(occurs), -1, np.int32)
        for number in (np.flatnonzero(occurs) + FIRST_NUMBER).tolist():
            ids[number - FIRST_NUMBER] = (
                self._classes.id_of(events.types[number])
                if number >= 0
                else self._classes.id_of_lost(number)
            )
        return looked_up(ids, numbers)

    def _placements(self, events: Events, class_id: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the trace's placements for the scanner's numbers."""
        numbers = events.place[: events.count]
        entries = events.places
        packets = events.packet_fields
        if packets is not None and packets.names_threads:
            # Records that name no thread are on that of their packet.
            starts = np.array([head.start for head in events.packets], np.int64)
            heads = [head.data for head in events.packets]
            of_packets = self._tasks.of_packets(packets.threads(heads, self._trace.strings))
            packet = np.searchsorted(starts, events.begin[: events.count], "right") - 1
            without = (numbers < 0) & (events.class_id[: events.count] >= 0)
            numbers = np.where(without, packet + len(entries), numbers).astype(np.int32)
            entries = [*entries, *of_packets]
        if not entries:
            return numbers
        places, renamed = self._tasks.placements(entries)
        if renamed.any():
            here = np.flatnonzero(looked_up(renamed.astype(np.int32), numbers))
            if len(here):
                self._switch_to_named(events, class_id, here)
        return looked_up(places, numbers)

    def _switch_to_named(
        self, events: Events, class_id: NDArray[np.int32], here: NDArray[np.intp]
    ) -> None:
        """Switch these events to the class with the name of their thread at this point."""
        begin, start, size = events.begin, events.start, events.size
        of_types = events.class_id[here]
        types, first = np.unique(of_types, return_index=True)
        # Declare classes in the order of their events.
        for number in types[np.argsort(first)].tolist():
            named = events.types[number].named
            if named is not None:
                of_type = here[of_types == number]
                class_id[of_type] = self._classes.id_of(named())
                size[of_type] += start[of_type] - begin[of_type]
                start[of_type] = begin[of_type]

    def batch(self) -> Batch | None:
        """Return the next batch, None after the last."""
        merged = self.next()
        if merged is None:
            return None
        records = RecordWindows(merged.segments, self._trace.strings)
        tables: dict[int, Table] = {}
        lost = {id: number for number, id in self._classes.lost.items()}
        for id in merged.class_ids:
            locate = merged.locations.of_class(id)
            count = int(merged.locations.counts[id])
            if id in lost:
                tables[id] = lost_table(lost[id], count, locate)
            else:
                decoder, registers = self._classes.decoder(id)
                columns = RecordColumns(records, decoder, registers, count, locate)
                if id in self._classes.wanted and not is_in_order():
                    columns.decode_ahead(self._pool)
                tables[id] = columns.table(partial(self._classes.wanted.add, id))
        batch = merged.batch(tables, self._tasks.threads_and_tracks(merged.thread))
        self._set_cpus(batch)
        self._tasks.assign_threads(batch)
        return batch

    def _set_cpus(self, batch: Batch) -> None:
        """Put events that name their CPU there."""
        for id, index in self._classes.cpu_fields.items():
            if id in batch.tables:
                column = batch.tables[id].column(index)
                assert isinstance(column, np.ndarray)
                known = (column >= 0) & (column <= MAX_CPU)
                batch.cpu[batch.positions(id)] = np.where(known, column, -1)
