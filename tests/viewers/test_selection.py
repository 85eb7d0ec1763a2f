"""What trace_processor shows of a part of a trace is what it shows of the whole, clipped to the window."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.samples import sampled
from support.viewers.trace_processor import answer, needs_trace_processor
from viewers.conversions import source_trace

import converter
from converter.ir.trace import Trace

pytestmark = needs_trace_processor

SOURCES = [
    "chrome/nesting.json",
    "fxt/magic-trace.fxt",
    "perfetto/kernel_typed.pftrace",
    "trace_cmd/markers.dat",
    "uftrace/rich",
    "synthetic/kernel",
]
TARGETS = {"chrome": ".json", "fxt": ".fxt", "perfetto": ".pftrace"}

SLICES = """
    select s.ts, s.dur, s.name, s.category, t.name, iif(tid >= 2147418112, thread.name, tid)
    from slice s join track t on s.track_id = t.id
    left join thread_track on thread_track.id = t.id left join thread using (utid)
"""
SCHED = "select ts, dur, cpu, tid, '' from sched_slice join thread using (utid)"
COUNTERS = """
    select c.ts, c.value, t.name, t.type, coalesce(cpu, -1) from counter c join counter_track t on c.track_id = t.id
    left join cpu_counter_track on t.id = cpu_counter_track.id
"""


def window_of(trace: Trace) -> tuple[int, int]:
    """The middle third of a trace's time, in nanoseconds, up to an event: where a trace ends, viewers end slices."""
    ts = np.concatenate([batch.ts for batch in trace.batches()])
    rate = trace.clock.ticks_per_second
    assert rate is not None
    first, last = int(ts.min()), int(ts.max())
    edges = first + (last - first) // 3, int(ts[ts <= last - (last - first) // 3].max())
    start, end = (int(edge * 10**9 / rate) for edge in edges)
    return start, end


def as_seconds(nanoseconds: int) -> str:
    return f"{Decimal(nanoseconds).scaleb(-9):f}"


@pytest.mark.parametrize(
    ("source", "target"),
    sampled(((source, target) for source in SOURCES for target in TARGETS), 3),
)
def test_a_window_shows_what_the_whole_shows_in_it(
    source: str, target: str, tmp_path: Path
) -> None:
    trace = source_trace(source)
    start, end = window_of(trace)
    selection = converter.Selection(since=as_seconds(start), until=as_seconds(end))
    whole, part = (tmp_path / f"{name}{TARGETS[target]}" for name in ("whole", "part"))
    converter.write(trace, whole, target)
    converter.write(converter.select(trace, selection), part, target)
    assert intervals(part, SLICES, start, end) == intervals(whole, SLICES, start, end)
    assert intervals(part, SCHED, start, end) == intervals(whole, SCHED, start, end)
    assert values(part, start, end) == values(whole, start, end)


def intervals(path: Path, query: str, start: int, end: int) -> Counter[Any]:
    """The slices of a file as far as they are in a window, but for those that only touch its ends."""
    found: Counter[Any] = Counter()
    for ts, dur, *rest in answer(path, query):
        first = max(int(ts), start)
        last = end if int(dur) < 0 else min(int(ts) + int(dur), end)
        if first < last or (first == last and start < first < end):
            found[first, last, *rest] += 1
    return found


def values(path: Path, start: int, end: int) -> dict[tuple[str, ...], list[tuple[int, str]]]:
    """The values of counters in a window, with those that they have when it begins; what changes none is not told."""
    found: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    rows = sorted(answer(path, COUNTERS), key=lambda row: int(row[0]))
    for ts, value, *counter in rows:
        if int(ts) > end:
            continue
        series = found.setdefault(tuple(counter), [])
        entry = (max(int(ts), start), value)
        if series and series[-1][0] == entry[0]:
            series.pop()
        if not series or series[-1][1] != value:
            series.append(entry)
    return found
