"""Event classes and batches: events in columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import constant_column, order_of
from converter.ir.field_classes import FieldClass, type_name
from converter.ir.kinds import Kind, Role
from converter.ir.tables import Table
from converter.kernels.batches.union import DenseUnion

__all__ = ["Batch", "EventClass", "Field", "NativeRecords", "Table", "decode"]

#: The number of events of a batch that a notebook shows.
_LISTED: Final = 10
#: The maximum number of fields of a class in `repr`.
_NAMED: Final = 12


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an event class: payload, or context if the role says so."""

    name: str
    type: FieldClass
    role: Role = Role.NONE
    unit: str = ""

    def __hash__(self) -> int:
        # Without the type, as field classes are deep, and fields of one name and role seldom have different ones.
        return hash((self.name, self.role))

    def __repr__(self) -> str:
        """Return the field in one line: its name, type, and role."""
        role = "" if self.role is Role.NONE else f", {self.role.name.lower()}"
        unit = f", {self.unit}" if self.unit else ""
        return f"<Field {self.name}: {type_name(self.type)}{role}{unit}>"


@dataclass(frozen=True, slots=True)
class EventClass:
    """The declaration that all events of a class share.

    For tracepoints `name` and `category` are the event's name and system; for timeline kinds, whose names vary by
    event, name and category are fields of that role and these two are empty.
    `timed` is False for records without a time of their own: `Batch.ts` then repeats the time of the event before (0 if
    there is none), and the canonical form leaves it out. `native` is the source's own declaration, verbatim.
    """

    kind: Kind
    name: str = ""
    category: str = ""
    fields: tuple[Field, ...] = ()
    timed: bool = True
    native: bytes = b""

    def __hash__(self) -> int:
        # By the names of the fields: field classes are deep, and classes with the same names seldom differ.
        return hash((self.kind, self.name, self.category, *[field.name for field in self.fields]))

    def index_of(self, role: Role) -> int | None:
        """Return the index of the first field with `role`, or None."""
        for i, field in enumerate(self.fields):
            if field.role is role:
                return i
        return None

    def __repr__(self) -> str:
        """Return the class in one line; the file determines how many fields it has, so not all are listed."""
        name = f"{self.category}:{self.name}" if self.category and self.name else self.name
        shown = ", ".join(field.name for field in self.fields[:_NAMED])
        more = f", and {len(self.fields) - _NAMED} more" if len(self.fields) > _NAMED else ""
        return f"<EventClass {self.kind.name.lower()} {name!r}: {shown or 'no fields'}{more}>"


def class_label(event_class: EventClass) -> str:
    """Return a class's label: category and name, or its kind if names vary by event."""
    if event_class.category and event_class.name:
        return f"{event_class.category}:{event_class.name}"
    return event_class.name or event_class.kind.name.lower()


class NativeRecords:
    """The bytes that a batch was read from: the same format's writer replays them.

    `data` is a contiguous range of the source, including records without events. Event i of the batch is
    ``data[starts[i]:starts[i] + sizes[i]]``; a record that holds several events belongs to each of them. The ranges of
    consecutive batches join without a gap. `data`, `starts` and `sizes` (int64, one per event) may be given as
    functions, called when first needed.

    Records that are `separable` mean the same without the others of their batch: a selection keeps those of its events.
    Only they need not join, nor be in the order of the events.
    """

    __slots__ = ("_data", "_sizes", "_starts", "format", "separable")

    def __init__(
        self,
        format: str,
        data: memoryview | Callable[[], memoryview],
        starts: _Offsets,
        sizes: _Offsets,
        *,
        separable: bool = False,
    ) -> None:
        self.format = format
        self.separable = separable
        self._data = data
        self._starts = starts
        self._sizes = sizes

    @property
    def data(self) -> memoryview:
        """The bytes."""
        if callable(self._data):
            self._data = self._data()
        return self._data

    @property
    def starts(self) -> NDArray[np.int64]:
        """The offset in `data` of the record of each event."""
        if callable(self._starts):
            self._starts = self._starts()
        return self._starts

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The size in bytes of the record of each event."""
        if callable(self._sizes):
            self._sizes = self._sizes()
        return self._sizes

    def select(self, places: NDArray[Any] | slice) -> NativeRecords | None:
        """Return the records of the events at these positions; None if they need the others."""
        if not self.separable:
            return None
        return NativeRecords(
            self.format,
            lambda: self.data,
            lambda: self.starts[places],
            lambda: self.sizes[places],
            separable=True,
        )


_Offsets = NDArray[np.int64] | Callable[[], NDArray[np.int64]]


class Batch:
    """Events in stream order: columns common to all of them, plus one table per event class (a dense union).

    Event i is row ``row[i]`` of ``tables[class_id[i]]``. Columns (each of shape (n,), -1 = none): ts int64 ticks of the
    trace's clock; class_id, row, thread, cpu, track int32. A constant column may be a broadcast array of stride 0.
    Arrays are not written to once the batch is made.
    """

    __slots__ = (
        "_ordered",
        "_union",
        "class_id",
        "cpu",
        "native",
        "row",
        "tables",
        "thread",
        "track",
        "ts",
    )

    def __init__(
        self,
        *,
        ts: NDArray[np.int64],
        class_id: NDArray[np.int32],
        row: NDArray[np.int32],
        tables: Mapping[int, Table],
        thread: NDArray[np.int32] | None = None,
        cpu: NDArray[np.int32] | None = None,
        track: NDArray[np.int32] | None = None,
        native: NativeRecords | None = None,
    ) -> None:
        absent = constant_column(np.int32(-1), len(ts))
        self.ts = ts
        self.class_id = class_id
        self.row = row
        self.thread = absent if thread is None else thread
        self.cpu = absent if cpu is None else cpu
        self.track = absent if track is None else track
        self.tables = dict(tables)
        self.native = native
        self._union: DenseUnion | None = None
        #: Times, and their order.
        self._ordered: tuple[NDArray[np.int64], NDArray[np.intp] | None] | None = None

    def __len__(self) -> int:
        return len(self.ts)

    def __repr__(self) -> str:
        """Return the batch in one line."""
        span = f" from {self.ts.min()} to {self.ts.max()}" if len(self) else ""
        return f"<Batch of {len(self)} events of {len(self.tables)} classes{span}>"

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the columns of the first events."""
        from converter.ir.display.html import html_table

        columns = ("ts", "class_id", "row", "cpu", "thread", "track")
        heads = [getattr(self, name)[:_LISTED].tolist() for name in columns]
        what = f"Batch of {len(self):,} events of {len(self.tables):,} classes"
        return html_table(what, columns, zip(*heads, strict=True), len(self) - _LISTED)

    def with_tables(self, tables: Mapping[int, Table]) -> Batch:
        """Return the same events with these tables, and without the records that they were read from."""
        result = Batch(
            ts=self.ts,
            class_id=self.class_id,
            row=self.row,
            tables=tables,
            thread=self.thread,
            cpu=self.cpu,
            track=self.track,
        )
        result._ordered = self._ordered
        return result

    def at_times(self, ts: NDArray[np.int64]) -> Batch:
        """Return the same events at other times, and without the records that they were read from."""
        moved = self.with_tables(self.tables)
        moved.ts = ts
        return moved

    def select(self, places: NDArray[Any] | slice) -> Batch:
        """Return the events at these positions (`places`), in their order; tables without any of them are left out.

        Of the records that they were read from, separable ones stay.
        """
        class_id = self.class_id[places]
        of = self.row[places]
        row = np.empty(len(of), np.int32)
        tables = {}
        present = np.flatnonzero(np.bincount(class_id)).tolist() if len(class_id) else []
        for number in present:
            at = np.flatnonzero(class_id == number)
            rows = of[at]
            row[at] = np.arange(len(at), dtype=np.int32)
            table = self.tables[number]
            is_whole = len(rows) == len(table) and bool(np.all(rows[1:] > rows[:-1]))
            tables[number] = table if is_whole else table.select(rows)
        return Batch(
            ts=self.ts[places],
            class_id=class_id,
            row=row,
            tables=tables,
            thread=self.thread[places],
            cpu=self.cpu[places],
            track=self.track[places],
            native=None if self.native is None else self.native.select(places),
        )

    @property
    def time_order(self) -> NDArray[np.intp] | None:
        """The stable order of the events by time, None where they are in it. Found once for each array of times."""
        if self._ordered is None or self._ordered[0] is not self.ts:
            self._ordered = self.ts, order_of(self.ts)
        return self._ordered[1]

    @property
    def union(self) -> DenseUnion:
        """The positions of the rows of each class."""
        if self._union is None:
            lengths = {number: len(table) for number, table in self.tables.items()}
            self._union = DenseUnion(self.class_id, self.row, lengths)
        return self._union

    def positions(self, class_id: int) -> NDArray[np.int32]:
        """Return the positions in the batch of the events of a class: entry r is the position of row r."""
        return self.union.positions(class_id)


def decode(batch: Batch) -> None:
    """Decode all columns of a batch; afterwards any thread may read it."""
    for table in batch.tables.values():
        table.columns()
