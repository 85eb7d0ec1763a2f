"""Task files: entries and exits of functions, lost records and events, through the emit kernel.

Each task has a file, which is created with its first record.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.uftrace.arguments.shown_values import recorded_fields
from converter.formats.uftrace.layout import SYMBOL_SIZE, EventId, symbol_address
from converter.formats.uftrace.mapping import (
    CALLSITE,
    DISCARDED,
    NATIVE,
    READINGS,
    USER_EVENT,
    USER_EVENT_WITH_DATA,
    watched_variable,
)
from converter.formats.uftrace.side_table import Signature, Symbol, Tables
from converter.formats.uftrace.writing.emit import (
    BAD_COLUMN,
    BAD_VALUE,
    ENTRY,
    EVENT,
    EXIT,
    LOST,
    OK,
    RAW,
    TEXT_TOO_LONG,
    VARIABLE,
    Emitter,
)
from converter.formats.uftrace.writing.emit import (
    USER_EVENT as USER_EVENT_RECORD,
)
from converter.formats.uftrace.writing.libraries import LIBRARIES
from converter.formats.uftrace.writing.symbols import (
    ShownSymbol,
    check_values,
    has_location,
    is_named,
    operation,
    specification,
    values_of,
)
from converter.formats.uftrace.writing.tasks import BASE, Tasks
from converter.ir.columns import Column, ListColumn, string_ids
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.batches.union import looked_up
from converter.storage.sink import Sink

_REASONS: Final = {
    BAD_COLUMN: "a value lies outside its column or table",
    TEXT_TOO_LONG: "a text is longer than 65,535 bytes",
    BAD_VALUE: "a value does not fit in its record",
}
_READINGS: Final[dict[EventClass, EventId]] = {
    reading.event_class: id for id, reading in READINGS.items()
}
_VARIABLES: Final = frozenset(watched_variable(size) for size in (1, 2, 4, 8))
#: The latest possible time, after which no record can be added.
_LAST_TIME: Final = (1 << 63) - 1
#: The name of the function of exits that match no entry.
_NO_FUNCTION: Final = "(no function)"
#: The name of the function that is not a slice: some commands of uftrace need a function.
_MARK: Final = b"(traceconv)"


def is_task_record(event_class: EventClass) -> bool:
    """Return True if events of a class are records of task files."""
    if event_class.kind in (Kind.SLICE_BEGIN, Kind.SLICE_END):
        return event_class.kind is Kind.SLICE_END or is_named(event_class.fields)
    if event_class in (DISCARDED, USER_EVENT, USER_EVENT_WITH_DATA, NATIVE, CALLSITE):
        return True
    return event_class in _READINGS or event_class in _VARIABLES


class SliceOutput:
    """The task files under construction."""

    def __init__(self, trace: Trace, sink: Sink, tasks: Tasks) -> None:
        self._trace = trace
        self._sink = sink
        self._tasks = tasks
        self._emitter = Emitter(
            trace.strings,
            [BASE + symbol_address(0), *(one.base + symbol_address(0) for one in LIBRARIES)],
            SYMBOL_SIZE,
            _MARK,
            {
                name.encode("ascii"): number
                for number, one in enumerate(LIBRARIES, 1)
                for name in one.names
            },
        )
        #: By class id.
        self._programs: dict[int, _Program] = {}
        self._by_number: list[_Program] = []
        self._numbers: NDArray[np.int32] = np.zeros(0, np.int32)
        #: By thread, -1 for none.
        self._files: dict[int, Sink] = {}

    @property
    def threads(self) -> list[int]:
        """The threads that have a file; -1 is no thread."""
        return list(self._files)

    @property
    def max_depth(self) -> int:
        """The maximum number of functions that were open at the same time."""
        return self._emitter.max_depth

    def write(self, batch: Batch) -> None:
        """Append the events of a batch, all of classes that are `is_task_record`.

        Raises:
            UnsupportedError: an event has no record.

        """
        emitter = self._emitter
        emitter.add_tasks(len(self._trace.threads) + 1)
        if len(self._numbers) < len(self._trace.event_classes):
            added = len(self._trace.event_classes) - len(self._numbers)
            self._numbers = np.append(self._numbers, np.full(added, -1, np.int32))
        for class_id, table in batch.tables.items():
            if not len(table):
                continue
            if class_id not in self._programs:
                self._programs[class_id] = self._compile(class_id, table)
            self._programs[class_id].bind(emitter, table, self._trace)
        programs = looked_up(self._numbers, batch.class_id)
        task = batch.thread + np.int32(1)
        events = EventArrays(batch, class_id=programs, task=task)
        status, done = emitter.emit(events, 0)
        emitter.release()
        if status != OK:
            raise self._unsupported(
                self._trace.event_classes[int(batch.class_id[done])], _REASONS[status]
            )
        self._flush()

    def mark_end(self, last: dict[int, int], event: int) -> None:
        """Add an event after the last time (ns) of each thread (-1: none) whose file has no later record."""
        self._emitter.add_tasks(len(self._trace.threads) + 1)
        for thread, time in last.items():
            if self._emitter.last_time(thread + 1) <= time or thread not in self._files:
                self._emitter.put_event(thread + 1, min(time + 1, _LAST_TIME), event)
        self._flush()

    def mark_function(self, thread: int, time: int) -> None:
        """Enter and leave the function that is not a slice, at a time (ns)."""
        self._emitter.add_tasks(len(self._trace.threads) + 1)
        self._emitter.put_mark(thread + 1, min(time, _LAST_TIME))
        self._flush()

    @property
    def has_functions(self) -> bool:
        """True if there is any function, including the one that is not a slice, which also precedes lost records."""
        return self._emitter.has_functions or self._emitter.mark >= 0

    @property
    def has_forked(self) -> bool:
        """True if a task begins by leaving functions that the one that has forked it is in."""
        return self._emitter.has_forked

    def fill_tables(self, tables: Tables) -> list[ShownSymbol]:
        """Add signatures and symbols; return the latter as shown in the program's files."""
        strings = self._trace.strings

        def text(id: int) -> str:
            return strings[id].decode("utf-8", "surrogateescape")

        signatures: dict[Signature, int] = {}

        def number(program: int) -> int:
            signature = self._by_number[program].signature if program >= 0 else ()
            return signatures.setdefault(signature, len(signatures))

        shown = []
        for label, name, category, entered, left, source, library in self._emitter.symbols():
            unmatched = name < 0
            tables.symbols.append(
                Symbol(
                    _NO_FUNCTION if unmatched else text(name),
                    "" if unmatched else text(category),
                    number(entered),
                    number(left),
                    text(source) if source >= 0 else "",
                )
            )
            shown.append(
                ShownSymbol(
                    _NO_FUNCTION.encode("ascii") if unmatched else strings[label],
                    self._by_number[entered].formats if entered >= 0 else [],
                    self._by_number[left].formats if left >= 0 else [],
                    text(source) if source >= 0 else "",
                    library,
                )
            )
        tables.signatures = list(signatures)
        tables.mark_symbol = self._emitter.mark if self._emitter.mark >= 0 else None
        return shown

    def user_events(self) -> list[tuple[str, str]]:
        """Return name and category of the named events, by number."""
        strings = self._trace.strings
        return [
            (
                strings[name].decode("utf-8", "surrogateescape"),
                strings[category].decode("utf-8", "surrogateescape"),
            )
            for name, category in self._emitter.user_events()
        ]

    def _flush(self) -> None:
        for task in self._emitter.dirty():
            thread = task - 1
            if thread not in self._files:
                self._files[thread] = self._sink.create(f"{self._tasks.number(thread)}.dat")
            self._files[thread].write(self._emitter.take(task))

    def _compile(self, class_id: int, table: Table) -> _Program:
        event_class = self._trace.event_classes[class_id]
        fields = event_class.fields
        named = is_named(fields)
        placed = event_class.kind is Kind.SLICE_BEGIN and has_location(fields)
        event = 0
        record = {Kind.SLICE_BEGIN: ENTRY, Kind.SLICE_END: EXIT}.get(event_class.kind)
        if record is None:
            if event_class in _READINGS:
                # Its name is determined by its number.
                record, named, event = EVENT, False, _READINGS[event_class]
                fields = fields[2:]
            elif event_class in _VARIABLES:
                record = VARIABLE
            elif event_class == CALLSITE:
                # Addresses are others in a new directory.
                record, fields = USER_EVENT_RECORD, USER_EVENT.fields
            else:
                record = {Kind.DISCARDED: LOST, Kind.INSTANT: USER_EVENT_RECORD}.get(
                    event_class.kind, RAW
                )
        else:
            check_values(event_class)
        values = values_of(fields) if named else fields
        start = len(event_class.fields) - len(values)
        values = values[:-1] if placed else recorded_fields(event_class.kind, values)
        columns = range(start, start + len(values))
        sizes = [_size(table.column(i)) for i in columns]
        operations = [
            operation(field.type, size) for field, size in zip(values, sizes, strict=True)
        ]
        if record == EXIT and len(values) > 1:
            raise self._unsupported(event_class, "a function returns one value at most")
        number = self._emitter.add_program(
            record, named, [one for one in operations if one is not None], event, placed=placed
        )
        names = [0, 1] if named else []
        self._numbers[class_id] = number
        program = _Program(
            number,
            event_class.fields,
            [*names, len(event_class.fields) - 1] if placed else names,
            columns,
            [specification(field.type, size) for field, size in zip(values, sizes, strict=True)],
        )
        self._by_number.append(program)
        return program

    def _unsupported(self, event_class: EventClass, message: str) -> UnsupportedError:
        return UnsupportedError(
            message, format="uftrace", path=self._sink.name, field=event_class.kind.name.lower()
        )


class _Program:
    """The conversion of a class's events to records: a program of the emitter, and the columns that it reads."""

    def __init__(
        self,
        number: int,
        signature: Signature,
        names: list[int],
        values: range,
        formats: list[str],
    ) -> None:
        self.number = number
        self.signature = signature
        self.formats = formats
        self._names = names
        self._values = values

    def bind(self, emitter: Emitter, table: Table, trace: Trace) -> None:
        """Bind the emitter to the columns of a batch."""
        columns: list[NDArray[Any] | tuple[NDArray[Any], NDArray[np.int64]]] = [
            string_ids(table.column(index), trace.strings) for index in self._names
        ]
        columns += [_bindable(table.column(index)) for index in self._values]
        emitter.bind(self.number, len(table), columns)


def _bindable(column: Column) -> NDArray[Any] | tuple[NDArray[Any], NDArray[np.int64]]:
    if isinstance(column, ListColumn):
        assert isinstance(column.values, np.ndarray)
        return (
            np.ascontiguousarray(column.values, np.uint8),
            np.ascontiguousarray(column.offsets, np.int64),
        )
    assert isinstance(column, np.ndarray)
    return column


def _size(column: Column) -> int:
    """Return the size of the first value of a column of bytes: all structures of a function have the same size."""
    if isinstance(column, ListColumn) and len(column):
        return int(column.offsets[1] - column.offsets[0])
    return 0
