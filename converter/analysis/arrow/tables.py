"""Events as Arrow tables: one row per event, columns that all events have, and a column for each field.

The columns of all events are

- ``ts``, the time as a duration since the trace's clock was zero (ticks if the clock's rate is unknown), and
  ``time``, the same as a date and time, null if the clock is not related to any;
- ``event``, ``system`` and ``kind``: the name of the event class (its kind if names vary by event and are a field),
  its category, and its kind;
- ``cpu``, ``tid``, ``pid``, ``thread``, ``process`` and ``track``, null if an event has none.

A field has a column of its name, which classes share if its type is the same in them. If that name is taken, the column
is called ``event.field``. The labels of an enumeration for the values of ``field`` are in ``field_label``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from converter.analysis.arrow.arrays import (
    TEXT,
    arrow_array,
    arrow_type,
    label_array,
    named_array,
    text_array,
    texts_of,
)
from converter.analysis.arrow.buffers import array_of
from converter.analysis.arrow.tasks import TASK_COLUMNS, task_arrays
from converter.analysis.columns.field_columns import COMMON, FieldColumn, FieldColumns
from converter.analysis.columns.named import named
from converter.ir.display.text import utf8_text
from converter.ir.distinct_values import distinct
from converter.ir.events import Batch, Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import TICK_ROLES
from converter.ir.trace import Trace
from converter.kernels.batches.union import put

_DURATION = pa.duration("ns")
_LATEST = np.iinfo(np.int64).max


def table(trace: Trace, events: Iterable[str | Iterable[str]] = ()) -> pa.Table:
    """Return the events that are wanted, in memory: one pass over the trace.

    Args:
        trace: the trace; times, and fields that count ticks, are rounded down to nanoseconds.
        events: patterns of names, as for `Selection.events`; all events by default. Each field of each class that
            occurs is a column: name events if a trace has many.
    """
    tables = EventTables(trace, events)
    pieces = [tables.piece(batch) for batch in tables.batches() if len(batch)]
    # Names of threads may come with later events, and columns with later classes.
    found = [tables.finished(piece) for piece in pieces]
    return pa.concat_tables([pa.Table.from_batches([], tables.schema), *found]).unify_dictionaries()


def reader(trace: Trace, events: Iterable[str | Iterable[str]] = ()) -> pa.RecordBatchReader:
    """Return the events that are wanted, batch by batch: memory is bounded by a batch.

    A stream of Arrow's declares its columns in advance: the trace is read twice.
    """
    tables = EventTables(trace, events)
    for batch in tables.batches():
        tables.look_at(batch)
    schema = tables.schema

    batches = (tables.finished(tables.piece(batch)).to_batches() for batch in tables.batches())
    return pa.RecordBatchReader.from_batches(schema, chain.from_iterable(batches))


class Piece(NamedTuple):
    """The columns of a batch, except those that depend on its tasks."""

    arrays: dict[str, pa.Array]
    thread: NDArray[np.int32]
    track: NDArray[np.int32]


class EventTables:
    """Makes tables of the batches of a trace. Classes are added when they first occur, and their columns with them.

    With `exact` values can be restored (`arrow_type`), and no field's column has a name in `reserved`.
    """

    def __init__(
        self,
        trace: Trace,
        events: Iterable[str | Iterable[str]],
        *,
        exact: bool = False,
        reserved: Iterable[str] = (),
    ) -> None:
        self._trace = named(trace, events)
        clock = self._trace.clock
        rate = clock.ticks_per_second
        self._ts = pa.int64() if rate is None else _DURATION
        self._common = {
            "ts": self._ts,
            "time": pa.timestamp("ns", "UTC"),
            "event": TEXT,
            "system": TEXT,
            "kind": TEXT,
            "cpu": pa.int32(),
            **TASK_COLUMNS,
        }
        self._exact = exact
        self._none: dict[pa.DataType, pa.Array] = {}
        type_of = partial(_type_of, exact=exact)
        self._fields = FieldColumns(type_of, TEXT, taken=frozenset({*COMMON, *reserved}))
        about = {
            "format": trace.format,
            "clock": clock.name,
            "ticks_per_second": None if rate is None else str(rate),
            "epoch_ns": clock.epoch_ns,
        }
        self._metadata = {"traceconv": json.dumps(about)}
        self._schema = pa.schema(self._common.items(), self._metadata)

    @property
    def common(self) -> Collection[str]:
        """The names of the columns that all events have."""
        return self._common.keys()

    @property
    def schema(self) -> pa.Schema:
        """The columns of the classes that occurred so far; the metadata describes the clock."""
        if len(self._schema) != len(self._common) + len(self._fields.types):
            columns = self._common | self._fields.types
            self._schema = pa.schema(columns.items(), self._metadata)
        return self._schema

    def batches(self) -> Iterator[Batch]:
        """Return the batches of the trace, with times in nanoseconds."""
        return self._trace.batches()

    def look_at(self, batch: Batch) -> dict[int, list[FieldColumn[pa.DataType]]]:
        """Return the columns of the classes that occur in a batch, adding the new ones."""
        classes = self._trace.event_classes
        occurring = (id for id, rows in batch.tables.items() if len(rows))
        return {id: self._fields.columns_of(id, classes[id]) for id in occurring}

    def texts(self, batch: Batch) -> Iterator[tuple[str, list[str]]]:
        """Return the texts in the columns of text, except those of tasks; for a column perhaps in several lists."""
        columns_of = self.look_at(batch)
        for name, names in self._class_names(columns_of).items():
            yield name, [utf8_text(text) for text in names if text is not None]
        for id, columns in columns_of.items():
            for column in columns:
                if column.type == TEXT:
                    yield column.name, self._texts(batch, id, column)

    def _texts(self, batch: Batch, id: int, column: FieldColumn[pa.DataType]) -> list[str]:
        ids = self._flat(batch, id, column)
        if ids is None:
            found: list[str] = self._array(batch, id, column).dictionary.to_pylist()
            return found
        return texts_of(ids, self._trace.strings, exact=self._exact)

    def piece(self, batch: Batch) -> Piece:
        """Return the columns of a batch."""
        parts: dict[str, list[tuple[int, FieldColumn[pa.DataType]]]] = {}
        for id, columns in self.look_at(batch).items():
            for column in columns:
                parts.setdefault(column.name, []).append((id, column))
        arrays = self._common_arrays(batch)
        scattering = Scattering(batch)
        for name, held_by in parts.items():
            arrays[name] = self._scattered(batch, scattering, held_by)
        return Piece(arrays, batch.thread, batch.track)

    def finished(self, piece: Piece, schema: pa.Schema | None = None) -> pa.Table:
        """Return the table of a piece, with all columns known now or those of a schema, and with the current names of
        threads.
        """
        schema = schema or self.schema
        arrays = piece.arrays | task_arrays(self._trace, piece.thread, piece.track)
        length = len(piece.thread)
        columns = [
            arrays[column.name] if column.name in arrays else self._nulls(length, column.type)
            for column in schema
        ]
        return pa.table(columns, schema)

    def _nulls(self, length: int, kind: pa.DataType) -> pa.Array:
        """Return nulls, which are shared by all columns of a type."""
        nulls = self._none.get(kind)
        if nulls is None or len(nulls) < length:
            nulls = self._none[kind] = pa.nulls(length, kind)
        return nulls.slice(0, length)

    def _common_arrays(self, batch: Batch) -> dict[str, pa.Array]:
        ids, numbers = distinct(batch.class_id)
        names = self._class_names(ids.tolist())
        return {
            "ts": array_of(batch.ts, self._ts),
            "time": self._time(batch.ts),
            "cpu": array_of(batch.cpu, valid=batch.cpu >= 0),
            **{name: named_array(numbers, texts) for name, texts in names.items()},
        }

    def _class_names(self, ids: Iterable[int]) -> dict[str, list[str | None]]:
        """Return the contents of the columns that describe the class of an event."""
        classes = [self._trace.event_classes[id] for id in ids]
        return {
            "event": [one.name or one.kind.name.lower() for one in classes],
            "system": [one.category or None for one in classes],
            "kind": [one.kind.name.lower() for one in classes],
        }

    def _time(self, ts: NDArray[np.int64]) -> pa.Array:
        epoch = self._trace.clock.epoch_ns
        if epoch is None or self._trace.clock.ticks_per_second is None:
            return pa.nulls(len(ts), self._common["time"])
        # Beyond 64 bits of nanoseconds (the year 2262) there is no such type.
        beyond = ts > _LATEST - epoch if epoch >= 0 else ts < -_LATEST - epoch
        return array_of(np.where(beyond, 0, ts) + epoch, self._common["time"], valid=~beyond)

    def _scattered(
        self,
        batch: Batch,
        scattering: Scattering,
        parts: Sequence[tuple[int, FieldColumn[pa.DataType]]],
    ) -> pa.Array:
        """Return a column of the table, whose values are in columns of one or more classes."""
        classes = tuple(id for id, _ in parts)
        flat = [self._flat(batch, id, column) for id, column in parts]
        columns = [values for values in flat if values is not None]
        if len(columns) < len(flat):
            arrays = [self._array(batch, id, column) for id, column in parts]
            return scattering.scattered(classes, arrays)
        kind = parts[0][1].type
        if kind == TEXT:
            ids, _ = scattering.placed(classes, columns, absent=-1)
            return text_array(ids, self._trace.strings, exact=self._exact)
        values, valid = scattering.placed(classes, columns)
        return array_of(values, kind, valid=valid)

    def _flat(self, batch: Batch, id: int, column: FieldColumn[pa.DataType]) -> NDArray[Any] | None:
        """Return the numbers, or the ids of texts, in a column; None if it has others."""
        values = batch.tables[id].column(column.field)
        if column.is_label or not isinstance(values, np.ndarray):
            return None
        if column.type != _DURATION:
            return values
        # More than 63 bits of nanoseconds are not a time; in a file they are only restored.
        fitting = values if self._exact else np.minimum(values, values.dtype.type(_LATEST))
        return fitting.astype(np.int64, copy=False)

    def _array(self, batch: Batch, id: int, column: FieldColumn[pa.DataType]) -> pa.Array:
        """Return a column of one class."""
        values = batch.tables[id].column(column.field)
        field_class = self._trace.event_classes[id].fields[column.field].type
        if column.is_label:
            assert isinstance(field_class, IntegerClass) and isinstance(values, np.ndarray)
            return label_array(field_class, values)
        return arrow_array(field_class, values, self._trace.strings, exact=self._exact)


def _type_of(field: Field, *, exact: bool) -> pa.DataType:
    is_ticks = isinstance(field.type, IntegerClass) and field.type.bits == 64
    if is_ticks and field.role in TICK_ROLES:
        return _DURATION
    return arrow_type(field.type, exact=exact)


class Scattering:
    """Scatters values of some classes to the positions of their events in a batch."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        # Columns of the same classes have their values at the same positions.
        self._rows: dict[tuple[int, ...], pa.Array | None] = {}
        self._positions: dict[int, NDArray[np.intp]] = {}

    def scattered(self, classes: tuple[int, ...], arrays: Sequence[pa.Array]) -> pa.Array:
        """Return one array of the values of several classes; null for events of others.

        Args:
            classes: the numbers of the classes.
            arrays: the values of each, one for each row of its table.
        """
        rows = self._rows_of(classes)
        array = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
        return array if rows is None else array.take(rows)

    def placed(
        self, classes: tuple[int, ...], columns: Sequence[NDArray[Any]], *, absent: int = 0
    ) -> tuple[NDArray[Any], pa.Buffer | None]:
        """Do the same with columns of one type; return the values, `absent` for events of other classes, and the bits
        of those that are not (None: all).
        """
        rows = self._rows_of(classes)
        if rows is None:
            return columns[0], None
        dtype = columns[0].dtype
        # Memory of zeros costs nothing where no value is put.
        values = np.full(len(rows), absent, dtype) if absent else np.zeros(len(rows), dtype)
        for number, column in zip(classes, columns, strict=True):
            values[self._positions[number]] = column
        return values, rows.buffers()[0]

    def _rows_of(self, classes: tuple[int, ...]) -> pa.Array | None:
        """Return the index of each event's value; None if they are in order."""
        if classes not in self._rows:
            self._rows[classes] = self._new_rows(classes)
        return self._rows[classes]

    def _new_rows(self, classes: tuple[int, ...]) -> pa.Array | None:
        length = len(self._batch)
        positions_by_class = [self._batch.positions(number) for number in classes]
        first = positions_by_class[0]
        if (
            len(positions_by_class) == 1
            and len(first) == length
            and bool((first[1:] > first[:-1]).all())
        ):
            return None
        rows = np.full(length, -1, np.int32)
        start = 0
        for number, positions in zip(classes, positions_by_class, strict=True):
            put(rows, positions, np.arange(start, start + len(positions), dtype=np.int32))
            start += len(positions)
            if number not in self._positions:
                self._positions[number] = positions.astype(np.intp)
        return array_of(rows, valid=rows >= 0)
