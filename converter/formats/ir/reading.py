"""Reads the representation: one record per batch, checked against the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, UnsupportedError, note, too_many_classes
from converter.formats.ir import layout
from converter.formats.ir import messages as pb
from converter.formats.ir.classes import unpack_class
from converter.formats.ir.columns import StringIds, checked_ids, unpack_column, unpack_list
from converter.formats.ir.numbers import unpack
from converter.formats.ir.values import (
    decoded,
    get_number,
    unpack_clock,
    unpack_entries,
    unpack_warning,
)
from converter.formats.table import travelled_symbols
from converter.ir.events import Batch, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.semantics import semantics_of
from converter.ir.symbols import SymbolNames, SymbolTable
from converter.ir.trace import Process, Thread, Trace, Track, TrackScope
from converter.limits import allowed, limit
from converter.storage.source import Source

_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)
_UINT64 = np.dtype(np.uint64)
_BYTE = IntegerClass(8)
#: CPU numbers are below.
_MAX_CPU = 1 << 31


def read(source: Source) -> Trace:
    """Return the trace in a `.tcir` file, or of a canonical form.

    The trace's format is that of its original file, whose writer then replays the contents of the sidecar.

    Raises:
        TraceError: the file has no header.

    """
    if source.read(0, 1) == b"{":
        return _read_canonical(source)
    return _Reader(source).trace


def _read_canonical(source: Source) -> Trace:
    import json

    from converter.ir.canonical import load
    from converter.ir.invariants import check

    text = source.read(0, source.size).decode("utf-8", "surrogateescape")
    damage: TraceError | None = None
    try:
        try:
            form = json.loads(text)
        except ValueError as error:
            damage = _invalid_form(source, error)
            form = _truncated(text)
            if form is None:
                raise
        trace = load(form)
        check(trace)
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        RecursionError,
        OverflowError,
    ) as error:
        raise _invalid_form(source, error) from error
    if damage is not None:
        note(trace.warnings, damage.to_warning())
    return trace


def _truncated(text: str) -> dict[str, Any] | None:
    """Return a truncated canonical form, up to its last complete event: each has a line, after what it refers to."""
    import json

    whole = text[: max(text.rfind(",\n"), 0)]
    for end in ("]}", "}"):
        try:
            form = json.loads(whole + end)
            break
        except ValueError:
            continue
    else:
        return None
    return {"untimed": [], **form} if form.get("events") else None


def _invalid_form(source: Source, error: Exception) -> TraceError:
    return TraceError(
        f"no canonical form: {type(error).__name__}: {error}", format="ir", path=source.name
    )


class _Reader:
    """State shared by passes over the file: the trace, whose tables are filled by the pass that gets furthest."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._places, damage = layout.record_places(source)
        if not self._places:
            raise damage[0] if damage else TraceError(field="header", expected="a header record")
        header = layout.parse_header(layout.parse_record(source, *self._places[0]))
        self.trace = Trace(
            format=header.format,
            variant=header.variant,
            semantics=semantics_of(unpack_entries(header.semantics)),
            clock=unpack_clock(header.clock),
            make_batches=self._batches,
            progress=lambda: (self._done, source.size),
        )
        self.trace.source_batches = self.trace.make_batches
        self._done = 0
        self._strings = StringIds()
        #: The number of records that have filled the tables.
        self._read = 1
        #: True if records can be found again after a damaged one.
        self._is_marked = layout.is_marked_at(source, self._places[-1][0])
        #: The tables as repeated at the end, if they are there.
        self._repeated = pb.Tables()
        for error in damage:
            self._warn(error)
        self._read_tail()

    def _read_tail(self) -> None:
        """Read the record at the end, if it is there."""
        trace = self.trace
        try:
            records = layout.parse_record(self._source, *self._places[-1])
            tails = [record.tail for record in records if record.WhichOneof("content") == "tail"]
            if not tails:
                raise TraceError(expected="a tail record at the end of the file", found="none")
            tail = tails[-1]
            self._repeated = tail.tables
            environment = unpack_entries(tail.environment)
            if not all(type(value) in (str, int) for value in environment.values()):
                raise TraceError(field="environment", expected="texts and integers")
            sidecar = unpack_entries(tail.sidecar)
            if not all(isinstance(value, dict) for value in sidecar.values()):
                raise TraceError(field="sidecar", expected="a map for each format")
            trace.clock_domains = [unpack_clock(clock) for clock in tail.clock_domain]
            trace.environment = environment
            trace.sidecar = sidecar
            note(trace.warnings, *map(unpack_warning, tail.warning))
            if tail.HasField("symbols"):
                trace.symbols = _symbols(tail.symbols)
            else:
                trace.symbols = travelled_symbols(trace)
        except TraceError as error:
            self._warn(error)
            # Without its sidecar the trace is no longer what that format's reader returns.
            trace.format, trace.variant = "ir", ""

    def _warn(self, error: TraceError) -> None:
        warning = error.within(format="ir", path=self._source.name).to_warning()
        note(self.trace.warnings, warning)

    def _batches(self) -> Iterator[Batch]:
        events = 0
        delivered = False
        failed: TraceError | None = None
        for number, (offset, size) in enumerate(self._places):
            try:
                place = layout.place_of(self._source, offset, size)
                if place is not None:
                    self._restore_tables(number, place)
                batches = self._parsed(number, offset, size)
            except TraceError as error:
                if error.offset is None:
                    error.offset = offset
                error.within(format="ir", path=self._source.name)
                if not self._is_marked or isinstance(error, UnsupportedError):
                    if not delivered:
                        raise
                    self._warn(error)
                    return
                failed = failed or error
                self._warn(error)
                continue
            if place is not None and place.events > events:
                missing = place.events - events
                self._warn(TraceError(f"{missing:,} events are missing in front", offset=offset))
                events = place.events
            self._done = offset + size
            for batch in batches:
                delivered = True
                events += len(batch)
                yield batch
        if failed is not None and not delivered:
            raise failed

    def _restore_tables(self, number: int, place: pb.Place) -> None:
        """Restore the tables as they were before a record, unless an earlier pass had more."""
        if number < self._read:
            return
        trace, strings, repeated = self.trace, self._strings, self._repeated
        for text in repeated.string[len(strings) - 1 : place.string - 1]:
            strings.add(trace.strings.intern(text))
        for process in repeated.process[len(trace.processes) : place.process]:
            self._set_process(process)
        for thread in repeated.thread[len(trace.threads) : place.thread]:
            self._set_thread(thread)
        for track in repeated.track[len(trace.tracks) : place.track]:
            self._add_track(track)
        self._add_classes(repeated.event_class[len(trace.event_classes) : place.event_class])
        if place.string > limit("ir.events"):
            raise TraceError(field="place.string", expected="fewer", found=place.string)
        if place.string > len(strings):
            missing = f"{place.string - len(strings):,} texts are missing"
            self._warn(TraceError(missing, offset=self._places[number][0]))
            strings.add_missing(place.string - len(strings))
        found = (len(strings), len(trace.processes), len(trace.threads), len(trace.tracks))
        declared = (place.string, place.process, place.thread, place.track)
        if (*found, len(trace.event_classes)) != (*declared, place.event_class):
            raise TraceError(field="place", expected="the tables before it", found="others")

    def _parsed(self, number: int, offset: int, size: int) -> list[Batch]:
        """Return the batches of a record; its tables are added unless an earlier pass has done so."""
        batches = []
        for record in layout.parse_record(self._source, offset, size):
            match record.WhichOneof("content"):
                case "tables" if number >= self._read:
                    self._extend(record.tables)
                case "batch":
                    batches.append(self._batch(record.batch))
        self._read = max(self._read, number + 1)
        return batches

    # Tables

    def _extend(self, tables: pb.Tables) -> None:
        trace = self.trace
        for text in tables.string:
            self._strings.add(trace.strings.intern(text))
        for process in tables.process:
            self._set_process(process)
        for thread in tables.thread:
            self._set_thread(thread)
        for track in tables.track:
            self._add_track(track)
        self._add_classes(tables.event_class)

    def _add_classes(self, messages: Sequence[pb.EventClass]) -> None:
        count = len(self.trace.event_classes) + len(messages)
        if count > limit("classes"):
            raise too_many_classes(count)
        for message in messages:
            self.trace.add_class(unpack_class(message))

    def _set_process(self, message: pb.Process) -> None:
        processes = self.trace.processes
        _check_index(message.index, len(processes), "process")
        has_parent = message.HasField("parent_pid") or message.large_parent_pid
        process = Process(
            get_number(message, "pid"),
            decoded(message.name),
            get_number(message, "parent_pid") if has_parent else None,
            tuple(decoded(word) for word in message.command_line),
        )
        processes[message.index : message.index + 1] = [process]

    def _set_thread(self, message: pb.Thread) -> None:
        threads = self.trace.threads
        _check_index(message.index, len(threads), "thread")
        if message.process >= len(self.trace.processes):
            raise TraceError(field="thread.process", expected="a process", found=message.process)
        threads[message.index : message.index + 1] = [
            Thread(get_number(message, "tid"), message.process, decoded(message.name))
        ]

    def _add_track(self, message: pb.Track) -> None:
        trace = self.trace
        owners = {
            TrackScope.PROCESS: len(trace.processes),
            TrackScope.THREAD: len(trace.threads),
            TrackScope.CPU: _MAX_CPU,
            TrackScope.GLOBAL: 0,
        }
        lowest = -1 if message.scope == TrackScope.GLOBAL else 0
        if (
            message.index != len(trace.tracks)
            or message.scope not in owners
            or not lowest <= message.owner < owners[TrackScope(message.scope)]
            or not -1 <= message.parent < len(trace.tracks)
        ):
            raise TraceError(field="track", expected="its number, owner and parent")
        trace.tracks.append(
            Track(
                decoded(message.name),
                TrackScope(message.scope),
                message.owner,
                message.parent,
                decoded(message.unit),
                get_number(message, "identity"),
            )
        )

    # Batches

    def _batch(self, message: pb.Batch) -> Batch:
        trace, count = self.trace, message.count
        if count > limit("ir.events"):
            raise TraceError(field="batch", expected=allowed("ir.events"), found=count)
        tables = {table.event_class: self._table(table) for table in message.table}
        class_id = unpack(message.event_class, _INT32, count, "event_class")
        checked_ids(class_id, len(trace.event_classes), "event_class")
        rows = np.bincount(class_id, minlength=len(trace.event_classes))
        for number in {*tables, *np.flatnonzero(rows).tolist()}:
            if number not in tables or len(tables[number]) != rows[number]:
                raise TraceError(field="batch", expected=f"{rows[number]} rows of class {number}")
        if message.HasField("row"):
            row = unpack(message.row, _INT32, count, "row")
            _check_rows(class_id, row, rows)
        else:
            row = layout.rows_in_order(class_id)

        def places(column: pb.Numbers, end: int, what: str) -> NDArray[Any]:
            numbers = unpack(column, _INT32, count, what)
            if count and (int(numbers.min()) < -1 or int(numbers.max()) >= end):
                raise TraceError(field=what, expected=f"numbers from -1 to {end - 1}")
            return numbers

        return Batch(
            ts=unpack(message.ts, _INT64, count, "ts"),
            class_id=class_id,
            row=row,
            tables=tables,
            thread=places(message.thread, len(trace.threads), "thread"),
            cpu=places(message.cpu, _MAX_CPU, "cpu"),
            track=places(message.track, len(trace.tracks), "track"),
        )

    def _table(self, message: pb.Table) -> Table:
        trace = self.trace
        if message.event_class >= len(trace.event_classes):
            raise TraceError(field="table", expected="an event class", found=message.event_class)
        fields = trace.event_classes[message.event_class].fields
        if len(message.column) != len(fields) or message.rows > limit("ir.events"):
            raise TraceError(
                field="table", expected=f"{len(fields)} columns", found=len(message.column)
            )
        return Table(
            message.rows,
            [
                unpack_column(column, field.type, message.rows, self._strings, field.name)
                for field, column in zip(fields, message.column, strict=True)
            ],
        )


def _check_index(index: int, length: int, what: str) -> None:
    if index > length:
        raise TraceError(field=f"{what}.index", expected=f"up to {length}", found=index)


def _check_rows(
    class_id: NDArray[np.int32], row: NDArray[np.int32], rows: NDArray[np.int64]
) -> None:
    """Check that each row of each table belongs to one event."""
    if not len(row):
        return
    if int(row.min()) < 0 or (row >= rows[class_id]).any():
        raise TraceError(field="row", expected="rows of their tables")
    starts = np.cumsum(rows) - rows
    if np.bincount(starts[class_id] + row, minlength=len(row)).max() > 1:
        raise TraceError(field="row", expected="an event for each row")


def _symbols(message: pb.Symbols) -> SymbolTable:
    count = message.count
    if count > limit("ir.symbols"):
        raise TraceError(field="symbols.count", expected=allowed("ir.symbols"), found=count)
    addresses = unpack(message.address, _UINT64, count, "symbols.address")
    if (addresses[1:] < addresses[:-1]).any():
        raise TraceError(field="symbols.address", expected="ascending addresses")
    names = unpack_list(message.names, _BYTE, count, StringIds(), "symbols.names")
    return SymbolTable(lambda: (addresses, SymbolNames.of(names)), exact=message.exact)
