"""Reads perf.data: a prescan finds classes and tasks, then records become batches in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import RemarkError, TraceError, note
from converter.formats.ftrace.symbols import kernel_symbols
from converter.formats.perf.data.attributes import Attribute
from converter.formats.perf.data.layout import (
    MMAP2_BUILD_ID,
    RECORDS,
    TEXT_FEATURES,
    AttributeFlag,
    EventUpdate,
    Feature,
    RecordType,
    layouts,
)
from converter.formats.perf.data.mapping import CONTEXT_RECORDS, KINDS
from converter.formats.perf.data.reading.address_spaces import AddressSpaces
from converter.formats.perf.data.reading.classes import Classes
from converter.formats.perf.data.reading.frames import Frames, described_by
from converter.formats.perf.data.reading.opening import (
    PerfFile,
    SampledEvent,
    numbers,
    open_recording,
)
from converter.formats.perf.data.reading.own import OwnFrames, events_of, own_tables
from converter.formats.perf.data.reading.records import WINDOW, RecordStream, Rows
from converter.formats.perf.data.reading.rounds import Ordered, in_order
from converter.formats.perf.data.reading.samples import SampledEvents
from converter.formats.perf.data.reading.scan import NATIVE, Scanner, row_numbers
from converter.formats.perf.data.reading.switches import with_switches
from converter.formats.perf.data.reading.symbols import Symboliser, kernel_symbols_of
from converter.formats.perf.data.reading.tasks import Tasks
from converter.formats.perf.data.reading.tracing_data import parse_tracing_data
from converter.formats.perf.fields import CATEGORY
from converter.ir.columns import take
from converter.ir.events import Batch, NativeRecords, Table
from converter.ir.locations import Locations
from converter.ir.semantics import Semantics
from converter.ir.trace import ClockDomain, Trace, known_epoch
from converter.kernels.batches.gather import Segments
from converter.limits import allowed, limit
from converter.storage.source import Source
from converter.streaming.stream_merge import BATCH_SIZE

#: Clocks that `perf record -k` uses, by number; without a number it is the scheduler's.
_CLOCKS: Final = {0: "realtime", 1: "mono", 4: "mono_raw", 7: "boot", 11: "tai"}
_DEFAULT_CLOCK: Final = "perf"
_CONTEXT: Final = np.array(sorted(CONTEXT_RECORDS), np.int32)


def read(source: Source, *, kallsyms: str | None = None, symfs: str | None = None) -> Trace:
    """Open a recording. Its records are read by `Trace.batches`.

    Args:
        source: the recording.
        kallsyms: a file like /proc/kallsyms, of the recorded machine.
        symfs: a folder with the recorded machine's files, for symbols of programs.

    Raises:
        TraceError: it is no recording of perf, or its header is damaged.

    """
    try:
        return _Reader(open_recording(source), kallsyms, symfs).trace
    except TraceError as error:
        raise error.within(format="perf", path=source.name) from error


class _Reader:
    """A recording being read. The prescan runs when batches are first requested; in a pipe, when it is opened."""

    def __init__(self, file: PerfFile, kallsyms: str | None, symfs: str | None) -> None:
        self._file = file
        self._symfs = symfs
        self._events = SampledEvents(big_endian=file.big_endian)
        self._known_events = 0
        sizes = [
            -1 if record is None else record.fixed_size
            for record in (RECORDS.get(kind) for kind in range(64))  # type: ignore[call-overload]
        ]
        self._scanner = Scanner(self._events, np.array(sizes, np.int64), MMAP2_BUILD_ID.fixed_size)
        self._records: list[bytes] = []
        self._tracing = file.features.get(Feature.TRACING_DATA, b"")
        self._classes: Classes | None = None
        self._stream: RecordStream | None = None
        self._passes = 0
        self.trace = Trace(
            "perf",
            semantics=Semantics(kinds=KINDS),
            warnings=file.warnings,
            make_batches=self._batches,
            progress=self._progress,
        )
        self._tasks = Tasks(self.trace, big_endian=file.big_endian)
        self.trace.source_batches = self.trace.make_batches
        self.trace.check = self._check
        self.trace.keep_records = self._keep_records
        self.trace.explain = with_switches
        self._context: list[bytes] | None = None
        self._own = own_tables(file)
        if self._own is not None:
            self._tasks.adopt(self._own.table)
        self.trace.decodes_in_parallel = True
        if kallsyms is not None:
            self.trace.symbols = kernel_symbols_of(kallsyms)
        self._declare()
        if file.pipe:
            self._prescan()
        else:
            self._describe()

    def _progress(self) -> tuple[int, int]:
        start, end = self._file.start, self._file.end
        done = 0 if self._stream is None else self._stream.offset - start
        return done + (end - start) * (self._passes > 1), 2 * (end - start)

    # The header

    def _declare(self) -> None:
        """Tell the scanner of events that it does not know yet."""
        for event in self._file.events[self._known_events :]:
            attribute = event.attribute
            number = self._events.add(
                attribute.sample_type,
                attribute.read_format,
                attribute.branch_sample_type,
                attribute.sample_regs_user,
                attribute.sample_regs_intr,
                attribute.has(AttributeFlag.SAMPLE_ID_ALL),
            )
            for id in event.ids:
                self._events.add_id(id, number)
        self._known_events = len(self._file.events)

    def _describe(self) -> None:
        """Set what of the trace the header says."""
        file, trace = self._file, self.trace
        trace.clock = _clock(file)
        trace.clock_domains = [trace.clock]
        for feature, name in TEXT_FEATURES.items():
            text = file.text(feature)
            if text:
                trace.environment[name] = text
        command = _texts(file, Feature.CMDLINE)
        if command:
            trace.environment["command_line"] = " ".join(command)
        trace.sidecar["perf"] = {
            "version": file.version,
            "big_endian": file.big_endian,
            "pipe": file.pipe,
            "attributes": [event.as_values() for event in file.events],
            "features": [[bit, file.features[bit]] for bit in sorted(file.features)],
            "tracing": self._tracing,
            "event_types": file.event_types,
            "records": b"".join(self._records),
            "source": None if file.parts else file.source,
        }

        if self._context is not None:
            trace.sidecar["perf"]["context"] = self._context
        if self._own is not None:
            # What the header says is made of these.
            trace.environment.clear()
            trace.clock_domains = []
            self._own.table.add_clocks(trace)

    def _keep_records(self) -> None:
        """Keep the records that others need, which a part of the recording is written with."""
        if self._context is None:
            self._context = []
            self.trace.sidecar["perf"]["context"] = self._context

    # The prescan

    def _check(self, _events: bool) -> None:
        self._prepared()

    def _prepared(self) -> Classes:
        if self._classes is None:
            self._prescan()
        assert self._classes is not None
        return self._classes

    def _prescan(self) -> None:
        counts = np.zeros(0, np.int64)
        for rows in self._pass(self._special):
            found = np.bincount(rows.code, minlength=len(counts))
            found[: len(counts)] += counts
            counts = found
            self._tasks.learn(rows)
        self._tasks.extend(self._scanner)
        self._tasks.name()
        trace = self.trace
        recording = parse_tracing_data(
            self._tracing, self._file.warnings, path=self._file.source.name
        )
        if recording is not None and trace.symbols is None:
            trace.symbols = kernel_symbols(recording)
        self._describe()
        self._classes = Classes(trace, self._file, self._events, recording, self._own)
        self._classes.add(counts.nonzero()[0].tolist())

    def _pass(self, special: Callable[[int, bytes, int], None]) -> Iterator[Rows]:
        self._passes += 1
        window = self.trace.bytes_of_a_window(WINDOW)
        self._stream = RecordStream(self._file, self._scanner, window, special)
        if not self._file.parts:
            return self._stream.rows()
        return self._of_directory(self._stream, window, special)

    def _of_directory(
        self, first: RecordStream, window: int, special: Callable[[int, bytes, int], None]
    ) -> Iterator[Rows]:
        """Yield the records of the file of a directory and then of the others: none is complete before the last."""
        others = (RecordStream(one, self._scanner, window, special) for one in self._file.parts)
        for stream in chain([first], others):
            try:
                for rows in stream.rows():
                    rows.complete = -1
                    yield rows
            except TraceError as error:
                if stream is first:
                    raise
                self._file.warn(error)

    def _special(self, kind: int, record: bytes, offset: int) -> None:
        """Take in a record of perf itself."""
        file = self._file
        try:
            if kind == RecordType.HEADER_ATTR:
                self._add_event(record, offset)
            elif kind == RecordType.HEADER_TRACING_DATA:
                self._tracing = record
            elif kind == RecordType.HEADER_FEATURE:
                file.take(len(record), offset, "FEATURE")
                bit = int.from_bytes(record[8:16], "big" if file.big_endian else "little")
                if len(record) >= 16 and bit < 256:
                    file.add_feature(bit, record[16:])
            else:
                file.take(len(record), offset, "records of perf")
                self._records.append(record)
                if kind == RecordType.EVENT_UPDATE:
                    self._update_event(record)
        except TraceError as error:
            file.warn(error)

    def _add_event(self, record: bytes, offset: int) -> None:
        file = self._file
        if len(file.events) >= limit("perf.events"):
            expected = allowed("perf.events")
            raise TraceError(offset=offset, field="ATTR", expected=expected)
        attribute = Attribute.parse(record[8:], offset + 8, big_endian=file.big_endian)
        ids = numbers(record[8 + attribute.size :], big_endian=file.big_endian)
        file.take(len(record), offset, "ATTR")
        file.events.append(SampledEvent(attribute, ids))
        self._declare()

    def _update_event(self, record: bytes) -> None:
        file = self._file
        if len(record) < 24:
            return
        update = layouts(file.big_endian).event_update.parse(record[8:24])
        if update.type != EventUpdate.NAME:
            return
        name = record[24:].partition(b"\0")[0].decode("utf-8", "surrogateescape")
        for number, event in enumerate(file.events):
            if update.id in event.ids:
                file.events[number] = SampledEvent(event.attribute, event.ids, name)
                return

    # Batches

    def _batches(self) -> Iterator[Batch]:
        classes = self._prepared()
        trace = self.trace
        own = None if self._own is None else OwnFrames(self._own, trace.strings)
        # Recordings of this converter have address 0 for a sample without a stack.
        spaces = AddressSpaces(
            self._events, trace.strings, limit("perf.mappings"), zero_is_none=own is not None
        )
        frames = Frames(spaces, own or described_by(self._symboliser()))
        most = trace.events_of_a_batch(BATCH_SIZE)
        last = 0
        self._passes = 1
        rows = self._pass(_ignore)
        if self._context is not None:
            # A writer has those that it has seen: what it reads again is not among them twice.
            self._context.clear()
            rows = self._keeping(rows, self._context)
        if own is not None:
            rows = events_of(rows)
        for ordered in in_order(rows, most, self._out_of_order):
            batch = self._batch(ordered, classes, frames, last)
            if len(batch):
                last = int(batch.ts[-1])
            yield batch
        if spaces.refused:
            self._warn(f"{spaces.refused:,} mappings are left out", "perf.mappings")

    def _keeping(self, stream: Iterator[Rows], context: list[bytes]) -> Iterator[Rows]:
        for rows in stream:
            kinds = rows.code // 4
            for at in np.flatnonzero(np.isin(kinds, _CONTEXT) & (rows.code < NATIVE)).tolist():
                start, size = int(rows.start[at]), int(rows.size[at])
                context.append(rows.segment[start : start + size].tobytes())
            yield rows

    def _symboliser(self) -> Symboliser | None:
        """Return what finds functions; None without any symbols."""
        symbols = self.trace.symbols
        if symbols is None and self._symfs is None:
            return None
        return Symboliser(self._file, self.trace.strings, symbols, self._symfs)

    def _batch(self, found: Ordered, classes: Classes, frames: Frames, last: int) -> Batch:
        count = len(found.ts)
        segments = Segments(found.segments)
        stack = frames.resolve(found.code, segments, found.location, found.size)
        class_id = classes.of_code[found.code]
        row = np.empty(count, np.int32)
        counts = np.zeros(len(self.trace.event_classes), np.int32)
        row_numbers(class_id, row, counts)
        locations = Locations(class_id, row, found.location, found.size, counts)
        tables: dict[int, Table] = {}

        def stacks(id: int) -> Any:
            return take(stack, np.flatnonzero(class_id == id))

        for id in np.flatnonzero(counts).tolist():
            tables[id] = classes.table(
                id, int(counts[id]), locations.of_class(id), segments, partial(stacks, id)
            )
        starts = np.zeros(count + 1, np.int64)
        np.cumsum(found.size, out=starts[1:])

        def data() -> memoryview:
            values = np.empty(int(starts[-1]), np.uint8)
            segments.copy(found.location, starts, values)
            return values.data

        return Batch(
            ts=_times(found.ts, last),
            class_id=class_id,
            row=row,
            tables=tables,
            thread=self._tasks.renumbered(found.thread),
            cpu=found.cpu,
            native=NativeRecords(
                CATEGORY, data, starts[:-1], found.size.astype(np.int64), separable=True
            ),
        )

    def _out_of_order(self) -> None:
        message = "too many records wait for the end of a round: some may be out of order"
        self._warn(message, "perf.round")

    def _warn(self, message: str, limit_name: str) -> None:
        path = self._file.source.name
        remark = RemarkError(message, format="perf", path=path, expected=allowed(limit_name))
        note(self.trace.warnings, remark.to_warning())


def _times(ts: NDArray[np.int64], last: int) -> NDArray[np.int64]:
    """Return times, of records without one that of the record before."""
    missing = ts < 0
    if not missing.any():
        return ts
    at = np.where(missing, -1, np.arange(len(ts)))
    np.maximum.accumulate(at, out=at)
    return np.where(at < 0, last, ts[at])


def _ignore(kind: int, record: bytes, offset: int) -> None:
    """Ignore a record that the prescan has taken in."""


def _clock(file: PerfFile) -> ClockDomain:
    """Return the clock of all events, and how it relates to 1970 if the recording says so."""
    name, epoch = _DEFAULT_CLOCK, None
    if file.events and file.events[0].attribute.has(AttributeFlag.USE_CLOCKID):
        number = file.events[0].attribute.clockid
        name = _CLOCKS.get(number, f"clock {number}")
        data = file.features.get(Feature.CLOCK_DATA, b"")
        if len(data) >= 24:
            clock = layouts(file.big_endian).clock_data.parse(data)
            epoch = known_epoch(clock.wall_clock_ns - clock.clockid_time_ns)
    return ClockDomain(name, epoch_ns=epoch)


def _texts(file: PerfFile, feature: Feature) -> list[str]:
    try:
        texts = layouts(file.big_endian).texts.parse(file.features.get(feature, b""))
    except ValueError:
        return []
    return [text.partition(b"\0")[0].decode("utf-8", "surrogateescape") for text in texts]
