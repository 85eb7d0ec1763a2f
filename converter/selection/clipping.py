"""Events of a batch that stay, at times within a window: complete slices reach no further than that."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, OptionalColumn, without_optional
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.selection.moments import Window

Mask = NDArray[np.bool_]
I64: Final = np.iinfo(np.int64)


def bounds(window: Window) -> tuple[int, int]:
    """The first and the last tick of a window: as far from all times as can be, where it is further."""
    start = I64.min if window.start is None else window.start
    end = I64.max if window.end is None else window.end
    return min(max(start, I64.min), I64.max), min(max(end, I64.min), I64.max)


def durations(event_class: EventClass, table: Table) -> NDArray[np.int64] | None:
    """How long the complete slices of a class are (-1: not known); None for other classes."""
    if event_class.kind is not Kind.SLICE_COMPLETE:
        return None
    index = event_class.index_of(Role.DURATION)
    if index is None:
        return None
    column, held, valid = without_optional(table.column(index), event_class.fields[index].type)
    if not isinstance(held, IntegerClass) or not isinstance(column, np.ndarray):
        return None
    known = column.astype(np.int64)
    return known if valid is None else np.where(valid, known, -1)


def clipped(trace: Trace, batch: Batch, window: Window) -> Batch:
    """The events of a batch, moved into a window where they are not in it."""
    start, end = bounds(window)
    return Batch(
        ts=np.clip(batch.ts, start, end),
        class_id=batch.class_id,
        row=batch.row,
        tables={
            number: _clipped(trace.event_classes[number], batch, number, start, end)
            for number in batch.tables
        },
        thread=batch.thread,
        cpu=batch.cpu,
        track=batch.track,
    )


def _clipped(event_class: EventClass, batch: Batch, number: int, start: int, end: int) -> Table:
    """The rows of a class with complete slices cut to the window."""
    table = batch.tables[number]
    known = durations(event_class, table)
    if known is None:
        return table
    ts = batch.ts[batch.positions(number)]
    first = np.clip(ts, start, end)
    # Sums that do not fit are beyond any window.
    last = np.where(known > I64.max - np.maximum(ts, 0), I64.max, ts + known)
    cut = np.where(known < 0, known, np.clip(last, start, end) - first)
    if np.array_equal(cut, known):
        return table
    index = event_class.index_of(Role.DURATION)
    assert index is not None, "durations are known"
    columns: list[Any] = [table.lazy(i) for i in range(table.width)]
    columns[index] = _with_values(table.column(index), cut)
    return Table(len(table), columns)


def _with_values(column: Column, values: NDArray[np.int64]) -> Column:
    """Other values in a column of integers, which may be optional."""
    if isinstance(column, OptionalColumn):
        return OptionalColumn(column.valid, _with_values(column.values, values))
    assert isinstance(column, np.ndarray), "durations are integers"
    return values.astype(column.dtype)
