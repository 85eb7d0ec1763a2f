"""Positions of complete slices, and of their ends, among the events of their time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.projection.passes.time_order import LAST_TIME


@dataclass(frozen=True, slots=True)
class Ends:
    """Ends of slices that have started: time, number of the begin in the stream and in the source, and location; one
    entry per end.
    """

    ts: NDArray[np.int64]
    begin: NDArray[np.int64]
    number: NDArray[np.int64]
    thread_time: NDArray[np.int64]
    thread: NDArray[np.int32]
    cpu: NDArray[np.int32]
    track: NDArray[np.int32]

    def take(self, which: NDArray[np.intp]) -> Ends:
        """Return some of them."""
        return Ends(*(getattr(self, name)[which] for name in self.__slots__))

    @staticmethod
    def joined(parts: list[Ends]) -> Ends:
        """Return all of several."""
        return Ends(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in Ends.__slots__)
        )


def after_inner_ends(
    around: list[tuple[int, int]],
    new_position: NDArray[np.intp] | None,
    ends: Ends,
    at: NDArray[np.intp],
    before: int,
) -> NDArray[np.intp]:
    """Return the positions of ends, after those at their time of slices inside.

    `around` has the positions of both in a batch, after `before` events.
    """
    # The last end inside counts.
    numbers, positions = (
        np.array(one, np.int64) for one in zip(*dict(around).items(), strict=True)
    )
    order = np.argsort(numbers)
    of_ends = ends.number - before
    found = np.minimum(np.searchsorted(numbers[order], of_ends), len(order) - 1)
    place = positions[order][found]
    place = place if new_position is None else new_position[place]
    is_around = numbers[order][found] == of_ends
    return np.where(is_around, np.maximum(at, place + 1), at)


def before_begins(
    batch: Batch,
    new_position: NDArray[np.intp] | None,
    ends: Ends,
    at: NDArray[np.intp],
    before: int,
) -> NDArray[np.intp]:
    """Return the positions of ends, before all that is on their track at their time, in a stream that is not in order.

    Viewers sort by time, and keep the order of the stream at equal times. `before` is the number of events before the
    batch.
    """
    ts, thread, track = (
        _at_positions(column, new_position) for column in (batch.ts, batch.thread, batch.track)
    )
    own = ends.begin - before
    # The end of a slice without duration stays after its begin.
    moves = np.flatnonzero((own < 0) | (ts[np.maximum(own, 0)] < ends.ts))
    if not _have_common(ends.ts[moves], ts):
        return at
    of_ends = ends.take(moves)
    keys = (
        np.concatenate([of_ends.ts, ts]),
        np.concatenate([of_ends.track, track]),
        np.concatenate([of_ends.thread, thread]),
    )
    order = np.lexsort(keys)
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = np.logical_or.reduce([np.diff(key[order]) != 0 for key in keys])
    group = np.empty(len(order), np.intp)
    group[order] = np.cumsum(is_first) - 1
    first = np.full(np.count_nonzero(is_first), len(batch), np.intp)
    np.minimum.at(first, group[len(moves) :], np.arange(len(ts)))
    result = at.copy()
    result[moves] = np.minimum(at[moves], first[group[: len(moves)]])
    return result


def _have_common(times: NDArray[Any], ts: NDArray[Any]) -> bool:
    """Return True if any of the times is among those of events; `np.isin` would import `numpy.ma`, which is slow."""
    ordered = np.sort(ts)
    first = np.searchsorted(ordered, times, "left")
    return bool((first < np.searchsorted(ordered, times, "right")).any())


def _at_positions(column: NDArray[Any], new_position: NDArray[np.intp] | None) -> NDArray[Any]:
    if new_position is None:
        return column
    result = np.empty_like(column)
    result[new_position] = column
    return result


def begins_before(batch: Batch, at: NDArray[np.intp], begins: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return how many begins of the same time and track precede each event at some positions."""
    if not len(begins) or not _have_common(batch.ts[begins], batch.ts[at]):
        return np.zeros(len(at), np.intp)
    both = np.concatenate([at, begins])
    is_begin = np.arange(len(both)) >= len(at)
    order = np.lexsort((both, batch.track[both], batch.thread[both], batch.ts[both]))
    before = np.cumsum(is_begin[order])
    keys = [column[both[order]] for column in (batch.ts, batch.thread, batch.track)]
    starts = np.ones(len(both), np.bool_)
    starts[1:] = np.logical_or.reduce([np.diff(key) != 0 for key in keys])
    # Those of earlier groups do not count.
    before = before - (before - is_begin[order])[starts][np.cumsum(starts) - 1]
    result = np.empty(len(both), np.intp)
    result[order] = before
    return result[: len(at)]


def longest_first(
    batch: Batch,
    at: NDArray[np.intp],
    durations: NDArray[np.int64],
    turn: NDArray[np.intp] | None,
) -> NDArray[np.intp] | None:
    """Return positions that put outer before inner for slices that begin together on a track; None if they are so
    already.

    Recorders write a complete slice when it ends, so the inner one often comes first. Those of another `turn` keep
    their order: viewers that follow the order of the source have no slice around a begin, or around what takes no time,
    that comes before it.
    """
    ts = batch.ts[at]
    if not (ts[1:] <= ts[:-1]).any():
        return None
    # A slice that never ends is the outermost.
    length = np.where(durations < 0, LAST_TIME, durations)
    together = (ts, batch.thread[at], batch.track[at], batch.cpu[at])
    turns = np.zeros(len(at), np.intp) if turn is None else turn
    wanted = np.lexsort((at, -length, turns, *together))
    present = np.lexsort((at, *together))
    if np.array_equal(wanted, present):
        return None
    new_position = np.arange(len(batch))
    new_position[at[wanted]] = at[present]
    return new_position
