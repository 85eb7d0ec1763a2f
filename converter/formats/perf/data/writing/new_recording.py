"""Writes a perf.data file of a trace that came from another format.

The header is written last: attributes follow the data, as only then all event classes are known. They are in the last
feature, after which Perfetto's importer expects the end of the file.
"""

from __future__ import annotations

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.ftrace.kernel_events import KernelEvents
from converter.formats.ftrace.metadata_sections import metadata_sections
from converter.formats.ftrace.task_numbers import LAST_NUMBER, TaskNumbers
from converter.formats.perf.data import MAGIC_2
from converter.formats.perf.data.layout import (
    FEATURE_BITS,
    FILE_HEADER_SIZE,
    AttributeFlag,
    EventType,
    Feature,
    SampleType,
)
from converter.formats.perf.data.side_table import (
    OWN_FEATURE,
    Chunk,
    SampleEvent,
    chunk,
    print_frames,
    print_tables,
)
from converter.formats.perf.data.writing.emit import EventColumns, RecordEmitter
from converter.formats.perf.data.writing.features import (
    CLOCK_IDS,
    event_descriptions,
    host_features,
    symbols_feature,
)
from converter.formats.perf.data.writing.frame_addresses import FILE_SIZE, FrameAddresses
from converter.formats.perf.data.writing.records import Records
from converter.formats.perf.event_names import HARDWARE_EVENTS, SOFTWARE_EVENTS
from converter.formats.profiles.samples import unit_of, weight_index
from converter.ir.columns import ListColumn
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import EventArrays
from converter.storage.sink import Sink

_PAGE_SIZE: Final = 4096
#: The head of TRACING_DATA: that of trace.dat, its version, little-endian, and the size of a long.
_TRACING_HEAD: Final = b"\x17\x08\x44tracing0.6\0\x00\x08" + struct.pack("<I", _PAGE_SIZE)
#: The attributes are of version 5, which perf has known since 2016.
_ATTRIBUTE: Final = struct.Struct("<IIQQQQQIIQQQQIiQIHH")
_SECTION: Final = struct.Struct("<QQ")
_SAMPLE_TYPE: Final = (
    SampleType.IDENTIFIER
    | SampleType.IP
    | SampleType.TID
    | SampleType.TIME
    | SampleType.PERIOD
    | SampleType.CALLCHAIN
)
_TRACEPOINT_TYPE: Final = SampleType.IDENTIFIER | SampleType.TID | SampleType.TIME | SampleType.RAW
#: Ids for records that are no samples, with a CPU and without: those of the first events with such samples.
_WITH_CPU: Final = 1
_WITHOUT_CPU: Final = 2
#: What perf calls samples whose event has no name.
_NAMELESS: Final = "samples"
_DUMMY: Final = "dummy"


class _Event:
    """An event of perf: samples of one class, with a CPU or without."""

    def __init__(self, event_class: EventClass | None, number: int, *, has_cpu: bool) -> None:
        self.event_class = event_class
        self.ids = [number]
        self.has_cpu = has_cpu
        #: Of a tracepoint: the number of its format.
        self.format = -1

    @property
    def name(self) -> str:
        if self.event_class is None:
            return _DUMMY
        if self.format >= 0:
            return f"{self.event_class.category}:{self.event_class.name}"
        return self.event_class.name or _NAMELESS

    def attribute(self, clock: int | None, *, is_first: bool) -> bytes:
        """Return its attribute; the first one says which other records there are."""
        kind, config = self._type()
        sample_type = _TRACEPOINT_TYPE if self.format >= 0 else _SAMPLE_TYPE
        if self.has_cpu:
            sample_type |= SampleType.CPU
        flags = {AttributeFlag.SAMPLE_ID_ALL, AttributeFlag.EXCLUDE_GUEST}
        if is_first:
            flags |= {
                AttributeFlag.MMAP,
                AttributeFlag.COMM,
                AttributeFlag.TASK,
                AttributeFlag.MMAP2,
                AttributeFlag.KSYMBOL,
            }
        if clock is not None:
            flags.add(AttributeFlag.USE_CLOCKID)
        bits = sum(1 << flag for flag in flags)
        head = (kind, _ATTRIBUTE.size, config, 1, int(sample_type), 0, bits)
        return _ATTRIBUTE.pack(*head, 0, 0, 0, 0, 0, 0, 0, clock or 0, 0, 0, 0, 0)

    def _type(self) -> tuple[EventType, int]:
        if self.format >= 0:
            return EventType.TRACEPOINT, self.format
        name = _DUMMY if self.event_class is None else self.event_class.name
        if name in HARDWARE_EVENTS:
            return EventType.HARDWARE, HARDWARE_EVENTS.index(name)
        return EventType.SOFTWARE, SOFTWARE_EVENTS.index(name) if name in SOFTWARE_EVENTS else 0


class NewRecording:
    """Writes one trace that was projected to the format's capabilities."""

    def __init__(self, trace: Trace, sink: Sink) -> None:
        self._trace = trace
        self._sink = sink
        self._numbers = TaskNumbers(trace)
        self._kernel = KernelEvents(trace, self._numbers)
        self._frames = FrameAddresses(trace.strings, trace.symbols)
        self._emitter = RecordEmitter(trace.strings)
        self._records = Records(_WITH_CPU)
        #: By class: the event of samples with a CPU, and of those without.
        self._events: dict[tuple[int, bool], _Event] = {}
        self._pids: NDArray[np.int32] = np.full(1, -1, np.int32)
        self._named: dict[tuple[int, int], str] = {}
        self._parents: set[int] = set()
        self._processes_known = 0
        self._first, self._last = -1, -1
        self._cpu_count = 1

    def write(self) -> None:
        """Write the file.

        Raises:
            UnsupportedError: an event is larger than any record.
            TraceError: as `Trace.batches` does.

        """
        self._sink.write(bytes(FILE_HEADER_SIZE))
        self._sink.write(self._records.kernel())
        for batch in self._trace.batches():
            if len(batch):
                self._write_batch(batch)
        self._name_tasks()
        # perf names functions in texts of events by these, too, and our reader those of samples by the kernel's.
        self._frames.note_kernel(self._kernel.addresses)
        self._kernel.addresses |= self._frames.kernel_addresses
        for symbol in self._frames.kernel_symbols():
            self._sink.write(self._records.symbol(symbol))
        self._finish()

    def _write_batch(self, batch: Batch) -> None:
        tables = self._bound(batch)
        self._name_tasks()
        symbols, mapped = self._frames.take_new()
        for symbol in symbols:
            self._sink.write(self._records.symbol(symbol))
        for one in mapped:
            pid = int(self._pid(one.process)) if one.process >= 0 else -1
            self._sink.write(self._records.mapping(pid, one.address, FILE_SIZE, one.name))
        tid = self._numbers.numbers_of(batch.thread)
        given = EventArrays(batch, pid=self._pids_of(batch.thread), tid=tid)
        self._first = int(batch.ts.min()) if self._first < 0 else self._first
        self._first = min(self._first, int(batch.ts.min()))
        self._last = max(self._last, int(batch.ts.max()))
        self._cpu_count = max(self._cpu_count, int(batch.cpu.max()) + 1)
        done = 0
        while done < len(batch):
            try:
                done = self._emitter.emit(given, tables, done)
            except OverflowError as error:
                raise UnsupportedError(str(error), format="perf") from error
            self._sink.write(self._emitter.take(), handover=True)

    def _bound(self, batch: Batch) -> dict[int, EventColumns]:
        """Return the columns of all classes of a batch."""
        classes = self._trace.event_classes
        tables = {number: table for number, table in batch.tables.items() if len(table)}
        others = (Kind.SAMPLE, Kind.DISCARDED)
        tracepoints = {
            number: table for number, table in tables.items() if classes[number].kind not in others
        }
        records = self._kernel.bind(tracepoints)
        bound = {}
        for number, table in tables.items():
            kind = classes[number].kind
            if kind is Kind.DISCARDED:
                columns = EventColumns(_WITH_CPU, _WITHOUT_CPU)
                index = classes[number].index_of(Role.COUNT)
                assert index is not None
                columns.take_counts(np.asarray(table.column(index)), len(table))
                bound[number] = columns
                continue
            ids = self._ids(number, batch.cpu[batch.positions(number)])
            columns = EventColumns(*ids)
            if kind is Kind.SAMPLE:
                self._take_samples(columns, batch, number, table)
            else:
                columns.take_records(records[number])
            bound[number] = columns
        return bound

    def _take_samples(self, columns: EventColumns, batch: Batch, number: int, table: Table) -> None:
        event_class = self._trace.event_classes[number]
        index = event_class.index_of(Role.FRAMES)
        weight = weight_index(event_class)
        assert index is not None and weight is not None
        stacks = table.column(index)
        assert isinstance(stacks, ListColumn)
        thread = batch.thread[batch.positions(number)]
        process = np.array([*[one.process for one in self._trace.threads], -1], np.int64)[thread]
        addresses = np.ascontiguousarray(self._frames.of(stacks, process))
        offsets = np.ascontiguousarray(stacks.offsets, np.int64)
        periods = np.asarray(table.column(weight)).astype(np.int64, copy=False)
        columns.take_samples((addresses, offsets), periods, len(table))

    def _ids(self, number: int, cpu: NDArray[np.int32]) -> tuple[int, int]:
        """Return the ids of samples of a class with a CPU and without; 0 where there is none such."""
        ids = []
        for has_cpu, occurs in ((True, (cpu >= 0).any()), (False, (cpu < 0).any())):
            event = self._events.get((number, has_cpu))
            if event is None and occurs:
                id = _WITHOUT_CPU + 1 + len(self._events)
                event = _Event(self._trace.event_classes[number], id, has_cpu=has_cpu)
                if event.event_class is not None and event.event_class.kind is not Kind.SAMPLE:
                    event.format = self._kernel.id_of(event.event_class)
                self._events[number, has_cpu] = event
            ids.append(0 if event is None else event.ids[0])
        return ids[0], ids[1]

    # Processes and threads

    def _pid(self, process: int) -> int:
        pid = self._trace.processes[process].pid
        return pid if 0 <= pid <= LAST_NUMBER else pid & LAST_NUMBER

    def _pids_of(self, thread: NDArray[np.int32]) -> NDArray[np.int32]:
        threads = self._trace.threads
        if len(self._pids) <= len(threads):
            # The last entry is for events without a thread.
            self._pids = np.array([*[self._pid(one.process) for one in threads], -1], np.int32)
        return self._pids[thread]

    def _name_tasks(self) -> None:
        """Write the parents of processes, and the names of threads, as far as these are known and new."""
        records, trace = self._records, self._trace
        parts = []
        for process in trace.processes[self._processes_known :]:
            parent = process.parent_pid
            if parent is not None and 0 <= parent <= LAST_NUMBER and process.pid <= LAST_NUMBER:
                parts.append(records.fork(process.pid, parent))
        self._processes_known = len(trace.processes)
        names = {}
        for number, process in enumerate(trace.processes):
            if process.name:
                names[self._pid(number), self._pid(number)] = process.name
        for tid, thread in zip(self._numbers.all(), trace.threads, strict=True):
            if thread.name:
                names[self._pid(thread.process), tid] = thread.name
        for task, name in names.items():
            if task != (0, 0) and self._named.get(task) != name:
                self._named[task] = name
                parts.append(records.comm(*task, name.encode("utf-8", "surrogateescape")))
        self._sink.write(b"".join(parts))

    # The end of the file

    def _finish(self) -> None:
        sink = self._sink
        end = sink.tell()
        events = self._described()
        features = host_features(self._trace, self._cpu_count)
        if self._kernel.addresses or any(event.format >= 0 for event in events):
            sections = metadata_sections(self._kernel, _PAGE_SIZE)
            features[Feature.TRACING_DATA] = _TRACING_HEAD + b"".join(sections.values())
        if self._first >= 0:
            features[Feature.SAMPLE_TIME] = _SECTION.pack(self._first, self._last)
        symbols = [*self._frames.symbols.values(), *self._frames.kernel_symbols()]
        features |= symbols_feature(sorted(symbols, key=lambda one: one.address))
        clock = CLOCK_IDS.get(self._trace.clock.name)
        attributes = [
            event.attribute(clock, is_first=number == 0) for number, event in enumerate(events)
        ]
        described = [
            (attribute, event.ids, event.name.encode("utf-8", "surrogateescape"))
            for attribute, event in zip(attributes, events, strict=True)
        ]
        features[Feature.EVENT_DESC] = event_descriptions(described)
        features[OWN_FEATURE] = b""
        places = end + _SECTION.size * len(features)
        start = places + sum(map(len, features.values()))
        features[OWN_FEATURE], attributes_at = self._own(events, attributes, start)
        parts = []
        table = []
        for _, data in sorted(features.items()):
            table.append(_SECTION.pack(places, len(data)))
            places += len(data)
            parts.append(data)
        sink.write(b"".join([*table, *parts]))
        bits = sum(1 << feature for feature in features)
        entry = _ATTRIBUTE.size + _SECTION.size
        header = MAGIC_2 + struct.pack("<QQ", FILE_HEADER_SIZE, entry)
        header += _SECTION.pack(attributes_at, entry * len(events))
        header += _SECTION.pack(FILE_HEADER_SIZE, end - FILE_HEADER_SIZE) + _SECTION.pack(0, 0)
        sink.write_at(0, header + bits.to_bytes(FEATURE_BITS // 8, "little"))

    def _described(self) -> list[_Event]:
        """Return all events, those for records that are no samples among them."""
        events = list(self._events.values())
        for id, has_cpu in ((_WITH_CPU, True), (_WITHOUT_CPU, False)):
            event = next((one for one in events if one.has_cpu is has_cpu), None)
            if event is None and has_cpu:
                event = _Event(None, id, has_cpu=True)
                events.append(event)
            elif event is not None:
                event.ids.append(id)
        return events

    def _own(self, events: list[_Event], attributes: list[bytes], start: int) -> tuple[bytes, int]:
        """Return the feature of this converter, which starts at `start`, and where the attributes are."""
        head = len(chunk(Chunk.ATTRIBUTES, b""))
        at = start + head
        ids_at = at + len(attributes) * (_ATTRIBUTE.size + _SECTION.size)
        entries: list[bytes] = []
        ids: list[int] = []
        for attribute, event in zip(attributes, events, strict=True):
            place = _SECTION.pack(ids_at + 8 * len(ids), 8 * len(event.ids))
            entries.append(attribute + place)
            ids += event.ids
        data = b"".join(entries) + struct.pack(f"<{len(ids)}Q", *ids)
        samples = {
            event.ids[0]: SampleEvent(
                event.event_class.name, event.event_class.category, unit_of(event.event_class)
            )
            for event in events
            if event.event_class is not None and event.format < 0
        }
        tables = print_tables(self._trace, self._numbers.all(), samples)
        frames, texts = self._frames.table()
        own = chunk(Chunk.ATTRIBUTES, data) + tables
        return (own + print_frames(frames, texts) if len(frames) else own), at
