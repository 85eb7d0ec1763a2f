"""Sorts events by time, for formats whose readers process scheduling events in file order."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, OptionalColumn
from converter.ir.events import Batch
from converter.ir.trace import Trace

LAST_TIME: Final = np.iinfo(np.int64).max


def in_time_order(trace: Trace) -> Trace:
    """Return the trace with the events of each batch in time order; those at equal times keep theirs.

    Recorders drain one CPU's buffer after another, so a batch consists of runs of several CPUs.
    """
    result = dataclasses.replace(trace)
    result.make_batches = lambda: _batches(trace)
    return result


def _batches(trace: Trace) -> Iterator[Batch]:
    for batch in trace.batches():
        order = batch.time_order
        if order is None:
            yield batch
            continue
        yield reordered(batch, order)


def reordered(batch: Batch, order: NDArray[np.intp]) -> Batch:
    """Return the events of a batch in an order."""
    return Batch(
        ts=_reordered_column(batch.ts, order),
        class_id=_reordered_column(batch.class_id, order),
        row=_reordered_column(batch.row, order),
        tables=batch.tables,
        thread=_reordered_column(batch.thread, order),
        cpu=_reordered_column(batch.cpu, order),
        track=_reordered_column(batch.track, order),
    )


def at_shared_times(
    ts: NDArray[np.int64], order: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Return the positions of events at a time that others have, too, ordered by time; of one time as they come.

    `order` is that of the events by time, None where they are in it.
    """
    times = ts if order is None else ts[order]
    same = np.zeros(len(times) + 1, np.bool_)
    same[1:-1] = times[1:] == times[:-1]
    shared = np.flatnonzero(same[1:] | same[:-1])
    return shared if order is None else order[shared]


def _reordered_column(column: NDArray[Any], order: NDArray[np.intp]) -> NDArray[Any]:
    """Return the column in an order; a constant stays one."""
    # Nothing is out of bounds; with "clip", NumPy need not check.
    return column if column.strides == (0,) else np.take(column, order, mode="clip")


def ticks(column: Column) -> NDArray[np.int64]:
    """Return durations as int64, -1 if absent."""
    if isinstance(column, OptionalColumn):
        return np.where(column.valid, ticks(column.values), -1)
    assert isinstance(column, np.ndarray)
    if column.dtype == np.uint64:
        column = np.minimum(column, np.uint64(LAST_TIME))
    return column.astype(np.int64)
