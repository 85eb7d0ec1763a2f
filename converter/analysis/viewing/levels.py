"""A coarser timeline, for pages that would be too large: short items close together are merged."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.analysis.viewing.arrange import Run, Timeline
from converter.analysis.viewing.gather import OPEN
from converter.analysis.viewing.states import ThreadStates

#: Bits of an item's number that are combined with its duration for sorting.
_BITS: Final = 22


def coarsened(timeline: Timeline, unit: int) -> None:
    """Merge all items of a row that are shorter than `unit` and begin in the same multiple of it.

    The merged item has the name of the longest; its `count` and `busy` are their number and total duration. Instants
    are merged in the same way; a counter keeps its extremes.
    """
    items = timeline.items
    counts = timeline.run_count[timeline.run_kind != Run.COUNTER]
    run = np.repeat(np.arange(len(counts)), counts)
    took = np.where(items["end"] == OPEN, OPEN, items["end"] - items["ts"])
    short = took < unit
    cell = (items["ts"] - timeline.start) // unit
    first = np.ones(len(run), np.bool_)
    first[1:] = (run[1:] != run[:-1]) | (cell[1:] != cell[:-1]) | ~short[1:] | ~short[:-1]
    starts = np.flatnonzero(first)
    if not len(starts):
        return
    length = np.diff(np.append(starts, len(run)))
    inside = np.minimum(np.arange(len(run)) - np.repeat(starts, length), (1 << _BITS) - 1)
    longest = np.where(short, (np.minimum(took, unit) << _BITS) + inside, inside)
    longest = np.maximum.reduceat(longest, starts) & ((1 << _BITS) - 1)
    chosen = starts + longest
    merged = length > 1
    busy = np.add.reduceat(np.where(short, took, 0), starts)
    for name in ("name", "kind", "who", "row", "location"):
        items[name] = items[name][chosen]
    items["last_row"] = items["last_row"][chosen]
    for name in ("source", "last"):
        items[name] = np.where(merged, -1, items[name][starts])
    items["end"] = items["end"][starts + length - 1]
    items["ts"] = items["ts"][starts]
    items["count"], items["busy"] = length, np.where(merged, busy, 0)
    timeline.run_count[timeline.run_kind != Run.COUNTER] = np.bincount(
        run[starts], minlength=len(counts)
    )
    _coarsen_counters(timeline, unit)


def coarsened_states(states: ThreadStates, start: int, unit: int) -> ThreadStates:
    """Return one state of each thread for each multiple of `unit`: that which lasts longest there."""
    if not len(states.ts):
        return states
    track = np.repeat(np.arange(len(states.tids)), states.counts)
    cell = (states.ts - start) // unit
    first = np.append(True, (track[1:] != track[:-1]) | (cell[1:] != cell[:-1]))
    starts = np.flatnonzero(first)
    length = np.diff(np.append(starts, len(track)))
    inside = np.minimum(np.arange(len(track)) - np.repeat(starts, length), (1 << _BITS) - 1)
    lasts = np.minimum(np.diff(states.ts, append=states.ts[-1:]), unit).clip(0)
    longest = np.maximum.reduceat((lasts << _BITS) + inside, starts) & ((1 << _BITS) - 1)
    return ThreadStates(
        tids=states.tids,
        counts=np.bincount(track[starts], minlength=len(states.tids)),
        ts=states.ts[starts],
        state=states.state[starts + longest],
        waker=np.where(length > 1, -1, states.waker[starts]),
        names=states.names,
    )


def _coarsen_counters(timeline: Timeline, unit: int) -> None:
    """Keep the first, least, greatest and last value of each series within a unit."""
    counters = timeline.counters
    is_counter = timeline.run_kind == Run.COUNTER
    counts = timeline.run_count[is_counter]
    run = np.repeat(np.arange(len(counts)), counts)
    if not len(run):
        return
    cell = (counters["ts"] - timeline.start) // unit
    first = np.append(True, (run[1:] != run[:-1]) | (cell[1:] != cell[:-1]))
    starts = np.flatnonzero(first)
    group = np.cumsum(first) - 1
    order = np.lexsort((counters["value"], group))
    ends = np.append(starts[1:], len(run)) - 1
    kept = np.unique(np.concatenate([starts, order[starts], order[ends], ends]))
    for name in counters:
        counters[name] = counters[name][kept]
    timeline.run_count[is_counter] = np.bincount(run[kept], minlength=len(counts))


def unit_for(timeline: Timeline, wanted: int) -> int:
    """Return a unit, a power of two, that leaves about `wanted` items at most."""
    items: dict[str, NDArray[Any]] = timeline.items
    counts = timeline.run_count[timeline.run_kind != Run.COUNTER]
    run = np.repeat(np.arange(len(counts)), counts)
    same = run[1:] == run[:-1]
    took = items["end"] - items["ts"]
    for bits in range(6, 40):
        unit = 1 << bits
        cell = (items["ts"] - timeline.start) >> bits
        short = took < unit
        joined = same & (cell[1:] == cell[:-1]) & short[1:] & short[:-1]
        if len(run) - np.count_nonzero(joined) <= wanted:
            return unit
    return 1 << 40
