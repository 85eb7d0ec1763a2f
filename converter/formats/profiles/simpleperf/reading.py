"""Reads a file: an event per sample, context switch and record that is not known, in the order of the file.

Files, threads and lost samples come after the samples, so that the whole file is in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, TraceWarning, note
from converter.formats.profiles.simpleperf.layout import (
    EXECUTION_TYPES,
    HEADER,
    LOST_SAMPLES,
    MAGIC,
    META_TEXTS,
    OFF_CPU,
    OTHER,
    SWITCH,
    UNWINDING,
    VERSION,
    EntryField,
    RecordField,
    SampleField,
    SwitchField,
    unit_of_event,
)
from converter.formats.profiles.simpleperf.scan import (
    AT,
    CONTENT,
    CONTENT_SIZE,
    KIND,
    SIZE,
    scan_records,
)
from converter.formats.profiles.simpleperf.tables import (
    Files,
    Records,
    columns_of,
    contents,
    event_types_of,
    lost_of,
    meta_of,
    not_beyond,
    threads_of,
)
from converter.formats.side_table import parse_side_table
from converter.ir.columns import Column, ListColumn, StructColumn, constant_column, take
from converter.ir.events import Batch, EventClass, NativeRecords, Table
from converter.ir.kinds import Kind
from converter.ir.semantics import Semantics
from converter.ir.trace import Process, Thread, Trace
from converter.kernels.protobuf.decode import BOOLEAN, SPAN, VARINT
from converter.limits import allowed, limit
from converter.projection.timeline_fields import FRAMES, weight
from converter.storage.source import Source

_EVENTS: Final = 1 << 14
#: The bytes of the records of a batch, which has one at least.
_BYTES: Final = 1 << 21
#: Bits of the class of a sample, by what it has.
_HAS_TYPES, _HAS_UNWINDING, _BITS = 1, 2, 2
#: Samples on no thread, as we write them.
_NO_THREAD: Final = -1


def read(source: Source) -> Trace:
    """Read a file as a trace.

    Raises:
        TraceError: it is too large, or of another version.

    """
    start = source.read(0, len(HEADER))
    if start != HEADER:
        is_other = start.startswith(MAGIC) and len(start) == len(HEADER)
        raise TraceError(
            path=source.name,
            offset=len(MAGIC) if is_other else 0,
            field="version" if is_other else "magic",
            expected=str(VERSION) if is_other else MAGIC.decode(),
            found=str(int.from_bytes(start[len(MAGIC) :], "little")) if is_other else repr(start),
        )
    if source.size > limit("simpleperf.file"):
        expected = f"samples, which are read as a whole, of {allowed('simpleperf.file')}"
        raise TraceError(path=source.name, expected=expected, found=f"{source.size} bytes")
    return _Reader(source).trace


class _Reader:
    def __init__(self, source: Source) -> None:
        data = np.frombuffer(source.read_exactly(0, source.size), np.uint8)
        self._path = source.name
        self._size = source.size
        most = limit("simpleperf.records")
        rows, end, is_ended = scan_records(data, len(HEADER), most + 1)
        if len(rows) > most:
            expected = allowed("simpleperf.records")
            raise TraceError(path=source.name, offset=int(rows[-1, AT]), expected=expected)
        self._records = Records(data, rows)
        self.trace = Trace("simpleperf", make_batches=self._batches)
        self.trace.source_batches = self.trace.make_batches
        self.trace.semantics = Semantics(kinds=frozenset({Kind.SAMPLE, Kind.TYPED, Kind.NATIVE}))
        if not is_ended:
            self._warn("the file is cut off or damaged here: what is before is read", offset=end)
        self._drop_large()
        strings = self.trace.strings
        self._files = Files(self._records, strings)
        names = event_types_of(self._records, strings)
        self._events = [self._text(id) for id in names.tolist()]
        self._threads: dict[int, int] = {_NO_THREAD: -1}
        self._classes: dict[int, int] = {}
        self._describe()
        self._add_threads()
        kind = self._records.rows[:, KIND]
        # What is no message is damage, not an event.
        self._records.damaged += int(np.count_nonzero(kind < 0))
        is_event = (kind == 0) | (kind == RecordField.SAMPLE) | (kind == RecordField.CONTEXT_SWITCH)
        self._rows = np.ascontiguousarray(self._records.rows[is_event])
        self._ts = self._times()
        self.trace.in_time_order = not (self._ts[1:] < self._ts[:-1]).any()
        self._dangling = 0

    def _text(self, id: int) -> str:
        return self.trace.strings[id].decode("utf-8", "surrogateescape")

    def _drop_large(self) -> None:
        """Leave out samples that are too large: they do not fit into a batch."""
        rows = self._records.rows
        large = (rows[:, SIZE] > limit("simpleperf.sample")) & (rows[:, KIND] == RecordField.SAMPLE)
        if large.any():
            first = int(rows[int(large.argmax()), AT])
            count = int(np.count_nonzero(large))
            message = f"samples of more than {allowed('simpleperf.sample')} are left out: {count:,}"
            self._warn(message, offset=first)
            self._records.rows = rows[~large]

    def _describe(self) -> None:
        """Fill in what the file says of the recording, and of the names of symbols."""
        trace = self.trace
        texts, is_off = meta_of(self._records, META_TEXTS)
        for name, text in texts.items():
            trace.environment[name] = text.decode("utf-8", "surrogateescape")
        if is_off:
            trace.environment[OFF_CPU] = 1
        lost = lost_of(self._records)
        if lost:
            trace.environment[LOST_SAMPLES] = lost
            note(
                trace.warnings,
                TraceWarning(
                    message=f"the recorder lost {lost:,} samples",
                    format="simpleperf",
                    path=self._path,
                    is_damage=False,
                ),
            )
        mangled = self._files.mangled_names()
        if mangled:
            # The files as they are: parts of the trace are written with them.
            rows = self._records.rows
            spans = rows[rows[:, KIND] == RecordField.FILE][:, [AT, SIZE]].tolist()
            data = self._records.data.data
            trace.sidecar["simpleperf"] = {
                "files": b"".join(data[at : at + size] for at, size in spans)
            }
            trace.sidecar_details["simpleperf"] = Counter({"mangled_symbols": len(mangled)})

    def _add_threads(self) -> None:
        """Add the threads of the side table that we write, and those of records."""
        trace, data = self.trace, self._records.data
        for start, size in zip(*self._records.spans(RecordField.SIDE_TABLE), strict=True):
            try:
                table = parse_side_table(data[start : start + size].tobytes(), numbered=True)
            except TraceError as error:
                self._warn(
                    f"the tables of the trace are not read: {error.message}", offset=int(start)
                )
                continue
            for index, number in enumerate(table.numbers):
                self._threads.setdefault(number, index + len(trace.threads))
            base = len(trace.processes)
            for thread in table.threads:
                thread.process += base
            table.add_tasks(trace)
            table.add_clocks(trace)
        processes = {one.pid: number for number, one in enumerate(trace.processes)}
        for one in threads_of(self._records, trace.strings):
            if one.tid in self._threads or one.tid < 0:
                continue
            pid = max(one.pid, 0)
            process = processes.get(pid)
            if process is None:
                process = processes[pid] = len(trace.processes)
                trace.processes.append(Process(pid))
            name = self._text(one.name)
            if pid == one.tid:
                trace.processes[process].name = trace.processes[process].name or name
            self._threads[one.tid] = len(trace.threads)
            trace.threads.append(Thread(one.tid, process, name))

    def _thread(self, tid: int) -> int:
        """Return a thread by its id; that of a thread which the file does not name is its own process."""
        thread = self._threads.get(tid)
        if thread is None:
            if tid < 0:
                return -1
            thread = self._threads[tid] = len(self.trace.threads)
            self.trace.threads.append(Thread(tid, len(self.trace.processes)))
            self.trace.processes.append(Process(tid))
        return thread

    def _times(self) -> NDArray[np.int64]:
        """Return the time of each event; a record without one has that of the event before."""
        kind = self._rows[:, KIND]
        times = np.zeros(len(kind), np.uint64)
        damaged = self._records.damaged
        for of, field in (
            (RecordField.SAMPLE, int(SampleField.TIME)),
            (RecordField.CONTEXT_SWITCH, int(SwitchField.TIME)),
        ):
            at = np.flatnonzero(kind == of)
            spans = contents(self._rows[at])
            times[at] = self._records.columns(spans, time=(field, VARINT, np.uint64))["time"]
        # Their damage counts where all else of them is read.
        self._records.damaged = damaged
        timed = np.where(kind > 0, np.arange(len(kind)), -1)
        last = np.maximum.accumulate(timed) if len(timed) else timed
        times = np.where(last < 0, np.uint64(0), times[last])
        found, beyond = not_beyond(times)
        if beyond:
            self._warn(f"times beyond 63 bits: {beyond:,}", field="time")
        return found

    def _batches(self) -> Iterator[Batch]:
        rows = self._rows
        count = len(rows)
        most = self.trace.events_of_a_batch(_EVENTS)
        room = self.trace.bytes_of_a_window(_BYTES)
        data = self._records.data.data
        ends = np.cumsum(rows[:, SIZE])
        first, done = 0, 0
        while True:
            before = int(ends[first - 1]) if first else 0
            last = int(np.searchsorted(ends, before + room, "right"))
            last = min(max(last, first + 1), first + most, count)
            batch = self._batch(slice(first, last))
            end = int(rows[last, AT]) if last < count else self._size
            at = rows[first:last, AT] - done, rows[first:last, SIZE]
            batch.native = NativeRecords("simpleperf", data[done:end], *at)
            yield batch
            first, done = last, end
            if first >= count:
                break
        self._warn_at_end()

    def _batch(self, at: slice) -> Batch:
        rows = self._rows[at]
        kind = rows[:, KIND]
        class_id = np.empty(len(rows), np.int32)
        row = np.empty(len(rows), np.int32)
        thread = np.full(len(rows), -1, np.int32)
        tables: dict[int, Table] = {}
        for of, decode in (
            (kind == RecordField.SAMPLE, self._samples),
            (kind == RecordField.CONTEXT_SWITCH, self._switches),
            (kind == 0, self._others),
        ):
            which = np.flatnonzero(of)
            if not len(which):
                continue
            tids, parts = decode(rows[which])
            if tids is not None:
                thread[which] = self._threads_of(tids)
            for number, mine, columns in parts:
                tables[number] = Table(len(mine), columns)
                class_id[which[mine]] = number
                row[which[mine]] = np.arange(len(mine))
        return Batch(ts=self._ts[at], class_id=class_id, row=row, tables=tables, thread=thread)

    def _threads_of(self, tids: NDArray[np.int32]) -> NDArray[np.int32]:
        distinct, which = np.unique(tids, return_inverse=True)
        known = np.array([self._thread(tid) for tid in distinct.tolist()], np.int32)
        return known[which.reshape(-1)]

    def _samples(self, rows: NDArray[np.int64]) -> _Decoded:
        records = self._records
        spans = contents(rows)
        found = records.columns(
            spans,
            tid=(SampleField.THREAD_ID, VARINT, np.int32),
            weight=(SampleField.EVENT_COUNT, VARINT, np.uint64),
            event=(SampleField.EVENT_TYPE_ID, VARINT, np.uint32),
            unwinding=(SampleField.UNWINDING_RESULT, SPAN, np.int64),
        )
        weights, beyond = not_beyond(found["weight"])
        if beyond:
            self._warn(f"counts of events beyond 63 bits: {beyond:,}", field="event_count")
        stacks, types = self._stacks(spans)
        other = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(types.values) != 0)])
        shape = np.where(other[types.offsets[1:]] > other[types.offsets[:-1]], _HAS_TYPES, 0)
        # The offset of a message that is missing is 0, where none can be.
        shape |= np.where(found["unwinding"][:, 0] > 0, _HAS_UNWINDING, 0)
        event = np.minimum(found["event"], len(self._events)).astype(np.int64)
        key = event << _BITS | shape
        parts: list[_Part] = []
        for one in np.unique(key).tolist():
            mine = np.flatnonzero(key == one)
            columns: list[Column | Callable[[], Column]] = [
                partial(take, stacks, mine),
                weights[mine],
            ]
            if one & _HAS_TYPES:
                columns.append(partial(take, types, mine))
            if one & _HAS_UNWINDING:
                columns.append(partial(_bytes_of, records.data, found["unwinding"][mine]))
            parts.append((self._sample_class(one), mine, columns))
        return found["tid"], parts

    def _stacks(self, spans: tuple[NDArray[np.int64], NDArray[np.int64]]) -> _Stacks:
        """Return the call stacks of samples, and how each of their frames ran."""
        offsets, entries = self._records.lists(spans, SampleField.CALLCHAIN)
        found = self._records.columns(
            entries,
            address=(EntryField.VADDR_IN_FILE, VARINT, np.uint64),
            file=(EntryField.FILE_ID, VARINT, np.uint32),
            symbol=(EntryField.SYMBOL_ID, VARINT, np.int32),
            type=(EntryField.EXECUTION_TYPE, VARINT, np.int32),
        )
        function, path, dangling = self._files.find(found["file"], found["symbol"])
        self._dangling += int(np.count_nonzero(dangling))
        count = len(function)
        nothing = constant_column(np.int32(0), count), constant_column(np.uint32(0), count)
        frames = StructColumn(count, (function, path, found["address"], *nothing))
        return ListColumn(offsets, frames), ListColumn(offsets, found["type"])

    def _sample_class(self, key: int) -> int:
        event = key >> _BITS
        name = self._events[event] if event < len(self._events) else ""
        fields = [FRAMES, weight(unit_of_event(name))]
        fields += [EXECUTION_TYPES] if key & _HAS_TYPES else []
        fields += [UNWINDING] if key & _HAS_UNWINDING else []
        return self._class(key, EventClass(Kind.SAMPLE, name, fields=tuple(fields)))

    def _class(self, key: int, event_class: EventClass) -> int:
        """Return the number of a class, which is added when it first occurs."""
        if key not in self._classes:
            self._classes[key] = self.trace.add_class(event_class)
        return self._classes[key]

    def _switches(self, rows: NDArray[np.int64]) -> _Decoded:
        found = self._records.columns(
            contents(rows),
            on=(SwitchField.SWITCH_ON, BOOLEAN, np.bool_),
            tid=(SwitchField.THREAD_ID, VARINT, np.int32),
        )
        number = self._class(-1, SWITCH)
        return found["tid"], [(number, np.arange(len(rows)), [found["on"]])]

    def _others(self, rows: NDArray[np.int64]) -> _Decoded:
        spans = rows[:, [CONTENT, CONTENT_SIZE]]
        content = partial(_bytes_of, self._records.data, spans)
        return None, [(self._class(-2, OTHER), np.arange(len(rows)), [content])]

    def _warn_at_end(self) -> None:
        if self._dangling:
            message = f"frames whose file or symbol is missing: {self._dangling:,}"
            self._warn(message, field="callchain")
        if self._records.damaged:
            self._warn(f"messages with damage: {self._records.damaged:,}")
        self._dangling = self._records.damaged = 0

    def _warn(self, message: str, **parts: Any) -> None:
        warning = TraceWarning(
            message=message, format="simpleperf", path=self._path, is_damage=True, **parts
        )
        note(self.trace.warnings, warning)


_Part = tuple[int, NDArray[Any], list[Column | Callable[[], Column]]]
_Decoded = tuple[NDArray[np.int32] | None, list[_Part]]
_Stacks = tuple[ListColumn, ListColumn]


def _bytes_of(data: NDArray[np.uint8], spans: NDArray[np.int64]) -> Column:
    """Return ranges of bytes, which are in order and do not overlap, as a column."""
    starts, sizes = columns_of(spans)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    first = int(starts[0])
    end = int(starts[-1] + sizes[-1])
    edges = np.zeros(end - first + 1, np.int8)
    np.add.at(edges, starts - first, 1)
    np.add.at(edges, starts + sizes - first, -1)
    inside = np.cumsum(edges[:-1], dtype=np.int8) > 0
    return ListColumn(offsets, data[first:end][inside])
