"""Helpers for passes that add classes: renumber the classes of batches, and insert events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import concatenate
from converter.ir.events import Batch, Table
from converter.kernels.batches.union import looked_up


def in_classes(
    batch: Batch, numbers: Sequence[int], tables: Mapping[int, Table] | None = None
) -> Batch:
    """Return the batch with the number of each class replaced by its entry in `numbers`.

    `tables` replace the batch's own, by the new numbers.
    """
    same = [numbers[number] for number in batch.tables] == list(batch.tables)
    if same and tables is None:
        return batch
    tables = batch.tables if tables is None else tables
    return Batch(
        ts=batch.ts,
        class_id=batch.class_id if same else looked_up(np.array(numbers, np.int32), batch.class_id),
        row=batch.row,
        tables={numbers[number]: table for number, table in tables.items()},
        thread=batch.thread,
        cpu=batch.cpu,
        track=batch.track,
    )


def with_events_behind(
    batch: Batch,
    at: NDArray[np.integer[Any]],
    added: Mapping[int, tuple[NDArray[np.integer[Any]], Table]],
    track: NDArray[np.int32],
) -> Batch:
    """Return the batch with an event after each of those at the positions `at`, with its thread, CPU and time.

    Args:
        batch: in the numbers of the result.
        at: ascending positions in the batch; a repeated one gets as many events after it, in this order.
        added: by the number of a class, the entries of `at` that its events follow, and their table.
        track: of each new event.
    """
    return _with_events(batch, at, at + 1, added, track)


def with_events_before(
    batch: Batch,
    at: NDArray[np.integer[Any]],
    added: Mapping[int, tuple[NDArray[np.integer[Any]], Table]],
    track: NDArray[np.int32],
) -> Batch:
    """Return the batch with an event before each of those at the positions `at`; see `with_events_behind`."""
    return _with_events(batch, at, at, added, track)


def _with_events(
    batch: Batch,
    at: NDArray[np.integer[Any]],
    positions: NDArray[np.integer[Any]],
    added: Mapping[int, tuple[NDArray[np.integer[Any]], Table]],
    track: NDArray[np.int32],
) -> Batch:
    tables = dict(batch.tables)
    class_id, row = np.empty(len(at), np.int32), np.empty(len(at), np.int32)
    for number, (which, table) in added.items():
        tables[number] = table
        class_id[which] = number
        row[which] = np.arange(len(table), dtype=np.int32)
    return Batch(
        ts=np.insert(batch.ts, positions, batch.ts[at]),
        class_id=np.insert(batch.class_id, positions, class_id),
        row=np.insert(batch.row, positions, row),
        tables=tables,
        thread=np.insert(batch.thread, positions, batch.thread[at]),
        cpu=np.insert(batch.cpu, positions, batch.cpu[at]),
        track=np.insert(batch.track, positions, track),
    )


def joined(first: Batch, second: Batch) -> Batch:
    """Return the events of two batches of one trace as one batch."""
    tables = dict(second.tables)
    row = second.row
    for number, table in first.tables.items():
        other = tables.get(number)
        if other is None or not len(other):
            tables[number] = table
            continue
        columns = [concatenate([table.column(i), other.column(i)]) for i in range(table.width)]
        tables[number] = Table(len(table) + len(other), columns)
        row = np.where(second.class_id == number, row + np.int32(len(table)), row)
    return Batch(
        ts=np.concatenate([first.ts, second.ts]),
        class_id=np.concatenate([first.class_id, second.class_id]),
        row=np.concatenate([first.row, row]),
        tables=tables,
        thread=np.concatenate([first.thread, second.thread]),
        cpu=np.concatenate([first.cpu, second.cpu]),
        track=np.concatenate([first.track, second.track]),
    )
