"""Collects the columns of batches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.analysis.columns.field_columns import COMMON, FieldColumn, FieldColumns
from converter.analysis.columns.named import Fields, named
from converter.analysis.columns.resolved import labels_of, resolved
from converter.ir.columns import Column
from converter.ir.display.text import utf8_text
from converter.ir.event_columns import EventColumns
from converter.ir.events import Batch, Field
from converter.ir.field_classes import FieldClass, FloatClass, IntegerClass, StringClass
from converter.ir.trace import Trace

_BITS = (1 << 64) - 1
_LATEST = np.iinfo(np.int64).max
_NO_TIME = np.datetime64("NaT", "ns")

#: Some of a column's values, and their positions in it.
Part = tuple[NDArray[np.int64], NDArray[Any]]


def event_columns(
    trace: Trace, events: Iterable[str | Iterable[str]], fields: Collection[str] | None
) -> EventColumns:
    """Return the columns of the events that are wanted."""
    part = named(trace, events)
    wanted = Fields(part, fields)
    collector = ColumnCollector(part, wanted)
    for batch in part.batches():
        collector.add(batch)
    wanted.warn()
    return collector.columns()


def event_column_stream(
    trace: Trace, events: Iterable[str | Iterable[str]], fields: Collection[str] | None
) -> Iterator[EventColumns]:
    """Return the same for each batch that has such events."""
    part = named(trace, events)
    wanted = Fields(part, fields)
    collector = ColumnCollector(part, wanted)
    for batch in part.batches():
        if len(batch):
            collector.clear()
            collector.add(batch)
            yield collector.columns()
    wanted.warn()


class ColumnCollector:
    """Collects batches, and returns the columns of their events."""

    def __init__(self, trace: Trace, wanted: Container[str]) -> None:
        self._trace = trace
        self._wanted = wanted
        self._fields = FieldColumns(type_of, "text")
        self.clear()

    def clear(self) -> None:
        """Start over."""
        self._count = 0
        self._common: dict[str, list[NDArray[Any]]] = {
            name: [] for name in ("ts", "class_id", "cpu", "thread", "track")
        }
        self._parts: dict[str, list[Part]] = {}

    def add(self, batch: Batch) -> None:
        """Add the events of a batch, whose times are in nanoseconds."""
        for name, arrays in self._common.items():
            arrays.append(getattr(batch, name))
        for id, table in batch.tables.items():
            if not len(table):
                continue
            event_class = self._trace.event_classes[id]
            columns = [
                column
                for column in self._fields.columns_of(id, event_class)
                if column.name in self._wanted
            ]
            positions = batch.positions(id).astype(np.int64) + self._count if columns else None
            for column in columns:
                assert positions is not None
                values = self._values(
                    column, event_class.fields[column.field], table.column(column.field)
                )
                self._parts.setdefault(column.name, []).append((positions, values))
        self._count += len(batch)

    def columns(self) -> EventColumns:
        """Return the columns of what was added since the start."""
        common = {
            name: np.concatenate(arrays) if arrays else np.empty(0, np.int64)
            for name, arrays in self._common.items()
        }
        columns: dict[str, Callable[[], NDArray[Any]]] = {
            name: partial(_common_column, self._trace, name, common) for name in COMMON
        }
        for name in self._fields.types:
            if name in self._parts:
                columns[name] = partial(_assembled, self._parts[name], self._count)
        return EventColumns(self._count, columns)

    def _values(self, column: FieldColumn[str], field: Field, values: Column) -> NDArray[Any]:
        if column.is_label:
            assert isinstance(field.type, IntegerClass) and isinstance(values, np.ndarray)
            return labels_of(field.type, values)
        return resolved(field.type, values, self._trace.strings)


def type_of(field: Field) -> str:
    """Return the name of the type that values of a field have in a column."""
    return _type_name(field.type)


def _type_name(held: FieldClass) -> str:
    match held:
        case IntegerClass() | FloatClass():
            return held.dtype.name
        case StringClass():
            return "text"
    return str(held)


def _common_column(trace: Trace, name: str, common: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return one of the columns that all events have."""
    ts, threads, tracks = common["ts"], trace.threads, trace.tracks
    match name:
        case "ts":
            return ts
        case "time":
            return _times(trace, ts)
        case "cpu":
            return masked_column(common["cpu"], common["cpu"] >= 0)
        case "event":
            names = [one.name or one.kind.name.lower() for one in trace.event_classes]
            return name_column(names, common["class_id"])
        case "system":
            return name_column(
                [one.category or None for one in trace.event_classes], common["class_id"]
            )
        case "kind":
            kinds = [one.kind.name.lower() for one in trace.event_classes]
            return name_column(kinds, common["class_id"])
        case "tid":
            return id_column([thread.tid for thread in threads], common["thread"])
        case "pid":
            pids = [trace.processes[thread.process].pid for thread in threads]
            return id_column(pids, common["thread"])
        case "thread":
            return name_column([thread.name or None for thread in threads], common["thread"])
        case "process":
            processes = [trace.processes[thread.process].name or None for thread in threads]
            return name_column(processes, common["thread"])
        case _:
            return name_column([track.name for track in tracks], common["track"])


def _times(trace: Trace, ts: NDArray[np.int64]) -> NDArray[np.datetime64]:
    epoch = trace.clock.epoch_ns
    if epoch is None or trace.clock.ticks_per_second is None:
        return np.full(len(ts), _NO_TIME)
    # Beyond 64 bits of nanoseconds (the year 2262) there is no such type.
    beyond = ts > _LATEST - epoch if epoch >= 0 else ts < -_LATEST - epoch
    times = (np.where(beyond, 0, ts) + epoch).astype("datetime64[ns]")
    times[beyond] = _NO_TIME
    return times


def name_column(names: list[str] | list[str | None], numbers: NDArray[np.int32]) -> NDArray[Any]:
    """Return names by number (-1: none) as objects."""
    table = np.empty(len(names) + 1, object)
    table[:-1] = [None if name is None else utf8_text(name) for name in names]
    return table[numbers]


def id_column(ids: list[int], numbers: NDArray[np.int32]) -> NDArray[Any]:
    """Return ids by number (-1: none); as unsigned 64-bit integers only if one requires it and none is negative."""
    table = np.array([id & _BITS for id in (*ids, 0)], np.uint64)
    if max(ids, default=0) <= _LATEST or min(ids) < 0:
        table = table.view(np.int64)
    return masked_column(table[numbers], numbers >= 0)


def masked_column(values: NDArray[Any], valid: NDArray[np.bool_]) -> NDArray[Any]:
    """Return values, masked where they are not valid; a plain array where all are."""
    return values if valid.all() else np.ma.MaskedArray(values, ~valid)


def _assembled(parts: list[Part], count: int) -> NDArray[Any]:
    """Return one array of the parts of a column; masked, or None, where no part has a value."""
    positions = np.concatenate([positions for positions, _ in parts])
    arrays = [values for _, values in parts]
    result: NDArray[Any] = np.concatenate([np.ma.getdata(values) for values in arrays])
    if any(isinstance(values, np.ma.MaskedArray) for values in arrays):
        absent = np.concatenate([np.ma.getmaskarray(values) for values in arrays])
        result = np.ma.MaskedArray(result, absent)
    if len(positions) == count and bool((positions[1:] > positions[:-1]).all()):
        return result
    if result.dtype == object:
        objects = np.full(count, None, object)
        objects[positions] = result
        return objects
    values = np.zeros(count, result.dtype)
    values[positions] = np.ma.getdata(result)
    valid = np.zeros(count, np.bool_)
    valid[positions] = ~np.ma.getmaskarray(result)
    return masked_column(values, valid)
