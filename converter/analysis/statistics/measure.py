"""Statistics of a trace, collected while its batches pass."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.analysis.statistics.slices import SliceTimes, slice_times
from converter.ir.events import Batch, class_label
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

#: The number of gaps that are reported.
_GAPS: Final = 5


@dataclass(slots=True)
class Statistics:
    """Counts and durations; times are in ticks of the trace's clock.

    `cpu_time` is by thread id, 0 being the idle threads. `gaps` are the longest periods without an event, as their
    starts and lengths. `lost` has, by CPU (-1: unknown), the number of events that the recorder has lost, and the
    number of gaps of unknown size.
    """

    events: int = 0
    first: int | None = None
    last: int | None = None
    by_class: Counter[str] = field(default_factory=Counter)
    cpu_time: Counter[int] = field(default_factory=Counter)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    lost: dict[int, tuple[int, int]] = field(default_factory=dict)
    slices: list[SliceTimes] = field(default_factory=list)


def measure(trace: Trace) -> Statistics:
    """Return the statistics of a trace, whose batches are read once.

    Raises:
        TraceError: as `Trace.batches` does.
    """
    result = Statistics()
    watched = dataclasses.replace(trace)
    watched.make_batches = lambda: _measured(trace, result)
    result.slices = slice_times(watched)
    return result


def _measured(trace: Trace, result: Statistics) -> Iterator[Batch]:
    running: dict[int, tuple[int, int]] = {}
    for batch in trace.batches():
        if len(batch):
            _count(trace, batch, result)
            _add_gaps(batch, result)
            _add_cpu_time(trace, batch, running, result)
            _add_lost(trace, batch, result)
            first, last = int(batch.ts.min()), int(batch.ts.max())
            result.first = first if result.first is None else min(result.first, first)
            result.last = last if result.last is None else max(result.last, last)
        yield batch
    for since, tid in running.values():
        assert result.last is not None, "a switch is an event"
        result.cpu_time[tid] += max(result.last - since, 0)


def _count(trace: Trace, batch: Batch, result: Statistics) -> None:
    result.events += len(batch)
    for number, table in batch.tables.items():
        if len(table):
            result.by_class[class_label(trace.event_classes[number])] += len(table)


def _add_gaps(batch: Batch, result: Statistics) -> None:
    """Add the longest differences between events, including the last one of the previous batch."""
    ts = np.sort(batch.ts)
    if result.last is not None:
        # Gaps of a CPU whose events arrive late are unknown.
        ts = np.append(np.int64(min(result.last, int(ts[0]))), ts)
    gaps = np.diff(ts)
    longest = np.argsort(-gaps, kind="stable")[:_GAPS]
    found = [(int(ts[i]), int(gaps[i])) for i in longest.tolist() if gaps[i] > 0]
    result.gaps = sorted(result.gaps + found, key=lambda gap: (-gap[1], gap[0]))[:_GAPS]


def _add_cpu_time(
    trace: Trace, batch: Batch, running: dict[int, tuple[int, int]], result: Statistics
) -> None:
    """Add the time from one switch of a CPU to the next to the thread that the first one switched to.

    `running` has, by CPU, the time of the last switch and its thread.
    """
    parts = []
    for number, table in batch.tables.items():
        event_class = trace.event_classes[number]
        if event_class.kind is Kind.SCHED_SWITCH and len(table):
            index = event_class.index_of(Role.NEXT_TID)
            assert index is not None, "the kind requires it"
            at = batch.positions(number)
            tids = np.asarray(table.column(index)).astype(np.int64)
            parts.append((batch.cpu[at], batch.ts[at], tids))
    if not parts:
        return
    cpu, ts, tid = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((ts, cpu))
    cpu, ts, tid = cpu[order], ts[order], tid[order]
    same = cpu[1:] == cpu[:-1]
    _add(result.cpu_time, tid[:-1][same], np.diff(ts)[same])
    for position in np.flatnonzero(np.append(True, ~same)).tolist():
        since = running.get(int(cpu[position]))
        if since is not None:
            result.cpu_time[since[1]] += max(int(ts[position]) - since[0], 0)
    for position in np.flatnonzero(np.append(~same, True)).tolist():
        running[int(cpu[position])] = (int(ts[position]), int(tid[position]))


def _add(sums: Counter[int], keys: NDArray[Any], values: NDArray[np.int64]) -> None:
    known, inverse = np.unique(keys, return_inverse=True)
    totals = np.zeros(len(known), np.int64)
    np.add.at(totals, inverse, values)
    sums.update(dict(zip(known.tolist(), totals.tolist(), strict=True)))


def _add_lost(trace: Trace, batch: Batch, result: Statistics) -> None:
    for number, table in batch.tables.items():
        event_class = trace.event_classes[number]
        if event_class.kind is not Kind.DISCARDED:
            continue
        index = event_class.index_of(Role.COUNT)
        column = None if index is None else table.column(index)
        counts = np.full(len(table), -1)
        if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
            counts = column.astype(np.int64)
        for cpu, count in zip(batch.cpu[batch.positions(number)].tolist(), counts, strict=True):
            known, unknown = result.lost.get(cpu, (0, 0))
            result.lost[cpu] = (known + max(int(count), 0), unknown + int(count < 0))
