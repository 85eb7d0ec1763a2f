"""Helpers for passes that add classes: renumber the classes of batches, and insert events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import concatenate, renumbered
from converter.ir.events import Batch, Table
from converter.ir.trace import Trace, Track
from converter.kernels.batches.union import looked_up


class FollowedTracks:
    """The tracks of a trace in a list that others are added to; the trace may get more while it is read."""

    def __init__(self, source: Trace, tracks: list[Track]) -> None:
        self._source = source
        self._tracks = tracks
        #: By the index of a track of the source: its index here.
        self._numbers: list[int] = []

    def renumbered(self, track: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a column of indices of the source's tracks as indices of these, with all tracks so far."""
        for one in self._source.tracks[len(self._numbers) :]:
            parent = self._numbers[one.parent] if one.parent >= 0 else -1
            self._numbers.append(self.add(replace(one, parent=parent)))
        return renumbered(track, self._numbers)

    def add(self, track: Track) -> int:
        """Add a track, and return its index."""
        self._tracks.append(track)
        return len(self._tracks) - 1


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
