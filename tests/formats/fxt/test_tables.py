"""What outlives a record of FXT: slots of strings and threads, names, providers and their clocks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.fxt.files import (
    MAX,
    ORDERS,
    VARIANTS,
    argument,
    event,
    events,
    initialization,
    kernel_object,
    large_blob,
    magic,
    only,
    opened,
    provider,
    record,
    start,
    string,
    thread,
    written,
)

from converter.formats.fxt.mapping import UNREGISTERED
from converter.formats.fxt.reading import prescan, reader
from converter.formats.fxt.record_types import ArgumentType, EventType, RecordType
from converter.ir.trace import NANOSECONDS, ClockDomain

each_order = pytest.mark.parametrize("order", ORDERS)


def test_slots_are_resolved_when_they_are_used():
    data = (
        start("little")
        + event("little", EventType.INSTANT, 1, name=1, arguments=[argument(6, 2, 1)])
        + string("little", 1, b"new")
        + thread("little", 1, 30, 31)
        + event("little", EventType.INSTANT, 2, name=1, arguments=[argument(6, 2, 1)])
    )
    first, second = events(opened(data))
    assert (first["name"], first["two"], first["thread"]) == (b"one", b"one", (10, 11))
    assert (second["name"], second["two"], second["thread"]) == (b"new", b"new", (30, 31))


def test_slot_zero_is_never_registered():
    data = start("little") + string("little", 0, b"zero") + thread("little", 0, 1, 1)
    one, _ = only(data + event("little", EventType.INSTANT, 1, thread=1, name=0))
    assert one["name"] == b""


def test_references_to_nothing():
    data = start("little") + event("little", EventType.INSTANT, 1, thread=9, name=77, category=78)
    trace = opened(data)
    assert events(trace) == [
        {"kind": "INSTANT", "ts": 1, "thread": (0, UNREGISTERED | 9), "name": b"", "category": b""}
    ]
    assert [warning.message.split()[0] for warning in trace.warnings] == ["2", "1"]
    # Reading again finds the same, and says it once.
    events(trace)
    assert len(trace.warnings) == 2


def test_a_thread_for_each_slot_that_was_never_registered():
    parts = [start("little")]
    for id in (1, 2):
        parts.append(provider("little", id, b"p"))
        parts += [event("little", EventType.INSTANT, 1, thread=slot) for slot in (1, 255, 1)]
    trace = opened(b"".join(parts))
    found = [one["thread"] for one in events(trace)]
    assert len(set(found)) == 4 and found[0] == found[2]
    assert [thread.name for thread in trace.threads if thread.name] == ["slot 1", "slot 255"] * 2


def test_warnings_say_where_each_oddity_was_first(monkeypatch):
    monkeypatch.setattr(reader, "WINDOW", 64)
    known = event("little", EventType.INSTANT, 1)
    parts = [start("little"), event("little", EventType.INSTANT, 1, name=77), known * 50]
    parts += [event("little", EventType.INSTANT, 1, thread=9)]
    trace = opened(b"".join(parts))
    events(trace)
    ends = np.cumsum([len(part) for part in parts]).tolist()
    assert [warning.offset for warning in trace.warnings] == [ends[0], ends[2]]


def test_providers_have_tables_of_their_own():
    order = "little"
    instant = event(order, EventType.INSTANT, 1, name=1)
    data = (
        magic(order)
        + provider(order, 1, b"first")
        + string(order, 1, b"one")
        + thread(order, 1, 10, 11)
        + provider(order, 2, b"second")
        + string(order, 1, b"uno")
        + thread(order, 1, 20, 21)
        + instant
        + provider(order, 1, None)
        + instant
        + magic(order)
        + instant
    )
    trace = opened(data)
    assert [(one["name"], one["thread"]) for one in events(trace)] == [
        (b"uno", (20, 21)),
        (b"one", (10, 11)),
        (b"one", (10, 11)),
    ]
    assert trace.sidecar == {"fxt": {"providers": [[1, b"first"], [2, b"second"]]}}


def clocked(*rates, ts=60):
    """A file with an instant and a slice from each of several providers."""
    order = "little"
    return magic(order) + b"".join(
        provider(order, id, b"p")
        + initialization(order, rate)
        + event(order, EventType.DURATION_COMPLETE, ts, thread=(1, 1), tail=ts + 12)
        for id, rate in enumerate(rates)
    )


def test_clock_is_nanoseconds_by_default():
    assert opened(magic("little")).clock == NANOSECONDS


@pytest.mark.parametrize(
    ("rates", "common", "times"),
    [
        ((24_000_000,), 24_000_000, [60]),
        ((24_000_000, 24_000_000), 24_000_000, [60, 60]),
        ((1000, 1500), 3000, [180, 120]),
        ((1_000_000_000, 19_200_000), 12_000_000_000, [720, 37_500]),
    ],
)
def test_one_clock_for_all_providers(rates, common, times):
    trace = opened(clocked(*rates))
    assert trace.clock.ticks_per_second == Fraction(common)
    assert [one["ts"] for one in events(trace)] == times
    assert [one["duration"] for one in events(trace)] == [time // 5 for time in times]
    assert not trace.warnings


def test_a_clock_before_the_first_provider_is_not_that_provider_s():
    instant = event("little", EventType.INSTANT, 30, thread=(1, 1))
    start_of_none = magic("little") + initialization("little", 1500) + instant
    trace = opened(start_of_none + provider("little", 1, b"p") + instant)
    assert trace.clock.ticks_per_second == Fraction(3_000_000_000)
    assert [one["ts"] for one in events(trace)] == [60_000_000, 90]


def test_a_clock_behind_a_record_larger_than_a_window_counts(monkeypatch):
    monkeypatch.setattr(prescan, "_WINDOW", 64)
    first, second = (clocked(rate)[8:] for rate in (1000, 1500))
    trace = opened(magic("little") + first + large_blob("little", 1, bytes(800)) + second)
    assert trace.clock.ticks_per_second == 3000
    assert not trace.warnings


def test_clocks_without_a_common_rate_become_nanoseconds():
    trace = opened(clocked(10**9 + 7, 10**9 + 9, 998_244_353, ts=10**9))
    assert trace.clock == NANOSECONDS
    assert [one["ts"] for one in events(trace)] == [999999993, 999999991, 1001758734]
    assert "rounded to nanoseconds" in str(trace.warnings[0])
    assert not trace.warnings[0].is_damage


@pytest.mark.parametrize("rate", [0, 1])
def test_a_rate_of_zero_is_damage_and_means_nanoseconds(rate):
    trace = opened(clocked(rate))
    list(trace.batches())
    assert trace.clock == (ClockDomain("ns", Fraction(1)) if rate else NANOSECONDS)
    assert ["0 ticks per second" in str(warning) for warning in trace.warnings] == [True] * (
        not rate
    )


#: Ticks per second, and the last tick whose time is one of 63 bits of nanoseconds.
LATEST = [(10**9, (1 << 63) - 1), (1000, ((1 << 63) - 1) // 10**6), (1, ((1 << 63) - 1) // 10**9)]


@each_order
@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize(("rate", "latest"), LATEST)
def test_records_at_times_beyond_63_bits_are_kept_as_they_are(order, rate, latest, over):
    tick = latest + over
    wakeup, log = {"scheduling_type": 2, "cpu": 1}, {"length": 1, "thread": 0}
    data = magic(order) + provider(order, 1, b"p") + initialization(order, rate)
    late = [
        event(order, EventType.INSTANT, tick, thread=(1, 2)),
        event(order, EventType.DURATION_COMPLETE, 7, thread=(1, 2), tail=tick),
        event(order, EventType.DURATION_BEGIN, tick, thread=(1, 2)),
        record(order, RecordType.SCHEDULING, wakeup, timestamp=tick, waking_thread=3),
        record(order, RecordType.LOG, log, timestamp=tick, process=1, thread=2, message=b"m"),
        large_blob(order, 0, b"x", thread=(1, 2), ts=tick),
    ]
    data += event(order, EventType.INSTANT, 5, thread=(1, 2)) + b"".join(late)
    trace = opened(data)
    kinds = [one["kind"] for one in events(trace)]
    if over > 0:
        assert kinds == ["INSTANT"] + ["NATIVE"] * len(late)
        assert f"{len(late)} records at times beyond 63 bits" in str(trace.warnings[0])
        assert [batch.ts.tolist() for batch in trace.batches()] == [[5] * (1 + len(late))]
    else:
        assert "NATIVE" not in kinds
        assert not trace.warnings
    assert written(trace, VARIANTS[order]) == data


def test_ticks_finer_than_nanoseconds_beyond_63_bits_become_nanoseconds():
    # Of picoseconds, 63 bits hold 106 days.
    for over in (-1, 0, 1):
        ts = (1 << 63) - 1 + over
        instant = event("little", EventType.INSTANT, ts, thread=(1, 1))
        trace = opened(magic("little") + initialization("little", 10**12) + instant)
        is_rounded = over > 0
        assert trace.clock == ClockDomain("ns", Fraction(10**9 if is_rounded else 10**12))
        assert [one["ts"] for one in events(trace)] == [ts // 1000 if is_rounded else ts]
        assert len(trace.warnings) == is_rounded


def test_initialization_with_wall_clock():
    # As magic-trace writes it: ticks per second, a tick, its wall-clock time.
    epoch = 1_650_419_113_989_693_816
    trace = opened(magic("little") + initialization("little", 10**9, 0, epoch))
    assert trace.clock.epoch_ns == epoch
    assert trace.sidecar == {}
    trace = opened(magic("little") + initialization("little", 3, 7, epoch, 99))
    assert trace.clock.epoch_ns == epoch - 2_333_333_334
    assert trace.sidecar == {"fxt": {"initialization": [7, 99]}}
    # A time that is none is kept, but is no epoch.
    trace = opened(magic("little") + initialization("little", 3, 7, 2**64 - 1, 99))
    assert trace.clock.epoch_ns is None
    assert trace.sidecar == {"fxt": {"initialization": [7, 2**64 - 1, 99]}}
    trace = opened(magic("little") + initialization("little", 3, 7))
    assert trace.clock.epoch_ns is None
    assert trace.sidecar == {"fxt": {"initialization": [7]}}


@each_order
def test_kernel_objects_name_processes_and_threads(order):
    of_ten = [argument(ArgumentType.KOID, 3, 10)]
    trace = opened(
        start(order)
        + kernel_object(order, 1, 10, b"ten")
        + kernel_object(order, 2, 11, b"eleven", of_ten)
        + kernel_object(order, 2, 12, b"\xff", of_ten)
        + kernel_object(order, 1, 30, b"")
    )
    assert events(trace) == []
    assert {process.pid: process.name for process in trace.processes} == {10: "ten", 20: "", 30: ""}
    named = {(trace.processes[one.process].pid, one.tid): one.name for one in trace.threads}
    assert named == {(10, 11): "eleven", (20, MAX): "", (10, 12): "\udcff"}


def test_later_names_win_and_are_events():
    data = start("little") + b"".join(
        kernel_object("little", 1, 10, name) for name in (b"", b"first", b"second", b"", b"third")
    )
    trace = opened(data)
    names = [one["name"] for one in events(trace)]
    assert names == [b"second", b"", b"third"]
    # The same name once more says nothing new.
    again = kernel_object("little", 1, 10, b"third") * 2
    assert [one["name"] for one in events(opened(data + again))] == names
    # A second pass begins with what the first has found.
    next(trace.batches())
    assert trace.processes[0].name == "third"


def test_thread_objects_without_process_are_events():
    (one,) = events(opened(start("little") + kernel_object("little", 2, 11, b"lost")))
    assert one == {"kind": "OBJECT_INFO", "type": 2, "koid": 11, "name": b"lost"}
