"""What uftrace records beside functions: losses, values read, the user's and perf's events, texts."""

from __future__ import annotations

import pytest
from support.command.reports import reported
from support.uftrace.files import (
    BASE,
    ENTRY,
    EXIT,
    FOO,
    LOST,
    MAIN,
    ORDERS,
    TID,
    Directory,
    calls,
    events,
    opened,
)

import converter
from converter.formats.uftrace.layout import EventId, Feature
from converter.formats.uftrace.report.lines import print_report
from converter.ir.invariants import check
from converter.ir.kinds import Kind, Role
from converter.selection.select import select
from converter.selection.selection import Selection


def test_lost_records(tmp_path):
    directory = Directory()
    directory.tasks[TID] = (
        directory.record(1, ENTRY, 0, MAIN)
        + directory.record(2, LOST, 0, (1 << 48) - 1)
        + directory.record(3, EXIT, 4, FOO)
        + directory.record(4, EXIT, 0, MAIN)
    )
    found = events(opened(directory, tmp_path))
    assert found[1] == (2, Kind.DISCARDED, TID, -1, {"count": (1 << 48) - 1})
    assert found[2][4] == {"name": b"foo", "category": b"app"}
    assert found[3][4] == {}


@ORDERS
def test_values_read_at_functions(tmp_path, big_endian):
    directory = Directory(big_endian=big_endian)
    directory.tasks[TID] = (
        directory.event(1, EventId.READ_PROC_STATM, directory.pack("QQQ", 1, 2, 3))
        + directory.event(2, EventId.DIFF_PAGE_FAULT, directory.pack("qq", -1, 2))
        + directory.event(3, EventId.WATCH_CPU, directory.pack("i", 5))
        + directory.event(4, EventId.WATCH_VAR, directory.pack("QI", BASE + FOO, 77))
        + directory.event(5, EventId.READ_PMU_CYCLE, directory.pack("QQ", 8, 9))
    )
    trace = opened(directory, tmp_path)
    assert [(kind, tid, held) for _, kind, tid, _, held in events(trace)] == [
        (Kind.COUNTER, TID, {"name": b"proc/statm", "category": b"read", "vmsize": 1, "vmrss": 2, "shared": 3}),
        (Kind.COUNTER, TID, {"name": b"page-fault", "category": b"diff", "major": -1, "minor": 2}),
        (Kind.COUNTER, TID, {"name": b"cpu", "category": b"watch", "cpu": 5}),
        (Kind.COUNTER, TID, {"name": b"foo", "category": b"watch", "value": 77}),
        (Kind.COUNTER, TID, {"name": b"pmu-cycle", "category": b"read", "cycles": 8, "instructions": 9}),
    ]  # fmt: skip
    assert all(
        item.role is Role.VALUE
        for one in trace.event_classes
        if one.kind is Kind.COUNTER
        for item in one.fields[2:]
    )
    check(trace)


@pytest.mark.parametrize("bits", [64, 32])
@ORDERS
def test_call_sites(tmp_path, big_endian, bits):
    directory = Directory(big_endian=big_endian, bits=bits)
    directory.features |= Feature.CALLSITE
    letter = "Q" if bits == 64 else "I"
    directory.tasks[TID] = (
        directory.record(1, ENTRY, 0, MAIN)
        + directory.event(2, EventId.CALLSITE, directory.pack(letter, BASE + MAIN + 0x20), 1)
        + directory.record(2, ENTRY, 1, FOO)
        + directory.event(3, EventId.CALLSITE, directory.pack(letter, 0x77), 2)
        + directory.event(4, EventId.CALLSITE, b"abc", 2)
    )
    trace = opened(directory, tmp_path)
    found = [
        (kind, held)
        for _, kind, _, _, held in events(trace)
        if "name" not in held or kind is Kind.INSTANT
    ]
    assert found[:2] == [
        (
            Kind.INSTANT,
            {"name": b"callsite", "category": b"uftrace", "address": address, "address_text": text},
        )
        for address, text in ((BASE + MAIN + 0x20, b"main+0x20"), (0x77, b"0x77"))
    ]
    assert found[2][0] is Kind.NATIVE
    converter.write(select(trace, Selection(since="+1ns")), tmp_path / "part", "uftrace")
    again = [
        held
        for _, kind, _, _, held in events(converter.read(tmp_path / "part"))
        if kind is Kind.INSTANT
    ]
    if big_endian:
        assert again == [{"name": b"callsite", "category": b"uftrace"}] * 2
    else:
        assert again == [held for _, held in found[:2]]
    report = reported(print_report, trace)
    assert b"/* from main+0x20 */" in report and b"/* from 0x77 */" in report


def test_user_events_and_events_that_nothing_describes(tmp_path):
    directory = Directory()
    directory.files["events.txt"] = b"EVENT: 1000000 prov:one: two\nnonsense\n"
    unknown = directory.event(3, 777, b"abc")
    directory.tasks[TID] = (
        directory.event(1, 1_000_000)
        + directory.event(2, 1_000_000, b"data")
        + unknown
        + directory.event(4, EventId.READ_PROC_STATM, b"short")
        + directory.event(5, EventId.WATCH_VAR)
    )
    trace = opened(directory, tmp_path)
    found = [(kind, held) for _, kind, _, _, held in events(trace)]
    user = {"name": b"one: two", "category": b"prov"}
    assert found[:3] == [
        (Kind.INSTANT, user),
        (Kind.INSTANT, {**user, "data": b"data"}),
        (Kind.NATIVE, {"payload": unknown}),
    ]
    assert [kind for kind, _ in found[3:]] == [Kind.NATIVE, Kind.NATIVE]
    assert [str(warning) for warning in trace.warnings] == [
        f"{tmp_path / 'data'}/events.txt: uftrace: event: expected EVENT: id provider:name, found 'nonsense'"
    ]


@ORDERS
def test_perf_records(tmp_path, big_endian):
    directory = Directory(big_endian=big_endian)
    directory.tasks[TID] = calls(directory)
    life = directory.pack("iiii", TID, TID, 101, TID)
    directory.files["perf-cpu3.dat"] = (
        directory.perf(14, 0, directory.pack("iiQ", TID, TID, 11))
        + directory.perf(14, 0x2000, directory.pack("iiQ", TID, TID, 12))
        + directory.perf(14, 0x6000, directory.pack("iiQ", TID, TID, 13))
        + directory.perf(7, 0, life + directory.pack("Q", 14) + bytes(16))
        + directory.perf(1, 0, bytes(16))
        + directory.perf(3, 0, directory.pack("ii8siiQ", TID, 101, b"worker", TID, 101, 15))
        + directory.perf(4, 0, life + directory.pack("Q", 16) + bytes(16))
    )
    trace = opened(directory, tmp_path)
    found = [event for event in events(trace) if event[3] == 3]
    common = {"pid": TID, "parent_pid": TID, "tid": 101, "parent_tid": TID}
    assert found == [
        (11, Kind.SCHED_SWITCH, None, 3, {"prev_tid": -1, "next_tid": TID, "prev_state": 0}),
        (12, Kind.SCHED_SWITCH, None, 3, {"prev_tid": TID, "next_tid": -1, "prev_state": 1}),
        (13, Kind.SCHED_SWITCH, None, 3, {"prev_tid": TID, "next_tid": -1, "prev_state": 0}),
        (14, Kind.TASK_NEW, TID, 3, common),
        (15, Kind.TASK_RENAME, 101, 3, {"pid": TID, "tid": 101, "comm": b"worker"}),
        (16, Kind.TASK_EXIT, 101, 3, common),
    ]
    assert [(thread.tid, thread.process, thread.name) for thread in trace.threads] == [
        (TID, 0, "app"),
        (101, 0, "worker"),
    ]
    check(trace)


def test_external_data(tmp_path):
    directory = Directory()
    directory.tasks[TID] = calls(directory, 1_500_000_000)
    directory.files["extern.dat"] = (
        b"# comment\n1.000000001 first message\n\n2.5 second\nnonsense\n3.0 last"
    )
    trace = opened(directory, tmp_path)
    assert [event for event in events(trace) if event[1] is Kind.LOG] == [
        (1_000_000_001, Kind.LOG, None, -1, {"message": b"first message"}),
        (2_500_000_000, Kind.LOG, None, -1, {"message": b"second"}),
        (3_000_000_000, Kind.LOG, None, -1, {"message": b"last"}),
    ]
    assert len(trace.warnings) == 1
    assert trace.warnings[0].offset == 48
    check(trace)


@pytest.mark.parametrize("size", [1, 5, 6, 65535])
def test_data_of_user_events_survive_in_a_part_of_a_recording(tmp_path, size):
    directory = Directory(files={"events.txt": b"EVENT: 1000000 prov:one\n"})
    data = bytes(number % 251 for number in range(size))
    directory.tasks[TID] = directory.record(1, ENTRY, 0, MAIN) + b"".join(
        directory.event(ts, 1_000_000, held) for ts, held in ((2, b"first"), (3, data), (4, None))
    )
    path = directory.write(tmp_path / "data")
    with converter.open_trace(path, selection=converter.Selection(since="+2ns")) as trace:
        converter.write(trace, tmp_path / "part", "uftrace")
    found = [
        (ts, values)
        for ts, kind, _, _, values in events(converter.read(tmp_path / "part"))
        if kind is Kind.INSTANT
    ]
    named = {"name": b"one", "category": b"prov"}
    assert found == [(3, {**named, "data": data}), (4, named)]
