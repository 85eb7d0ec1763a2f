"""Converts the events of a trace to rows: with the columns that people read, and those that restore the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from converter.analysis.arrow.arrays import arrow_type
from converter.analysis.arrow.buffers import array_of
from converter.analysis.arrow.tables import EventTables, Scattering
from converter.analysis.columns.field_columns import FieldColumn
from converter.errors import TraceError
from converter.formats.columnar.layout import (
    CLASS,
    EVENT,
    OWN,
    THREAD,
    TICKS,
    TRACK,
    About,
)
from converter.ir.columns import bytes_held, concatenate, constant_column
from converter.ir.events import Batch, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import TICK_ROLES
from converter.ir.trace import Trace
from converter.streaming.pipeline import Pipeline

_NANOSECONDS = Fraction(1_000_000_000)
#: Called with a batch, and the texts in it by column.
Meet = Callable[[Batch, Iterator[tuple[str, list[str]]]], None]
#: Columns that are constant for all events of a class whose name is that of a folder.
_OF_THE_FOLDER = "event"


class Part(NamedTuple):
    """Events of one class, in the order of the stream, and their numbers in it."""

    batch: Batch
    events: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def bytes_held(self) -> int:
        """The memory in bytes that they use."""
        batch = self.batch
        own = (batch.ts, batch.row, batch.thread, batch.cpu, batch.track, self.events)
        fields = (
            table.column(index) for table in batch.tables.values() for index in range(table.width)
        )
        return sum(map(bytes_held, chain(own, fields)))


class Rows:
    """Converts a trace to rows. It is read twice: a table declares its columns before it has a row, and the name of a
    thread may come with its last event.

    Args:
        trace: any trace.
        meet: called with each batch that passes, and its texts (`EventTables.texts`).
    """

    def __init__(self, trace: Trace, meet: Meet | None = None) -> None:
        self._trace = trace
        self._fed: Iterator[Batch] = iter(())
        source = replace(trace, make_batches=lambda: self._fed)
        self._tables = EventTables(source, (), exact=True, reserved=OWN)
        rate = trace.clock.ticks_per_second
        self._is_scaled = rate not in (None, _NANOSECONDS)
        self._classes: dict[int, list[FieldColumn[pa.DataType]]] = {}
        self._events = 0
        for batch in trace.batches():
            self._classes |= self._tables.look_at(batch)
            self._events += len(batch)
            if meet is not None:
                meet(batch, self._tables.texts(batch))
        #: By class and field: the names of columns with ticks, in addition to those in nanoseconds.
        self._ticks = self._named_ticks() if self._is_scaled else {}

    def _shown(self, batch: Batch) -> Batch:
        """Return a batch with its times in nanoseconds."""
        self._fed = iter((batch,))
        return next(self._tables.batches())

    def _named_ticks(self) -> dict[int, dict[int, str]]:
        taken = set(self._tables.schema.names)
        found: dict[int, dict[int, str]] = {}
        for number, columns in self._classes.items():
            fields = self._trace.event_classes[number].fields
            for column in columns:
                field = fields[column.field]
                if column.is_label or field.role not in TICK_ROLES:
                    continue
                if isinstance(field.type, IntegerClass):
                    name = f"{column.name}_ticks"
                    while name in taken:
                        name += "#"
                    taken.add(name)
                    found.setdefault(number, {})[column.field] = name
        return found

    @property
    def trace(self) -> Trace:
        """The trace, whose tables are complete."""
        return self._trace

    @property
    def classes(self) -> list[int]:
        """The numbers of the classes that occur."""
        return sorted(self._classes)

    def about(self) -> About:
        """Return the description of the output in its metadata."""
        clock = self._trace.clock
        rate = clock.ticks_per_second
        return About(
            format=self._trace.format,
            clock=clock.name,
            ticks_per_second=None if rate is None else str(rate),
            epoch_ns=clock.epoch_ns,
            events=self._events,
            columns={number: self._columns_of(number) for number in self._classes},
            has_ticks=self._is_scaled,
        )

    def _columns_of(self, number: int) -> list[str]:
        """Return the column of each field of a class, from which it can be restored."""
        ticks = self._ticks.get(number, {})
        return [
            ticks.get(column.field, column.name)
            for column in self._classes[number]
            if not column.is_label
        ]

    def schema(self, number: int | None = None) -> pa.Schema:
        """Return the columns of a table of all events, or of those of one class that has its own files."""
        own = [pa.field(name, pa.int32()) for name in (CLASS, THREAD, TRACK)]
        if self._is_scaled:
            own.append(pa.field(TICKS, pa.int64()))
        if number is None:
            return self._with_ticks(list(self._tables.schema), own, self._ticks)
        own.append(pa.field(EVENT, pa.int64()))
        fields = {column.name for column in self._classes[number]}
        shown = [
            held
            for held in self._tables.schema
            if held.name in fields
            or (held.name in self._tables.common and held.name != _OF_THE_FOLDER)
        ]
        ticks = {number: self._ticks[number]} if number in self._ticks else {}
        return self._with_ticks(shown, own, ticks)

    def _with_ticks(
        self, shown: list[pa.Field], own: list[pa.Field], ticks: dict[int, dict[int, str]]
    ) -> pa.Schema:
        for number, names in ticks.items():
            fields = self._trace.event_classes[number].fields
            own += [pa.field(name, arrow_type(fields[index].type)) for index, name in names.items()]
        return pa.schema(shown + own)

    def tables(self, schema: pa.Schema, most: int) -> Iterator[pa.Table]:
        """Return the rows of a table of all events: for each batch, tables of `most` rows, and one of the rest.

        With the columns of all classes tables are wide.

        Raises:
            TraceError: the number of rows differs from the first pass.
        """
        for batch in self._batches():
            for start in range(0, len(batch), most):
                yield self._table(batch.select(slice(start, start + most)), schema)

    def parts(self, wanted: Callable[[int], bool]) -> Iterator[tuple[int, Part]]:
        """Return the events of each class, batch by batch. `wanted` is called with the number of events of each batch,
        and selects batches.

        Raises:
            TraceError: the number of rows differs from the first pass.
        """
        count = 0
        for batch in self._batches():
            is_wanted = wanted(len(batch))
            for number, table in batch.tables.items():
                if len(table) and is_wanted:
                    yield number, _part(batch, number, count)
            count += len(batch)

    def table_of_class(self, parts: list[Part], schema: pa.Schema) -> pa.Table:
        """Return the concatenated rows of some parts of a class; the list of parts is emptied."""
        part = _joined_parts(parts)
        parts.clear()
        return self._table(part.batch, schema, part.events)

    def _batches(self) -> Iterator[Batch]:
        """Return the batches of the second pass; each is read and decoded while the previous one is written."""
        count = 0
        with Pipeline(self._trace) as read:
            for batch in read.batches():
                count += len(batch)
                occurring = (number for number, rows in batch.tables.items() if len(rows))
                if any(number not in self._classes for number in occurring):
                    self._check_count(-1)
                yield batch
                del batch
        self._check_count(count)

    def _check_count(self, count: int) -> None:
        if count != self._events:
            raise TraceError(
                "the trace is read twice, and was not the same: write it to a file first",
                expected=f"{self._events} events",
            )

    def _table(
        self, batch: Batch, schema: pa.Schema, events: NDArray[np.int64] | None = None
    ) -> pa.Table:
        piece = self._tables.piece(self._shown(batch))
        arrays = piece.arrays
        arrays[CLASS] = array_of(batch.class_id)
        arrays[THREAD] = array_of(batch.thread)
        arrays[TRACK] = array_of(batch.track)
        arrays[TICKS] = array_of(batch.ts)
        if events is not None:
            arrays[EVENT] = array_of(events)
        scattering = Scattering(batch)
        for number, names in self._ticks.items():
            rows = batch.tables.get(number)
            if rows is None or not len(rows):
                continue
            for index, name in names.items():
                column = rows.column(index)
                assert isinstance(column, np.ndarray)
                values, valid = scattering.placed((number,), [column])
                arrays[name] = array_of(values, valid=valid)
        return self._tables.finished(piece, schema)


def _part(batch: Batch, number: int, before: int) -> Part:
    """Return the events of one class, decoded: the memory of the batch may be freed before they are written."""
    table = batch.tables[number]
    positions = batch.positions(number).astype(np.intp)
    if (positions[1:] < positions[:-1]).any():
        order = np.argsort(positions)
        table, positions = table.select(order), positions[order]

    def at_places(column: NDArray[Any]) -> NDArray[Any]:
        return column[: len(positions)] if column.strides == (0,) else column[positions]

    part = Batch(
        ts=at_places(batch.ts),
        class_id=constant_column(np.int32(number), len(positions)),
        row=np.arange(len(positions), dtype=np.int32),
        tables={number: Table(len(table), [table.column(i) for i in range(table.width)])},
        thread=at_places(batch.thread),
        cpu=at_places(batch.cpu),
        track=at_places(batch.track),
    )
    return Part(part, positions + before)


def _joined_parts(parts: Sequence[Part]) -> Part:
    """Concatenate parts of one class."""
    if len(parts) == 1:
        return parts[0]
    batches = [part.batch for part in parts]
    ((number, first),) = batches[0].tables.items()
    count = sum(map(len, batches))
    columns = [
        concatenate([batch.tables[number].column(index) for batch in batches])
        for index in range(first.width)
    ]
    joined = Batch(
        ts=_concatenated([batch.ts for batch in batches]),
        class_id=constant_column(np.int32(number), count),
        row=np.arange(count, dtype=np.int32),
        tables={number: Table(count, columns)},
        thread=_concatenated([batch.thread for batch in batches]),
        cpu=_concatenated([batch.cpu for batch in batches]),
        track=_concatenated([batch.track for batch in batches]),
    )
    return Part(joined, np.concatenate([part.events for part in parts]))


def _concatenated(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate columns; constants stay constant."""
    first = columns[0]
    if all(column.strides == (0,) and column[0] == first[0] for column in columns):
        return constant_column(first[0], sum(map(len, columns)))
    return np.concatenate(columns)
