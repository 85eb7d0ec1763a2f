"""Clips events of a batch to a window: complete slices do not extend beyond it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import with_integers, without_optional
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.selection.moments import Window

Mask = NDArray[np.bool_]
I64: Final = np.iinfo(np.int64)


def bounds(window: Window) -> tuple[int, int]:
    """Return the first and the last tick of a window; an open end is as far away as 64 bits allow."""
    start = I64.min if window.start is None else window.start
    end = I64.max if window.end is None else window.end
    return min(max(start, I64.min), I64.max), min(max(end, I64.min), I64.max)


def durations(event_class: EventClass, table: Table) -> NDArray[np.int64] | None:
    """Return the durations of the complete slices of a class (the longest: unknown), or None for other classes."""
    if event_class.kind is not Kind.SLICE_COMPLETE:
        return None
    index = event_class.index_of(Role.DURATION)
    if index is None:
        return None
    column, held, valid = without_optional(table.column(index), event_class.fields[index].type)
    if not isinstance(held, IntegerClass) or not isinstance(column, np.ndarray):
        return None
    if column.dtype == np.uint64:
        column = np.minimum(column, np.uint64(I64.max))
    known = column.astype(np.int64)
    return known if valid is None else np.where(valid, known, I64.max)


def clipped(trace: Trace, batch: Batch, window: Window) -> Batch:
    """Return the events of a batch, with those outside a window moved to its bounds."""
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
        # Separable ones: what begins before the window is copied as it was.
        native=batch.native,
    )


def _clipped(event_class: EventClass, batch: Batch, number: int, start: int, end: int) -> Table:
    """Return the rows of a class with complete slices cut to the window."""
    table = batch.tables[number]
    known = durations(event_class, table)
    if known is None:
        return table
    ts = batch.ts[batch.positions(number)]
    first = np.clip(ts, start, end)
    # Sums that overflow are beyond any window.
    last = np.where(known > I64.max - np.maximum(ts, 0), I64.max, ts + known)
    # One that ends before it begins has no length that a window could cut.
    cut = np.where(known < 0, known, np.clip(last, start, end) - first)
    if np.array_equal(cut, known):
        return table
    index = event_class.index_of(Role.DURATION)
    assert index is not None, "durations are known"
    columns: list[Any] = [table.lazy(i) for i in range(table.width)]
    columns[index] = with_integers(table.column(index), cut)
    return Table(len(table), columns)
