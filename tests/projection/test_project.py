"""project(): what a format of given capabilities holds of a trace, and what it reports as lost."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.traces.losses import line_of
from support.traces.small_traces import brief, event_class, events_of, projected, trace_of
from support.traces.strategies import fitted_traces, traces
from support.traces.target_capabilities import EVERYTHING, PROFILER, RECORDER, TARGETS, VIEWER

from converter.ir.canonical import canonical, difference
from converter.ir.collect import collect, with_batches
from converter.ir.columns import list_of_bytes, value
from converter.ir.events import Table
from converter.ir.field_classes import (
    BytesClass,
    FloatClass,
    IntegerClass,
    Member,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
)
from converter.ir.invariants import check
from converter.ir.kinds import Kind, Role
from converter.ir.symbols import SymbolTable
from converter.ir.trace import ClockDomain, Process, Thread, Trace, Track, TrackScope
from converter.kernels.tables.strings import StringTable
from converter.projection.capabilities import Capabilities, KindSupport
from converter.projection.engine.assembly import stored_alike
from converter.projection.engine.types import fitted_class
from converter.projection.losses import LossClass, LossKind
from converter.projection.passes.time_limits import EARLY
from converter.projection.project import project

U8, U32, I32, U64, I64 = (
    IntegerClass(8),
    IntegerClass(32),
    IntegerClass(32, True),
    IntegerClass(64),
    IntegerClass(64, True),
)
TEXT = StringClass()
NAME = (TEXT, Role.NAME)
TARGET = pytest.mark.parametrize("capabilities", TARGETS.values(), ids=list(TARGETS))

#: What the report says of tables that no event refers to, which the canonical form leaves out.
OF_TABLES = {"track-unit", "track-unit-changed", "name-changed"}


def assert_allowed(trace, capabilities):
    """Every class is one that the capabilities allow, every event is where they allow it."""
    for declared in trace.event_classes:
        support = capabilities.kinds[declared.kind]
        fixed, arguments = np.split(np.array(declared.fields, dtype=object), [len(support.fields)])
        assert tuple(fixed) == support.fields
        assert support.arguments or not len(arguments)
        assert len(arguments) <= (capabilities.max_arguments or 1000)
        assert support.named or (declared.name, declared.category) == ("", "")
        assert declared.timed == support.timed
        for field in arguments:
            assert fitted_class(field.type, capabilities) == field.type
            assert capabilities.units or not field.unit
            if not support.roles:
                numeric = isinstance(field.type, IntegerClass | FloatClass)
                value_role = support.numeric_values and numeric
                assert field.role is (Role.VALUE if value_role else Role.NONE)
    limit = capabilities.max_string_bytes
    for batch in trace.batches():
        for number, table in batch.tables.items():
            declared = trace.event_classes[number]
            support = capabilities.kinds[declared.kind]
            at = batch.positions(number)
            assert support.track or (batch.track[at] < 0).all()
            assert support.thread or (batch.thread[at] < 0).all()
            assert not support.thread or capabilities.threadless or (batch.thread[at] >= 0).all()
            assert support.cpu or (batch.cpu[at] < 0).all()
            assert not support.cpu or capabilities.cpuless or (batch.cpu[at] >= 0).all()
            for i, field in enumerate(declared.fields):
                if not isinstance(field.type, StringClass):
                    continue
                for row in range(len(table)):
                    text = value(table.column(i), field.type, row, trace.strings)
                    assert limit is None or len(text) <= limit
                    if capabilities.utf8_only:
                        text.decode()


@TARGET
@given(trace=traces())
def test_what_is_projected_fits(capabilities, trace):
    before = canonical(trace)
    target, report = project(trace, capabilities, "target")
    target = collect(target)
    check(target)
    assert_allowed(target, capabilities)
    assert canonical(trace) == before, "the source is not changed"
    again, second = project(target, capabilities, "target")
    assert difference(target, collect(again)) is None
    assert list(second) == []
    losses = [loss for loss in report if loss.code not in OF_TABLES]
    if difference(trace, target) is None:
        assert losses == []
    else:
        assert list(report) != []
    events = sum(len(batch) for batch in trace.batches())
    # A class of n fields loses at most a few things of each field and event.
    assert all(0 < loss.count <= 64 * (events + 64) for loss in report)


@pytest.mark.parametrize("kind", [Kind.SCHED_WAKING, Kind.SCHED_WAKEUP])
@pytest.mark.parametrize("thread", [-1, 0])
def test_wakeups_of_a_format_with_weights_are_counted_once(kind, thread):
    trace = trace_of([event_class(kind, tid=(U8, Role.TID))], [(0, 0, 0, thread, (1,))])
    target, losses = projected(trace, PROFILER)
    assert any(line.startswith("waiting-shown-waking") for line in losses)
    again, losses = projected(target, PROFILER)
    assert difference(target, again) is None
    assert losses == []


@TARGET
@given(data=st.data())
def test_what_fits_is_left_alone(capabilities, data):
    trace = data.draw(fitted_traces(capabilities))
    if capabilities is PROFILER:
        # Its conventions ask for weights and wakers that a trace need not have.
        capabilities = replace(capabilities, adapters={})
    target, report = project(trace, capabilities, "target")
    assert difference(trace, collect(target)) is None
    assert list(report) == []


@given(traces(), st.sampled_from(list(TARGETS)))
def test_reading_again_gives_and_counts_the_same(trace, name):
    target, report = project(trace, TARGETS[name], "target")
    first = canonical(target)
    losses = list(report)
    assert canonical(target) == first
    assert list(report) == losses


def test_columns_may_be_read_when_other_batches_have_passed():
    logs = event_class(Kind.TYPED, "log", "", text=TEXT)
    trace = trace_of([logs], [(0, 0, 0, 1, (b"ok",)), (0, 5, 0, 1, (b"\xff",))], [])
    target, report = project(trace, PROFILER, "target")
    batches = list(target.batches())
    assert events_of(with_batches(target, batches))[1][3]["text"] == "\ufffd"
    (changed,) = [loss for loss in report if loss.kind is LossKind.CHANGED]
    assert line_of(changed) == "text-not-utf8 event=log field=text (1)"


# Tables


def test_tables_that_grow_keep_their_threads_apart_from_synthetic_ones():
    irq = event_class(Kind.SOFTIRQ_ENTRY, vec=(U32, Role.VECTOR))
    instant = event_class(Kind.INSTANT, name=NAME)
    trace = Trace(format="none", event_classes=[irq, instant])
    whole = trace_of(
        [irq, instant],
        [(0, 0, 0, 0, (1,))],
        [(1, 1, 0, 1, (b"late",)), (0, 2, 1, 0, (1,))],
        [(1, 3, 0, 0, (b"first",)), (1, 4, 0, 2, (b"last",))],
    )
    batches = list(whole.batches())
    trace.strings = whole.strings

    def growing():
        for number, batch in enumerate(batches):
            if number == len(trace.threads):
                trace.processes.append(Process(100 + number))
                trace.threads.append(Thread(100 + number, number))
            yield batch
        for thread in trace.threads:
            thread.name = f"named {thread.tid}"

    trace.make_batches = growing
    target = collect(project(trace, PROFILER, "target")[0])
    assert brief(target) == [
        ("SLICE_BEGIN TIMER at SoftIrq Cpu 0",),
        ("INSTANT late at named 101",),
        ("SLICE_BEGIN TIMER at SoftIrq Cpu 1",),
        ("INSTANT first at named 100",),
        ("INSTANT last at named 102",),
    ]


def test_tracks_become_threads_of_their_processes():
    instant = event_class(Kind.INSTANT, name=NAME)
    tracks = [
        Track("mine", TrackScope.THREAD, 1),
        Track("ours", TrackScope.PROCESS, 2),
        Track("", TrackScope.GLOBAL),
        Track("mine", TrackScope.THREAD, 1, identity=1),
    ]
    events = [(0, i, -1, -1, (b"i",), i) for i in range(4)]
    target, losses = projected(trace_of([instant], events, tracks=tracks), PROFILER)
    assert [place for _, _, place, _ in events_of(target)] == ["mine", "ours", "track 2", "mine"]
    batch = next(iter(target.batches()))
    processes = [target.processes[target.threads[t].process].name for t in batch.thread]
    assert processes == ["p10", "p11", "Tracks", "p10"]
    assert len(set(batch.thread.tolist())) == 4
    assert "track-as-thread event=instant (4)" in losses


# Whether a format has tracks for other kinds of events does not matter.
@pytest.mark.parametrize("tracks_of_others", [False, True])
def test_a_tracepoint_on_a_track_and_a_thread_stays_on_its_thread(tracks_of_others):
    typed = event_class(Kind.TYPED, "point", "system", n=IntegerClass(32))
    taken = event_class(Kind.TYPED, "other", "system", track=IntegerClass(32))
    tracks = [Track("buffer", TrackScope.GLOBAL), Track("ours", TrackScope.PROCESS, 2)]
    events = [
        (0, 0, -1, 1, (7,), 0),
        (0, 1, -1, 1, (8,), -1),
        (0, 2, -1, -1, (9,), 0),
        (0, 3, -1, 1, (9,), 1),
        (1, 4, -1, 2, (1,), 0),
    ]
    capabilities = replace(PROFILER, tracks=tracks_of_others)
    target, losses = projected(trace_of([typed, taken], events, tracks=tracks), capabilities)
    assert brief(target, "n", "track", "common_buffer") == [
        ("INSTANT point at t10", 7, None, "buffer"),
        ("INSTANT point at t10", 8, None, None),
        ("INSTANT point at buffer", 9, None, None),
        ("INSTANT point at ours", 9, None, None),
        ("INSTANT other at t11", None, 1, "buffer"),
    ]
    assert "buffer-as-argument event=system:point (1)" in losses
    assert "track-as-thread event=system:point (2)" in losses


def test_names_of_functions_are_lost_where_a_format_has_no_symbols():
    address = IntegerClass(64, style=Style.SYMBOL)
    point = event_class(Kind.TYPED, "point", "system", at=address)
    call = event_class(Kind.FUNCTION, "call", "", ip=(address, Role.FUNCTION))
    trace = trace_of([point, call], [(0, 0, -1, 1, (0x1010,)), (1, 1, -1, 1, (0x1010,))])
    trace.symbols = SymbolTable(lambda: (np.array([0x1000], np.uint64), [b"outer"]))
    _, losses = projected(trace, PROFILER)
    assert "function-names event=system:point field=at (1)" in losses
    # An instant has the name of its function.
    assert not [loss for loss in losses if "of call" in loss]
    _, losses = projected(trace, replace(PROFILER, symbols=True, styles=frozenset({Style.SYMBOL})))
    assert not [loss for loss in losses if "function-names" in loss]


def test_events_on_no_thread_and_no_cpu():
    instant = event_class(Kind.INSTANT, name=NAME)
    events = [(0, 0, 2, -1, (b"a",)), (0, 1, -1, -1, (b"b",)), (0, 2, 1, 1, (b"c",))]
    target, losses = projected(trace_of([instant], events), PROFILER)
    assert brief(target, "cpu") == [
        ("INSTANT a at Events Cpu 2", 2),
        ("INSTANT b at no thread", None),
        ("INSTANT c at t10", 1),
    ]
    assert "cpu-as-argument event=instant (2)" in losses
    target, losses = projected(trace_of([instant], events), RECORDER)
    assert next(iter(target.batches())).cpu.tolist() == [2, 0, 1]
    assert "cpu-unknown-shown-on-0 event=instant (1)" in losses


def test_numbers_that_a_format_cannot_write():
    instant = event_class(Kind.INSTANT, name=NAME)
    trace = trace_of(
        [instant],
        [(0, -7, 70000, 1, (b"a",)), (0, 3, 1, 1, (b"b",))],
        tids=(0, 70000),
    )
    target, losses = projected(trace, PROFILER)
    assert [event[0] for event in events_of(target)] == [0, 3]
    assert f"{EARLY} (1)" in losses
    assert "cpu-too-high limit=65534 (1)" in losses
    target, losses = projected(trace, RECORDER)
    assert [thread.tid for thread in target.threads][:2] == [0, 1 << 15 | 70000 & 0x7FFF]
    assert "id-too-large bits=16 shown=37232 was=70000 what=thread (1)" in losses


def test_native_data_that_viewers_show_is_a_loss_of_its_own():
    trace = Trace(
        format="source",
        sidecar={"source": {"ranks": [1, 2], "config": 3}},
        sidecar_shown={"source": Counter({"ranks": 2})},
        sidecar_details={"source": Counter({"config": 1})},
    )
    target, report = project(trace, PROFILER, "target")
    collect(target)
    assert {line_of(loss): loss.loss_class for loss in report} == {
        "native-data format=source name=config (1)": LossClass.DETAIL,
        "native-data format=source name=ranks (1)": LossClass.DETAIL,
        "native-data-shown format=source name=ranks (2)": LossClass.SHOWN,
        "native-data-detail format=source name=config (1)": LossClass.DETAIL,
    }


def test_records_about_the_recording_are_dropped_as_details():
    native = event_class(Kind.NATIVE, ("data", BytesClass(), Role.PAYLOAD))
    named = [replace(native, name=name, category="Packet") for name in ("statistics", "battery")]
    batch = [(0, 1, -1, 0, (b"a",)), (1, 2, -1, 0, (b"b",))]
    trace = trace_of(named, batch, bookkeeping=frozenset({"statistics"}))
    target, report = project(trace, VIEWER, "target")
    assert sum(len(batch) for batch in target.batches()) == 1
    found = {line_of(one): one.loss_class for one in report}
    assert {
        what: one for what, one in found.items() if "statistics" in what or "unshown" in what
    } == {
        "recording-record-dropped event=Packet:statistics (1)": LossClass.DETAIL,
        "native-unshown format=none name=battery (1)": LossClass.SHOWN,
    }
    same, report = project(trace, VIEWER, trace.format)
    assert sum(len(batch) for batch in same.batches()) == 2


def test_metadata():
    trace = Trace(
        format="none",
        clock=ClockDomain("tsc", None, 5, "a counter"),
        clock_domains=[ClockDomain("other")],
        environment={"machine": "x86_64"},
        processes=[Process(1, "\udcffp", 7, ("a", "b"))],
        sidecar={"target": {"x": 1}, "other": {"y": 1, "z": 2}},
    )
    target, losses = projected(trace, PROFILER)
    assert target.clock == ClockDomain("ns", Fraction(1_000_000_000))
    assert target.sidecar == {"target": {"x": 1}}
    assert (target.environment, target.clock_domains) == ({}, [])
    assert target.processes == [Process(1, "\ufffdp")]
    assert losses == [
        "clock-name clock=tsc (1)",
        "command-line (1)",
        "environment (1)",
        "native-data format=other name=y (1)",
        "native-data format=other name=z (1)",
        "other-clocks (1)",
        "parent-process (1)",
        "wall-clock-dropped (1)",
        "clock-rate-unknown clock=tsc (1)",
        "name-changed (1)",
    ]


# Kinds


def test_a_class_without_a_required_role_is_lowered_further():
    declared = event_class(Kind.SCHED_WAKEUP, "wakeup", "", comm=(TEXT, Role.COMM))
    target, _ = projected(trace_of([declared], [(0, 0, 0, 1, (b"x",))]), PROFILER)
    assert brief(target, "comm") == [("INSTANT wakeup at t10", "x")]


def test_what_no_record_holds_is_dropped():
    only_counters = Capabilities(kinds={Kind.COUNTER: KindSupport()})
    instant = event_class(Kind.INSTANT, name=NAME)
    counter = event_class(Kind.COUNTER, name=NAME)
    events = [(0, 0, -1, 1, (b"i",)), (1, 1, -1, 1, (b"c",)), (0, 2, -1, 1, (b"j",))]
    target, losses = projected(trace_of([instant, counter], events), only_counters)
    assert brief(target) == [("COUNTER c at t10",)]
    assert losses[0] == "event-dropped event=instant (2)"


def test_columns_that_are_stored_differently_are_joined():
    strings = StringTable()
    ids = np.array([strings.intern("a"), strings.intern("b")], np.int32)
    joined = stored_alike([ids, list_of_bytes([b"c"])], strings)
    assert [value(joined[0], TEXT, i, strings) for i in range(2)] == [b"a", b"b"]
    assert joined[1] is not joined[0]
    a, b = (event_class(Kind.INSTANT, "x", "", name=NAME), event_class(Kind.INSTANT, name=NAME))
    trace = trace_of([a, b], [(0, 0, -1, 1, (b"one",)), (1, 1, -1, 1, (b"two",))])
    batch = next(iter(trace.batches()))
    stored = batch.with_tables({**batch.tables, 1: Table(1, [list_of_bytes([b"two"])])})
    target, _ = projected(replace(trace, make_batches=lambda: iter([stored])), PROFILER)
    assert brief(target) == [("INSTANT one at t10",), ("INSTANT two at t10",)]


def test_everything_stays_where_everything_fits():
    inner = StructureClass((Member("b", OptionalClass(U8)),))
    declared = event_class(Kind.TYPED, "e", "s", a=inner)
    trace = trace_of([declared], [(0, -5, 3, 1, ([("b", None)],))])
    target, losses = projected(trace, EVERYTHING)
    assert losses == []
    assert difference(trace, target) is None


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (None, []),
        (5_000, []),
        (5_001, ["wall-clock-rounded unit=microseconds (1)"]),
        (-1_000, ["wall-clock-before-1970 (1)"]),
    ],
)
def test_an_epoch_that_viewers_do_not_see_as_it_is_stays_and_is_named(epoch, expected):
    clock = ClockDomain("ns", Fraction(1_000_000_000), epoch_ns=epoch)
    target, losses = projected(
        trace_of([], clock=clock), replace(EVERYTHING, shown_epoch_unit=1000)
    )
    assert target.clock.epoch_ns == epoch
    assert losses == expected
