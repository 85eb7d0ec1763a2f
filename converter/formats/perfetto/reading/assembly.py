"""Assembles a batch from parts: the events of one kind of packet in a window each, in the order of their packets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.protobuf.scan import SIZE, START
from converter.formats.perfetto.reading.packets import Window
from converter.ir.columns import Column
from converter.ir.events import Batch, NativeRecords, Table
from converter.kernels.batches.union import DenseUnion, number_rows

Entry = TypeVar("Entry", np.int32, np.int64)


class EventsOfClass:
    """The events of one class among those of a part."""

    __slots__ = ("_number", "_union")

    def __init__(self, union: DenseUnion, number: int) -> None:
        self._union = union
        self._number = number

    @property
    def positions(self) -> NDArray[np.intp]:
        """The positions of the events, as an index array that can be used repeatedly."""
        return self._union.positions(self._number).astype(np.intp)

    def select(self, column: NDArray[Entry]) -> NDArray[Entry]:
        """Return the events' values of a column of the part, which is grouped for all classes at once."""
        return self._union.taken(column, self._number)


@dataclass(frozen=True, slots=True)
class Part:
    """Events in stream order; `packet` (int32, non-decreasing) is the row of each in the window.

    `columns` returns the columns of a class from its events in the part. No two parts of a window share a class.
    """

    packet: NDArray[np.int32]
    ts: NDArray[np.int64]
    class_id: NDArray[np.int32]
    thread: NDArray[np.int32] | None
    cpu: NDArray[np.int32] | None
    track: NDArray[np.int32] | None
    columns: Callable[[int, EventsOfClass], list[Callable[[], Column]]]


class _Grouping:
    """The events of a part by their classes, and the columns of these, decoded lazily."""

    def __init__(self, part: Part, note: Callable[[], None]) -> None:
        self._part = part
        self._note = note
        #: The row of each event in its class.
        self.row = np.empty(len(part.class_id), np.int32)
        counts = np.zeros(int(part.class_id.max(initial=-1)) + 1, np.int32)
        number_rows(part.class_id, self.row, counts)
        #: The number of events of each class.
        self.lengths = {id: int(counts[id]) for id in np.flatnonzero(counts).tolist()}
        self._union = DenseUnion(part.class_id, self.row, self.lengths)
        self._columns: dict[int, list[Callable[[], Column]]] = {}

    def column(self, class_id: int, index: int) -> Column:
        self._note()
        if class_id not in self._columns:
            events = EventsOfClass(self._union, class_id)
            self._columns[class_id] = self._part.columns(class_id, events)
        return self._columns[class_id][index]()


class _Once:
    """A function that runs once, on the thread that first calls it."""

    def __init__(self, do: Callable[[], None]) -> None:
        self._do: Callable[[], None] | None = do
        self._lock = Lock()

    def __call__(self) -> None:
        if self._do is None:
            return
        with self._lock:
            do, self._do = self._do, None
        if do is not None:
            do()


#: The time of an event that has none.
UNTIMED = np.iinfo(np.int64).min


def assemble(
    parts: Sequence[Part],
    widths: Callable[[int], int],
    last_ts: int,
    window: Window,
    note: Callable[[], None],
) -> Batch:
    """Return one batch of all parts of a window; `widths` returns the number of columns of a class.

    `note` is called once, when columns of its records are read.

    Events without a time get that of the previous event; `last_ts` is the one before the batch. A window of packets
    that are not events becomes a batch without events, whose native records are these packets.
    """
    data = window.data.data
    if not parts:
        none = np.zeros(0, np.int64)
        no_ids = np.zeros(0, np.int32)
        native = NativeRecords("perfetto", data, none, none)
        return Batch(ts=none, class_id=no_ids, row=no_ids, tables={}, native=native)
    tables: dict[int, Table] = {}
    noted = _Once(note)
    groupings = [_Grouping(part, noted) for part in parts]
    for grouping in groupings:
        for id, length in grouping.lengths.items():
            tables[id] = Table(
                length, [_column(grouping, id, index) for index in range(widths(id))]
            )
    order = None
    if len(parts) > 1:
        order = np.argsort(np.concatenate([part.packet for part in parts]), kind="stable")

    def joined(columns: list[NDArray[Any] | None], dtype: Any) -> NDArray[Any] | None:
        if all(column is None for column in columns):
            return None
        parts_of_batch = [
            np.full(len(part.ts), -1, dtype) if column is None else column
            for part, column in zip(parts, columns, strict=True)
        ]
        return parts_of_batch[0] if order is None else np.concatenate(parts_of_batch)[order]

    def locations(column: int) -> NDArray[np.int64]:
        packet = joined([part.packet for part in parts], np.int32)
        assert packet is not None
        return np.ascontiguousarray(window.rows[packet, column])

    ts = joined([part.ts for part in parts], np.int64)
    class_id = joined([part.class_id for part in parts], np.int32)
    assert ts is not None
    assert class_id is not None
    untimed = ts == UNTIMED
    if untimed.any():
        before = np.maximum.accumulate(np.where(untimed, -1, np.arange(len(ts))))
        ts = np.where(before < 0, last_ts, ts[before])
    # As no class is in two parts, its rows are in the order of the batch.
    row = joined([grouping.row for grouping in groupings], np.int32)
    assert row is not None
    return Batch(
        ts=ts,
        class_id=class_id,
        row=row,
        tables=tables,
        thread=joined([part.thread for part in parts], np.int32),
        cpu=joined([part.cpu for part in parts], np.int32),
        track=joined([part.track for part in parts], np.int32),
        native=NativeRecords("perfetto", data, lambda: locations(START), lambda: locations(SIZE)),
    )


def _column(grouping: _Grouping, class_id: int, index: int) -> Callable[[], Column]:
    return lambda: grouping.column(class_id, index)
