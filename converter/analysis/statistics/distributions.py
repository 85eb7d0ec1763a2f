"""Distributions of the values of a field, and of wakeup latencies, counted as batches pass."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.ir.columns import Column, OptionalColumn
from converter.ir.events import Batch
from converter.ir.field_classes import (
    BooleanClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    OptionalClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

#: The maximum number of bins for a field's values.
_MOST_BINS: Final = 60
#: Latencies: ten bins for each power of ten, from 1 ns to 1000 s.
_DECADES: Final = 12
_WAKEUPS: Final = frozenset({Kind.SCHED_WAKING, Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP_NEW})


class Distribution(NamedTuple):
    """The number of values in each bin; a bin includes its lower edge, and the last one also its upper edge."""

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    lowest: float
    highest: float

    @property
    def total(self) -> int:
        """The number of all values."""
        return int(self.counts.sum())


def field_values(trace: Trace, event: str, field: str) -> Distribution:
    """Return the distribution of the values of a numeric field; the batches are read twice.

    Args:
        trace: any trace.
        event: the events' name, or "system:name".
        field: its name; if several have it, the first.

    Raises:
        UnsupportedError: no event of that name has a number in that field.
        TraceError: as `Trace.batches` does.
    """
    lowest, highest, integral = np.inf, -np.inf, True
    for values in _values(trace, event, field):
        lowest, highest = min(lowest, float(values.min())), max(highest, float(values.max()))
        integral &= values.dtype.kind in "iub"
    if lowest > highest:
        raise UnsupportedError(
            f"no event {event!r} with a number in a field {field!r} "
            "(traceconv info IN --events 20 shows events with their fields)"
        )
    edges = _edges(lowest, highest, integral=integral)
    counts = np.zeros(len(edges) - 1, np.int64)
    for values in _values(trace, event, field):
        counts += np.histogram(values.astype(np.float64), edges)[0]
    return Distribution(edges, counts, lowest, highest)


def _values(trace: Trace, event: str, field: str) -> Iterator[NDArray[Any]]:
    for batch in trace.batches():
        for number, table in batch.tables.items():
            one = trace.event_classes[number]
            if event not in (one.name, f"{one.category}:{one.name}") or not len(table):
                continue
            names = [declared.name for declared in one.fields]
            if field not in names or not _is_number(one.fields[names.index(field)].type):
                continue
            column: Column | None = table.column(names.index(field))
            if isinstance(column, OptionalColumn):
                inner = column.values
                column = inner[column.valid] if isinstance(inner, np.ndarray) else None
            if isinstance(column, np.ndarray):
                finite = column[np.isfinite(column)] if column.dtype.kind == "f" else column
                if len(finite):
                    yield finite


def _is_number(declared: FieldClass) -> bool:
    inner = declared.element if isinstance(declared, OptionalClass) else declared
    return isinstance(inner, IntegerClass | FloatClass | BooleanClass)


def _edges(lowest: float, highest: float, *, integral: bool) -> NDArray[np.float64]:
    """Return edges of bins; whole numbers are in the middle of bins, each with equally many of them."""
    if not integral:
        return np.linspace(lowest, highest if highest > lowest else lowest + 1, _MOST_BINS + 1)
    width = max(-(-int(highest - lowest + 1) // _MOST_BINS), 1)
    count = int(highest - lowest) // width + 1
    return lowest - 0.5 + width * np.arange(count + 1, dtype=np.float64)


def wakeup_latencies(trace: Trace) -> Distribution:
    """Return the distribution of the times that threads waited for a CPU, in nanoseconds: from first wakeup to switch
    in.

    Raises:
        UnsupportedError: the trace has no such wakeups and switches.
        TraceError: as `Trace.batches` does.
    """
    edges = np.logspace(0, _DECADES, 10 * _DECADES + 1)
    counts = np.zeros(len(edges) - 1, np.int64)
    lowest, highest = np.inf, -np.inf
    scale = Fraction(1_000_000_000) / (trace.clock.ticks_per_second or 1_000_000_000)
    waiting = _Waiting()
    for batch in trace.batches():
        latencies = waiting.follow(trace, batch) * float(scale)
        if len(latencies):
            # Latencies outside all bins are counted in the first or last one.
            counts += np.histogram(np.clip(latencies, edges[0], edges[-1]), edges)[0]
            lowest, highest = min(lowest, latencies.min()), max(highest, latencies.max())
    if not counts.any():
        raise UnsupportedError("the trace has no wakeups of threads that then are switched to")
    return Distribution(edges, counts, float(lowest), float(highest))


class _Waiting:
    """Threads that have been woken and not switched in yet, and the times of their wakeups."""

    def __init__(self) -> None:
        self._tid: NDArray[np.int64] = np.zeros(0, np.int64)
        self._since: NDArray[np.int64] = np.zeros(0, np.int64)

    def follow(self, trace: Trace, batch: Batch) -> NDArray[np.int64]:
        """Return the latencies, in ticks, of the threads that are switched in in a batch."""
        tids, times, woken = [self._tid], [self._since], [np.ones(len(self._tid), np.bool_)]
        for number, table in batch.tables.items():
            one = trace.event_classes[number]
            is_switch = one.kind is Kind.SCHED_SWITCH
            if not len(table) or not (is_switch or one.kind in _WAKEUPS):
                continue
            index = one.index_of(Role.NEXT_TID if is_switch else Role.TID)
            assert index is not None, "the kind requires it"
            tids.append(np.asarray(table.column(index)).astype(np.int64))
            times.append(batch.ts[batch.positions(number)])
            woken.append(np.full(len(table), not is_switch, np.bool_))
        tid, ts, wakes = (np.concatenate(parts) for parts in (tids, times, woken))
        # If a wakeup and the switch have the same time, the wakeup was first.
        order = np.lexsort((np.logical_not(wakes), ts, tid))
        order = order[tid[order] != 0]
        tid, ts, wakes = tid[order], ts[order], wakes[order]
        same = np.append(False, tid[1:] == tid[:-1])
        before = np.append(False, wakes[:-1]) & same
        first = np.maximum.accumulate(np.where(wakes & ~before, np.arange(len(tid)), 0))
        switched = np.flatnonzero(~wakes & before)
        last = np.flatnonzero(np.append(~same[1:], np.ones(min(len(tid), 1), np.bool_)) & wakes)
        self._tid, self._since = tid[last], ts[first[last]]
        latencies: NDArray[np.int64] = ts[switched] - ts[first[switched - 1]]
        return latencies
