"""The pass over all files of a directory: streams are merged by time, batches are cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from converter.errors import RemarkError, TraceError, too_many_holes
from converter.formats.ftrace.event_format.record_tables import RecordColumns
from converter.formats.uftrace.arguments.shown_values import SymbolNames
from converter.formats.uftrace.reading.columns import BatchValues
from converter.formats.uftrace.reading.event_streams import ReadyEvents
from converter.formats.uftrace.reading.functions import Functions, operations_array
from converter.formats.uftrace.reading.kernels.scan import (
    BAD_MAGIC,
    BAD_TIME,
    DAMAGED,
    NEED_SYMBOL,
    NEED_WINDOW,
    NO_SPECIFICATION,
    TRUNCATED,
    Scanner,
)
from converter.formats.uftrace.reading.kernels.scan_functions import FunctionTable
from converter.formats.uftrace.reading.kernels.scan_skip import find_record
from converter.formats.uftrace.reading.windows import Windows
from converter.formats.uftrace.symbols.symbol_files import Module
from converter.ir.events import Batch, Table
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import EventArrays, OutputArrays
from converter.kernels.batches.gather import Segments
from converter.limits import limit

if TYPE_CHECKING:
    from converter.formats.ftrace.event_format.event_classes import EventClasses

#: The number of events in a batch, and of words of values for each of them.
BATCH_SIZE = 1 << 17
#: The number in the first one: a part by time may need few events, and the time of the first event only one.
_FIRST_BATCH = 1 << 14
_VALUES = 4
#: Bytes of a file that are searched at once, and the size of records there.
_SEARCHED = 1 << 16
_MOST_SEARCHED = 1 << 22
_OVERLAP = 1 << 16
_LEAST_VALUES = 1 << 12

_REASONS = {
    TRUNCATED: {"message": "the file ends within a record"},
    BAD_MAGIC: {"field": "record.magic", "expected": "5", "found": "something else"},
    BAD_TIME: {"field": "record.time", "expected": "a time of 63 bits", "found": "a later one"},
    NO_SPECIFICATION: {
        "message": "values of a function without a specification: their size is not known"
    },
}


_UNTRACKED = "a stack is deeper than is followed: functions left without an exit stay open"
_ROUNDED = "80-bit floating-point values are rounded to 64 bits"


class ReadyStream(Protocol):
    """A stream of events that are decoded elsewhere, window after window."""

    cpu: int

    def next(self) -> ReadyEvents | None:
        """Return the next events, None after the last."""


@dataclass(frozen=True, slots=True)
class TaskStream:
    """A task file: its windows, its thread, and the task's address spaces by start time."""

    windows: Windows
    thread: int
    times: NDArray[np.int64]
    spaces: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class EventName:
    """An EVENT record: its class, its name, and its data as `words` integers of `width` bytes."""

    id: int
    class_id: int
    name: int
    category: int
    words: int = 0
    width: int = 8


@dataclass(frozen=True, slots=True)
class Recording:
    """All that is needed to decode files into batches. `columns` are by class, for perf files and extern.dat."""

    trace: Trace
    functions: Functions
    modules: Sequence[Module]
    spaces: Sequence[Sequence[tuple[int, int, int, int]]]
    symbol_names: SymbolNames
    events: Sequence[EventName]
    plain_classes: NDArray[np.int32]
    big_endian: bool
    close_abandoned: bool
    #: The class of exits of tasks, -1 where there are none.
    exit_class: int
    replace_nulls: bool
    columns: Mapping[int, RecordColumns]
    kernel_classes: EventClasses | None
    kernel_big_endian: bool
    warn: Callable[[TraceError], None]

    def function_table(self) -> FunctionTable:
        """Return a table of the address spaces, without symbols."""
        table = FunctionTable(self.trace.strings)
        for _ in self.modules:
            table.add_module()
        for space in self.spaces:
            starts, ends, bases = (
                np.array([mapping[part] for mapping in space], np.uint64) for part in range(3)
            )
            modules = np.array([mapping[3] for mapping in space], np.int32)
            table.add_space(starts, ends, bases, modules)
        return table

    def scanner(self, table: FunctionTable) -> Scanner:
        """Return a scanner of records whose addresses are those of a table."""
        scanner = Scanner(
            self.trace.strings,
            table,
            big_endian=self.big_endian,
            close_abandoned=self.close_abandoned,
            classes=self.plain_classes,
        )
        for event in self.events:
            scanner.add_event(
                event.id, event.class_id, event.name, event.category, event.words, event.width
            )
        return scanner


class Pass:
    """One pass; `next` returns batch after batch.

    With a class of switches, these move estimated exits, of functions that nest up to `max_stack` deep. With
    `keeps_records` tables have the records of their events.
    """

    def __init__(
        self,
        recording: Recording,
        tasks: Sequence[TaskStream],
        ready: Sequence[ReadyStream],
        switch_class: int,
        max_stack: int,
        *,
        keeps_records: bool = False,
    ) -> None:
        self._recording = recording
        self._table_of_functions = recording.function_table()
        self._scanner = recording.scanner(self._table_of_functions)
        self._programs = 0
        self._tasks = tasks
        self._ready = ready
        self._segments: list[NDArray[np.uint8] | bytes] = []
        self._current: list[NDArray[np.uint8] | bytes] = []
        for task in tasks:
            self._scanner.add_tasks(task.thread, task.times, task.spaces)
        for stream in ready:
            self._scanner.add_ready(stream.cpu)
        if recording.close_abandoned and recording.exit_class >= 0:
            streams = np.full(len(recording.trace.threads), -1, np.int32)
            streams[[task.thread for task in tasks]] = np.arange(len(tasks))
            self._scanner.close_at(recording.exit_class, streams)
        if switch_class >= 0:
            tids = np.array([recording.trace.threads[task.thread].tid for task in tasks], np.int32)
            order = np.argsort(tids).astype(np.int32)
            self._scanner.move_estimated(switch_class, tids[order], order, max_stack)
        self._current = [b""] * (len(tasks) + len(ready))
        for number in range(len(self._current)):
            self._feed(number)
        self._room = capacity = recording.trace.events_of_a_batch(BATCH_SIZE)
        #: For the batch under construction: ids of names and categories, offsets and sizes of payloads.
        self._unsorted = (
            np.empty(capacity, np.int32),
            np.empty(capacity, np.int32),
            np.empty(capacity, np.int64),
            np.empty(capacity, np.uint32),
        )
        #: The same for locations and lengths of records, if they are kept.
        self._records = (
            (np.empty(capacity, np.int64), np.empty(capacity, np.uint32)) if keeps_records else None
        )
        #: The number of events returned, and the first damage before the first of them.
        self.delivered = 0
        self.first_damage: TraceError | None = None
        self._holes = 0

    def _feed(self, number: int) -> None:
        data: NDArray[np.uint8] | bytes
        segment = len(self._segments)
        if number < len(self._tasks):
            consumed = self._scanner.consumed(number)
            try:
                window, final = self._tasks[number].windows.next(consumed)
            except TraceError as error:
                self._recording.warn(error)
                return
            self._scanner.feed(number, window.data, segment, final)
            data = window
        else:
            events = self._ready[number - len(self._tasks)].next()
            if events is None:
                return
            self._scanner.feed_ready(
                number,
                EventArrays(events, start=events.start, size=events.size),
                events.count,
                events.data,
                segment,
            )
            data = events.data
        self._segments.append(data)
        self._current[number] = data

    def _add_site(self) -> None:
        """Add the symbol that the scanner has met to the table."""
        recording, table = self._recording, self._table_of_functions
        module, symbol = table.module, table.symbol
        if symbol < 0:
            symbols = recording.modules[module].symbols
            table.load_module(module, symbols.starts, symbols.ends)
            return
        site = recording.functions.site(module, recording.modules[module], symbol)
        for program in recording.functions.programs[self._programs :]:
            table.add_program(operations_array(program), program.class_id, program.unmatched)
        self._programs = len(recording.functions.programs)
        table.set_site(
            module, symbol, site.name, site.category, site.entry, site.leave, site.source
        )

    def _damage(self) -> None:
        scanner = self._scanner
        windows = self._tasks[scanner.stream].windows
        error = windows.error(scanner.offset, **_REASONS[scanner.reason])
        found = self._next_record(windows)
        given_up = found is not None and self._holes == limit("holes")
        if given_up:
            found = None
        if found is not None:
            self._holes += 1
            reason = f"{error.message}; " if error.message else ""
            error.message = f"{reason}records go on at {found:#x}"
        self._recording.warn(error)
        if given_up:
            self._recording.warn(too_many_holes(error.offset).within(path=error.path))
        if self.first_damage is None:
            self.first_damage = error
        if found is not None:
            self._resume(scanner.stream, windows, found)

    def _resume(self, number: int, windows: Windows, offset: int) -> None:
        """Resume at an offset in a file, whose bytes are mostly in the window already."""
        window = np.frombuffer(self._current[number], np.uint8)[offset - windows.start :]
        windows.go_to(offset)
        final = offset + windows.length >= windows.source.size
        if not len(window):
            window, final = windows.next(0)
        self._scanner.resume(number, window.data, len(self._segments), final)
        self._segments.append(window)
        self._current[number] = window

    def _next_record(self, windows: Windows) -> int | None:
        """Return the file offset of consecutive records after damage."""
        offset = windows.start + self._scanner.offset + 8
        size = _SEARCHED
        while offset < windows.source.size:
            data = windows.source.read(offset, size + _OVERLAP)
            found = find_record(data, 0, self._scanner.time, big_endian=self._recording.big_endian)
            if found >= 0:
                return offset + found
            offset += size
            size = min(4 * size, _MOST_SEARCHED)
        return None

    def next(self) -> Batch | None:
        """Return the next batch, None after the last."""
        scanner = self._scanner
        room = min(self._room, max(self.delivered, _FIRST_BATCH))
        ts = np.empty(room, np.int64)
        class_id, row, thread, cpu = (np.empty(room, np.int32) for _ in range(4))
        name, category, first, size = self._unsorted
        values = np.empty(_VALUES * room + _LEAST_VALUES, np.uint64)
        kept: dict[str, Any] = {}
        if self._records is not None:
            kept["record"], kept["length"] = (column[:room] for column in self._records)
        events = OutputArrays(
            ts=ts,
            class_id=class_id,
            row=row,
            thread=thread,
            cpu=cpu,
            name=name[:room],
            category=category[:room],
            first=first[:room],
            size=size[:room],
            **kept,
        )
        counts = np.zeros(len(self._recording.trace.event_classes), np.int32)
        filled = words = 0
        while True:
            status, filled, words = scanner.fill(
                events, values, filled, words, counts, keeps_records=bool(kept)
            )
            if status == NEED_WINDOW:
                self._feed(scanner.stream)
            elif status == NEED_SYMBOL:
                self._add_site()
                more = len(self._recording.trace.event_classes) - len(counts)
                if more:
                    counts = np.concatenate([counts, np.zeros(more, np.int32)])
            elif status == DAMAGED:
                self._damage()
            else:
                break
        if scanner.rounded:
            self._recording.warn(RemarkError(_ROUNDED))
        if scanner.untracked():
            self._recording.warn(RemarkError(_UNTRACKED))
        if not filled:
            return None
        decoded = BatchValues(
            class_id[:filled],
            row[:filled],
            counts,
            name[:filled],
            category[:filled],
            first[:filled],
            size[:filled],
            values[:words],
            Segments(self._segments),
            self._recording.symbol_names,
            None
            if self._records is None
            else (self._records[0][:filled], self._records[1][:filled]),
            replace_nulls=self._recording.replace_nulls,
        )
        batch = Batch(
            ts=ts[:filled],
            class_id=class_id[:filled],
            row=row[:filled],
            thread=thread[:filled],
            cpu=cpu[:filled],
            tables={
                id: self._table(decoded, id, int(counts[id]))
                for id in np.flatnonzero(counts).tolist()
            },
        )
        self.delivered += filled
        self._segments = list(self._current)
        for number in range(len(self._current)):
            scanner.renumber(number, number)
        return batch

    def _table(self, decoded: BatchValues, id: int, count: int) -> Table:
        recording = self._recording
        columns = recording.functions.columns.get(id)
        if columns is not None:
            return decoded.table(id, recording.trace.event_classes[id], columns)
        located, segments = partial(decoded.located, id), decoded.segments
        of_records = recording.columns.get(id)
        if of_records is None:
            assert recording.kernel_classes is not None, "a class that no file has"
            return recording.kernel_classes.table(
                id, count, located, segments, big_endian=recording.kernel_big_endian
            )
        strings = recording.trace.strings
        return of_records.table(count, located, segments, strings, recording.big_endian)
