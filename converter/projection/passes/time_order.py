"""Events in the order of time, for formats whose readers take scheduling as it stands in the file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.trace import Trace


def in_time_order(trace: Trace) -> Trace:
    """The trace with the events of each batch in the order of time; those of equal times keep theirs.

    Recorders drain one CPU's buffer after another, so that a batch has stretches of several CPUs.
    """
    result = dataclasses.replace(trace)
    result.make_batches = lambda: _batches(trace)
    return result


def _batches(trace: Trace) -> Iterator[Batch]:
    for batch in trace.batches():
        order = order_of(batch.ts)
        if order is None:
            yield batch
            continue
        yield reordered(batch, order)


def reordered(batch: Batch, order: NDArray[np.intp]) -> Batch:
    """The events of a batch in an order."""
    return Batch(
        ts=_taken(batch.ts, order),
        class_id=_taken(batch.class_id, order),
        row=_taken(batch.row, order),
        tables=batch.tables,
        thread=_taken(batch.thread, order),
        cpu=_taken(batch.cpu, order),
        track=_taken(batch.track, order),
    )


def order_of(ts: NDArray[np.int64]) -> NDArray[np.intp] | None:
    """The events in the order of their times, those of equal times as they stand; None where they are in it."""
    return None if np.all(ts[:-1] <= ts[1:]) else np.argsort(ts, kind="stable")


def _taken(column: NDArray[Any], order: NDArray[np.intp]) -> NDArray[Any]:
    """The column in an order; a constant stays one."""
    # Clipped, as nothing is out of bounds: NumPy need not check.
    return column if column.strides == (0,) else np.take(column, order, mode="clip")
