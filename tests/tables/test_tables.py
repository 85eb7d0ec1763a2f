"""Tables of slices, counters, samples and scheduling are those that Perfetto's engine has."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support.traces.strategies import batch_of
from support.viewers.trace_processor import needs_trace_processor
from viewers.trace_processor import tables_of

import converter
from converter.analysis.tables.timeline import UNFINISHED
from converter.ir.collect import with_batches
from converter.ir.events import EventClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.timeline_fields import FRAMES, total

FIXTURES = Path("roundtrip_fixtures")
#: Nothing that the engine shows in another way: what it repairs is in `tests/viewers`.
SOURCES = (
    "trace_cmd/small.dat",
    "perfetto/timeline.pftrace",
    "perfetto/callstacks.pftrace",
    "perfetto/tables.pftrace",
    "perfetto/interned.pftrace",
    "chrome/thread_states.json",
)


def rows(table, *names):
    """The rows of a table, without order."""
    return Counter(tuple(row[name] for name in names) for row in table)


@needs_trace_processor
@pytest.mark.parametrize("source", SOURCES)
def test_they_are_those_of_perfetto(source, tmp_path):
    path, shown = FIXTURES / source, FIXTURES / source
    if path.suffix == ".dat":
        shown = tmp_path / "out.pftrace"
        converter.convert(path, shown)
    theirs, trace = tables_of(shown), converter.read(path)
    # An instant of the engine's is a slice of no length, and an empty name is none.
    expected = [row for row in theirs["slices"] if row["dur"]]
    found = [row | {"name": row["name"] or None} for row in trace.slices().rows()]
    own = ("ts", "dur", "name", "depth")
    assert rows(found, *own) == rows(expected, *own)
    if path.suffix != ".dat":
        own = ("ts", "category", "tid", "pid")
        assert rows(found, *own) == rows(expected, *own)
    sched = ("ts", "dur", "cpu", "tid", "end_state", "priority")
    assert rows(trace.sched().rows(), *sched) == rows(theirs["sched"], *sched)
    states = ("ts", "dur", "state", "cpu", "tid")
    found = trace.thread_states()
    assert rows(found.rows(), *states) == rows(theirs["states"], *states)
    found["waker"] = found["waker_tid"]
    assert rows(found.rows(), "ts", "waker") == rows(theirs["states"], "ts", "waker")
    assert rows(trace.samples().rows(), "ts") == rows(theirs["samples"], "ts")
    if path.suffix != ".dat" and "tables" not in source:
        values = rows(theirs["counters"], "ts", "value")
        assert rows(trace.counters().rows(), "ts", "value") == values


def scheduled(*events):
    """A trace of switches (ts, cpu, prev, state, next) and wakings (ts, cpu, waker, tid)."""
    builder = converter.TraceBuilder()
    for tid in (0, 1, 2, 3):
        builder.thread(tid, f"thread {tid}" if tid else "")
    for event in events:
        if len(event) == 5:
            ts, cpu, prev, state, following = event
            fields = {
                "prev_comm": f"thread {prev}",
                "prev_pid": prev,
                "prev_prio": 120,
                "prev_state": state,
                "next_comm": f"thread {following}",
                "next_pid": following,
                "next_prio": 120,
            }
            builder.event("sched_switch", ts, prev, cpu=cpu, system="sched", fields=fields)
        else:
            ts, cpu, waker, tid = event
            fields = {"comm": f"thread {tid}", "pid": tid, "prio": 120, "target_cpu": cpu}
            builder.event("sched_waking", ts, waker, cpu=cpu, system="sched", fields=fields)
    return builder.trace()


def states_of(trace, tid):
    """The states of a thread: (ts, dur, state, CPU, waker)."""
    return [
        tuple(row[name] for name in ("ts", "dur", "state", "cpu", "waker_tid"))
        for row in trace.thread_states().rows()
        if row["tid"] == tid
    ]


def test_a_thread_sleeps_is_woken_waits_and_runs():
    trace = scheduled((10, 0, 1, 1, 2), (30, 0, 2, 1), (50, 0, 2, 0, 1), (70, 0, 1, 0x100, 0))
    assert states_of(trace, 1) == [
        (10, 20, "S", None, None),
        (30, 20, "R", None, 2),
        (50, 20, "Running", 0, None),
        (70, UNFINISHED, "R+", None, None),
    ]
    assert states_of(trace, 2) == [(10, 40, "Running", 0, None), (50, UNFINISHED, "R", None, None)]
    assert states_of(trace, 0) == []
    ran = trace.sched()
    assert ran["end_state"].tolist() == ["R", "R+", None]
    assert ran["tid"].tolist() == [2, 1, 0]
    assert ran["dur"].tolist() == [40, 20, UNFINISHED]
    assert ran["thread"].tolist() == ["thread 2", "thread 1", "thread 0"]


def test_only_a_sleeper_is_woken_and_only_once():
    # 1 runs at 20, and is runnable at 50: it is woken at 40 for the first time.
    trace = scheduled(
        (10, 0, 2, 0, 1), (20, 1, 2, 1), (30, 0, 1, 2, 0), (40, 1, 2, 1), (50, 1, 3, 1)
    )
    assert states_of(trace, 1) == [
        (10, 20, "Running", 0, None),
        (30, 10, "D", None, None),
        (40, UNFINISHED, "R", None, 2),
    ]


def test_a_switch_from_another_thread_than_the_one_that_ran():
    trace = scheduled((10, 0, 1, 1, 2), (30, 0, 3, 1, 1))
    assert trace.sched()["end_state"].tolist() == [None, None]
    assert (30, UNFINISHED, None, None, None) in states_of(trace, 2)


def test_a_trace_without_any_of_it():
    trace = converter.TraceBuilder().trace()
    for table in ("slices", "counters", "samples", "sched", "thread_states"):
        found = getattr(trace, table)()
        assert len(found) == 0
        assert all(len(column) == 0 for column in found.values()), table


def test_slices_have_depths_and_places():
    builder = converter.TraceBuilder()
    builder.process(5, "game")
    main = builder.thread(7, "main", pid=5)
    builder.slice("outer", 10, 100, main, category="c")
    builder.slice("inner", 10, 50, main)
    track = builder.track("gpu", pid=5)
    builder.slice("draw", 20, 5, track)
    found = builder.trace().slices()
    assert found["name"].tolist() == ["outer", "inner", "draw"]
    assert found["depth"].tolist() == [0, 1, 0]
    assert found["dur"].tolist() == [100, 50, 5]
    assert found["category"].tolist() == ["c", None, None]
    assert found["track"].tolist() == [None, None, "gpu"]
    assert found["thread"].tolist() == ["main", "main", None]
    assert found["tid"].tolist() == [7, 7, None]
    assert found["pid"].tolist() == [5] * 3
    assert found["process"].tolist() == ["game"] * 3


def test_counters_have_units():
    builder = converter.TraceBuilder()
    builder.process(1, "init")
    builder.counter("memory", [10, 20], [1.5, 2.5], builder.track("memory", pid=1, unit="MB"))
    builder.counter("load", [15], [3], builder.track("load"))
    found = builder.trace().counters()
    assert found["ts"].tolist() == [10, 15, 20]
    assert found["name"].tolist() == ["memory", "load", "memory"]
    assert found["value"].tolist() == [1.5, 3.0, 2.5]
    assert found["unit"].tolist() == ["MB", None, "MB"]


def test_samples_have_stacks_of_names():
    trace = converter.read(FIXTURES / "perfetto/tables.pftrace")
    found = trace.samples()
    assert len(found) == len(found["stack"]) > 0
    assert all(isinstance(name, str) for stack in found["stack"] for name in stack)


def test_samples_have_their_event_and_weight():
    event_class = EventClass(Kind.SAMPLE, "cycles", fields=(FRAMES, total("")))
    frames = [
        [("function", name), ("mapping", file), ("rel_pc", at), ("source", b""), ("line", 0)]
        for name, file, at in ((b"leaf", b"/bin/a", 1), (b"", b"/bin/a", 32), (b"", b"", 33))
    ]
    trace = Trace(format="perfetto", event_classes=[event_class])
    rows = [(0, ts, 1, -1, -1, (frames, 10 * ts)) for ts in (5, 6)]
    found = with_batches(trace, [batch_of(trace, rows)]).samples()
    assert found["event"].tolist() == ["cycles", "cycles"]
    assert found["weight"].tolist() == [50, 10]
    assert found["stack"][0] == ["leaf", "/bin/a+0x20", "0x21"]


def test_times_are_nanoseconds():
    builder = converter.TraceBuilder(ticks_per_second=1_000_000)
    builder.slice("a", 10, 5, builder.thread(1, "t"))
    found = builder.trace().slices()
    assert (found["ts"][0], found["dur"][0]) == (10_000, 5_000)
    assert found["ts"].dtype == found["dur"].dtype == np.int64
