"""Switches and wakeups in Chrome JSON: records that importers pass over, and the text that they show."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import numpy as np
import pytest
from support.chrome.files import event, load
from support.traces.small_traces import event_class, trace_of

from converter.formats.chrome.capabilities import CAPABILITIES
from converter.formats.chrome.layout import DERIVED_TEXT
from converter.formats.chrome.reading import document as document_module
from converter.formats.chrome.reading import reader as reader_module
from converter.formats.chrome.reading.reader import read
from converter.formats.chrome.writing import scheduling
from converter.formats.chrome.writing.sched_lines import LineColumns, SchedLines
from converter.formats.chrome.writing.writer import write
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.field_classes import IntegerClass, Label, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable
from converter.projection.project import project
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink
from converter.storage.writing.shared_sink import SharedSink, Turns, join_files

NUMBER, TEXT = IntegerClass(64, True), StringClass()
SWITCH = event_class(
    Kind.SCHED_SWITCH,
    "sched_switch",
    "sched",
    prev_comm=(TEXT, Role.PREV_COMM),
    prev_pid=(NUMBER, Role.PREV_TID),
    prev_prio=(NUMBER, Role.PREV_PRIORITY),
    prev_state=(NUMBER, Role.PREV_STATE),
    next_comm=(TEXT, Role.NEXT_COMM),
    next_pid=(NUMBER, Role.NEXT_TID),
    next_prio=(NUMBER, Role.NEXT_PRIORITY),
)
WAKING = event_class(
    Kind.SCHED_WAKING,
    "sched_waking",
    "sched",
    comm=(TEXT, Role.COMM),
    pid=(NUMBER, Role.TID),
    prio=(NUMBER, Role.PRIORITY),
    target_cpu=(NUMBER, Role.TARGET_CPU),
)


def switch(ts: int, left: tuple[Any, ...], into: tuple[Any, ...], *, state=0, cpu=0, thread=1):
    """Of tasks as (tid, comm, prio)."""
    (prev, prev_comm, prev_prio), (after, next_comm, next_prio) = left, into
    values = (prev_comm, prev, prev_prio, state, next_comm, after, next_prio)
    return (0, ts, cpu, thread, values)


def waking(ts: int, tid: int, comm: bytes = b"w", thread=1, target=1):
    return (1, ts, 3, thread, (comm, tid, 120, target))


A, B, IDLE = (10, b"a", 120), (11, b"b", 99), (0, b"swapper/0", 120)


def made(*batches, **more) -> Trace:
    return collect(project(trace_of([SWITCH, WAKING], *batches, **more), CAPABILITIES, "chrome")[0])


def text_of(trace: Trace) -> bytes:
    sink = BufferSink()
    write(trace, sink, "")
    return sink.getvalue()


def lines_of(trace: Trace) -> list[str]:
    """The lines of switches and wakeups."""
    text = json.loads(text_of(trace)).get("systemTraceEvents", "")
    return [line for line in text.split("\n") if "sched_" in line]


def test_a_switch_is_a_line_as_ftrace_prints_it():
    trace = made([switch(1001, A, B, state=1, cpu=2)])
    assert lines_of(trace) == [
        (
            "<...>-10 (10) [002] .... 0.0000010015: sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=S"
            " ==> next_comm=b next_pid=11 next_prio=99"
        )
    ]


def test_a_waking_is_a_line_of_the_thread_that_wakes():
    trace = made([waking(2_000_000_003, 11)])
    assert lines_of(trace) == [
        "<...>-10 (10) [003] .... 2.0000000035: sched_waking: comm=w pid=11 prio=120 target_cpu=001"
    ]


def test_wakeups_whose_waker_is_not_known_are_instants():
    rows = [waking(1, 11, thread=-1), waking(2, 11, thread=1), switch(3, A, B)]
    trace = made(rows)
    assert [line.split()[0] for line in lines_of(trace)] == ["<...>-10", "<...>-10"]
    assert sorted(one.kind.name for one in trace.event_classes) == [
        "INSTANT",
        "SCHED_SWITCH",
        "SCHED_WAKING",
    ]
    named = event_class(
        Kind.SCHED_WAKEUP,
        tid=(NUMBER, Role.TID),
        waker=(NUMBER, Role.WAKER_TID),
    )
    told = trace_of([named], [(0, 1, 0, -1, (10, 11)), (0, 2, 0, -1, (10, 99))])
    (line,) = lines_of(collect(project(told, CAPABILITIES, "chrome")[0]))
    assert line.startswith("<...>-11 ")


def test_wakeups_keep_their_names():
    """Of a new task the line is one that importers take a thread for waiting from."""
    tid = {"pid": (IntegerClass(32, True), Role.TID), "value": IntegerClass(64)}
    classes = [
        event_class(Kind.TASK_NEW, "task-new", "linux", **tid),
        event_class(Kind.SCHED_WAKEUP, **tid),
    ]
    rows = [(0, 1, 0, 1, (11, 2**64 - 1)), (1, 2, 0, 1, (11, 0))]
    trace = collect(project(trace_of(classes, rows), CAPABILITIES, "chrome")[0])
    text = text_of(trace)
    assert difference(trace, read(open_source(text))) is None
    found = json.loads(text)["traceEvents"][:2]
    assert [(one["name"], one.get("cat"), one["args"]["pid"]) for one in found] == [
        ("task-new", "linux", 11),
        ("sched_wakeup", None, 11),
    ]
    assert [line.split()[5] for line in lines_of(trace)] == ["sched_waking:", "sched_wakeup:"]


OLD = {
    0: "R",
    1: "S",
    2: "D",
    4: "T",
    8: "t",
    16: "X",
    32: "Z",
    64: "x",
    128: "K",
    256: "W",
    512: "P",
    1024: "N",
}
NEW = {
    0: "R",
    1: "S",
    2: "D",
    4: "T",
    8: "t",
    16: "X",
    32: "Z",
    64: "P",
    128: "I",
    256: "R+",
    512: "R",
    257: "S",
}
STATES = {
    "": OLD | {1025: "S|N", 2048: "R+", 4096: "R", 0x82: "D|K"},
    "4.7.10": OLD | {2048: "R+", 4096: "R"},
    "4.8": OLD | {2048: "R", 4096: "R+"},
    "4.13.16": OLD | {2048: "R", 4096: "R+"},
    "4.14.0": NEW,
    "6.18.44-fc": NEW | {255: "S|D|T|t|X|Z|P|I"},
}


@pytest.mark.parametrize("release", STATES)
def test_states_have_the_letters_of_the_version_of_linux(release):
    """As Perfetto's importer has them; it takes an unknown version for an old one."""
    numbers = STATES[release]
    rows = [switch(i, A, B, state=number) for i, number in enumerate(numbers)]
    environment = {"kernel_release": release} if release else {}
    found = lines_of(made(rows, environment=environment))
    states = [line.partition("prev_state=")[2].partition(" ")[0] for line in found]
    assert dict(zip(numbers, states, strict=True)) == numbers


def test_names_of_tasks_are_as_importers_take_lines_apart():
    names = [b"be ta", b'q"u\\o', b"a=b", b"", "é".encode(), b"new\nline"]
    for name, shown in zip(
        names, ["be\u00a0ta", "q?u?o", "a=b", "<...>", "é", "new?line"], strict=True
    ):
        (line,) = lines_of(made([switch(1, (10, name, 1), B)]))
        assert f"prev_comm={shown} prev_pid" in line


def test_threads_are_named_behind_the_lines():
    tables = {
        "processes": [Process(10, "p"), Process(20, "q")],
        "threads": [Thread(10, 0, 'be ta "x"'), Thread(11, 1, ""), Thread(12, 1, "elsewhere")],
    }
    trace = made([switch(1001, A, B, thread=0)], **tables)
    text = json.loads(text_of(trace))["systemTraceEvents"]
    assert text.split("\n")[4:] == [
        "be ta ?x?-10 (10) [000] .... 0.0000010015: tracing_mark_write: trace_event_clock_sync:",
        # The switch names it.
        "b-11 (20) [000] .... 0.0000010015: tracing_mark_write: trace_event_clock_sync:",
        "",
    ]


def test_there_is_no_line_of_what_importers_cannot_take():
    assert lines_of(made([switch(-1, A, B), switch(5, A, B, cpu=-1)])) == []
    (line,) = lines_of(made([switch(5, (-1, b"n", 1 << 40), (1 << 32, b"m", -(1 << 40)))]))
    assert "prev_pid=4294967295 prev_prio=2147483647" in line
    assert "next_pid=1073741824 next_prio=-2147483648" in line


def test_a_trace_without_scheduling_has_no_text():
    assert "systemTraceEvents" not in json.loads(text_of(load([event(name="a")])))


def test_what_is_written_is_read_back():
    trace = made(
        [waking(1, 11), switch(2, A, B, state=1), switch(3, B, IDLE, cpu=-1)],
        [switch(4, IDLE, A, cpu=7), waking(5, 10, thread=-1)],
    )
    text = text_of(trace)
    back = read(open_source(text))
    assert difference(trace, back) is None
    assert "systemTraceEvents" not in back.sidecar["chrome"].get("members", {})
    again = text_of(collect(back))
    assert again.partition(b"\n")[2].replace(b',\n"displayTimeUnit":"ns"', b"") == text.partition(
        b"\n"
    )[2].replace(b',\n"displayTimeUnit":"ns"', b"")


def test_importers_take_no_event_of_a_switch():
    found = json.loads(text_of(made([switch(2, A, B, state=1, cpu=4)])))["traceEvents"][0]
    assert found == {
        "ph": "M",
        "name": "sched_switch",
        "args": "__stripped__",
        "ts": 0.002,
        "pid": 10,
        "tid": 10,
        "cpu": 4,
        "event_args": {
            "prev_tid": 10,
            "prev_comm": "a",
            "prev_prio": 120,
            "prev_state": 1,
            "next_tid": 11,
            "next_comm": "b",
            "next_prio": 99,
        },
    }


def test_states_of_other_kernels_become_those_of_linux():
    labels = tuple(
        Label(i, i, text)
        for i, text in enumerate(("new", "running", "suspended", "blocked", "dying", "dead"))
    )
    fields = {**{field.name: (field.type, field.role) for field in SWITCH.fields}}
    fields["prev_state"] = (IntegerClass(8, labels=labels), Role.PREV_STATE)
    other = event_class(Kind.SCHED_SWITCH, "switch", **fields)
    rows = [switch(i, A, B, state=i) for i in range(6)]
    found = lines_of(collect(project(trace_of([other], rows), CAPABILITIES, "chrome")[0]))
    assert [line.partition("prev_state=")[2][:1] for line in found] == [
        "R",
        "R",
        "T",
        "S",
        "Z",
        "X",
    ]


def test_switches_on_cpus_without_lines_are_a_loss():
    """Perfetto's importer ends at a CPU of more than 4,095."""
    cpus = [-1, 0, 4095, 4096, 65535]
    trace = trace_of([SWITCH, WAKING], [switch(n, A, B, cpu=cpu) for n, cpu in enumerate(cpus, 1)])
    target, report = project(trace, CAPABILITIES, "chrome")
    lines = lines_of(collect(target))
    code = "switch-without-cpu-unshown"
    assert [loss.count for loss in report if loss.code == code] == [3]
    assert [line.split()[2] for line in lines] == ["[000]", "[4095]"]
    waken = trace_of([SWITCH, WAKING], [(1, 5, 4096, 1, (b"w", 11, 120, 0))], [switch(6, A, B)])
    (line, _) = lines_of(collect(project(waken, CAPABILITIES, "chrome")[0]))
    assert "[000] .... 0.0000000055: sched_waking" in line


def own(*events: dict[str, Any], **members: Any) -> bytes:
    header = {"version": 1, "clock": {"ticks_per_second": "1000000000", "decimals": 3}, "added": []}
    return json.dumps(
        {"traceconv": header, "traceEvents": events, **members}, separators=(",", ":")
    ).encode()


RUNNING = {
    "ph": "T", "name": "Running", "ts": 1, "dur": 5, "pid": 20, "tid": 21, "event_pid": 10, "event_tid": 11,
    "args": {
        "cpu": 3, "prev_tid": 11, "prev_comm": "a", "prev_prio": 120, "prev_state": 1, "next_tid": 21, "next_comm": "b",
        "next_prio": 99,
    },
}  # fmt: skip


def test_files_of_older_versions_have_switches_as_states():
    trace = read(open_source(own(RUNNING)))
    (batch,) = trace.batches()
    (one,) = trace.event_classes
    assert one.kind is Kind.SCHED_SWITCH
    assert (batch.cpu.tolist(), trace.threads[batch.thread[0]].tid) == ([3], 11)
    assert [field.name for field in one.fields][:2] == ["prev_tid", "prev_comm"]


@pytest.mark.parametrize("change", [{"args": {}}, {"args": RUNNING["args"] | {"prev_tid": "x"}}])
def test_other_states_stay_what_they_are(change):
    trace = read(open_source(own(RUNNING | change)))
    list(trace.batches())
    assert [one.kind for one in trace.event_classes] == [Kind.STATE]


RECORD = {"ph": "M", "name": "sched_switch", "args": "__stripped__", "ts": 1, "pid": 1, "tid": 2}


def test_a_record_that_is_no_switch_is_an_instant_or_text():
    trace = read(open_source(own({**RECORD, "event_args": {"a": 1}}, RECORD)))
    list(trace.batches())
    assert [one.kind for one in trace.event_classes] == [Kind.INSTANT, Kind.NATIVE]


def test_stripped_metadata_of_other_files_stays_metadata():
    stripped = {**RECORD, "event_args": {"a": 1}}
    assert load([event(name="a"), stripped]).sidecar["chrome"]["metadata"] == [
        json.dumps(stripped, separators=(",", ":"))
    ]


@pytest.mark.parametrize(
    "opening", [{"ph": "?", "ts": 0}, {"ph": "M", "name": "native", "args": "__stripped__"}]
)
def test_text_in_base64_is_read_as_older_versions_wrote_it_too(opening):
    trace = collect(
        read(open_source(own({**opening, "native": b64encode(b"\x00no JSON").decode()})))
    )
    (batch,) = trace.batches()
    assert [one.kind for one in trace.event_classes] == [Kind.NATIVE]
    payloads = batch.tables[0].column(0)
    assert payloads.values.tobytes() == b"\x00no JSON"
    (written,) = json.loads(text_of(trace))["traceEvents"]
    assert (written["ph"], written["args"]) == ("M", "__stripped__")


def test_wakeups_are_read_in_own_files_alone():
    waking = event(ph="i", name="sched_waking", args={"pid": 3}, arg_types={"kind": "sched_waking"})
    kinds = []
    for text in (own(waking), json.dumps([waking]).encode()):
        trace = read(open_source(text))
        list(trace.batches())
        kinds.append([one.kind for one in trace.event_classes])
    assert kinds == [[Kind.SCHED_WAKING], [Kind.INSTANT]]


@pytest.mark.parametrize(
    "types",
    [{"kind": "other"}, {"kind": 5}, {"types": ["u64"]}, {"kind": "sched_waking", "types": 7}, []],
)
def test_declarations_that_say_nothing_do_no_harm(types):
    trace = read(open_source(own(event(ph="i", name="n", args={"x": 3}, arg_types=types))))
    list(trace.batches())
    assert [one.kind for one in trace.event_classes] == [Kind.INSTANT]


def test_an_older_text_of_scheduling_stays_as_it_is():
    """Of a trace that has one itself, the text is not made."""
    foreign = json.dumps(
        {"traceEvents": [event(name="a")], "systemTraceEvents": "# old\nx"}
    ).encode()
    trace = collect(read(open_source(foreign)))
    assert json.loads(text_of(trace))["systemTraceEvents"] == "# old\nx"
    assert difference(trace, read(open_source(text_of(trace)))) is None


@pytest.mark.parametrize("window", [1 << 8, 1 << 9, 1000, 1 << 22])
def test_a_text_larger_than_a_window_is_passed_over(window, monkeypatch):
    rows = [switch(i, A, (11, b'"\\ q', 1)) for i in range(300)]
    trace = made(rows)
    text = text_of(trace)
    monkeypatch.setattr(reader_module, "WINDOW", window)
    monkeypatch.setattr(document_module, "WINDOW", window)
    back = read(open_source(text))
    assert difference(trace, back) is None
    assert not back.warnings


@pytest.mark.parametrize("cut", [2, 3, 4, 40])
def test_a_text_without_its_end_gives_the_events(cut):
    trace = made([switch(i, A, B) for i in range(9)])
    back = read(open_source(text_of(trace)[:-cut]))
    assert sum(len(batch) for batch in back.batches()) == 9
    assert back.warnings


def test_a_large_text_waits_in_a_file(monkeypatch):
    rows = [switch(i, A, B) for i in range(300)]
    whole = text_of(made(rows))
    monkeypatch.setattr(scheduling, "_MOST_IN_MEMORY", 1000)
    monkeypatch.setattr(scheduling, "_BLOCK", 100)
    assert text_of(made(rows)) == whole


@pytest.mark.parametrize("writers", [1, 2, 3])
def test_what_several_processes_write_is_what_one_does(writers, tmp_path):
    batches = [[switch(10 * i + k, A, B, cpu=k % 2) for k in range(5)] for i in range(7)]
    whole = text_of(made(*batches))
    parts = []
    for number in range(writers):
        sink = BufferSink()
        shared = SharedSink(sink, Turns(number, writers, run_events=5))
        write(made(*batches), shared, "")
        shared.close()
        path = tmp_path / f"{number}"
        path.write_bytes(sink.getvalue())
        parts.append((str(path), shared.stretches))
    joined = BufferSink()
    join_files(parts, joined)
    assert joined.getvalue() == whole


def events_of(ts, row=0):
    zero = np.zeros(len(ts), np.int32)
    return EventArrays(ts=ts, class_id=zero, row=zero + row, thread=zero, cpu=zero)


def test_times_of_other_clocks_are_the_nearest_nanoseconds():
    columns = [
        np.zeros(1, dtype)
        for dtype in (np.int64, np.int32, *[np.int64] * 3, np.int32, *[np.int64] * 2)
    ]
    of = LineColumns(b"", columns)
    none = np.zeros(0, np.int64)
    cases = [
        (6, 1499, "0.0000000015"),
        (6, 1500, "0.0000000025"),
        (0, 7, "0.0000070005"),
        (3, 10**9, "1.0000000005"),
    ]
    cases += [
        (6, (1 << 63) - 1, "9223372.0368547765"),
        (4, 5, "0.0000000015"),
        (4, 4, "0.0000000005"),
    ]
    for decimals, units, shown in cases:
        lines = SchedLines(StringTable(), decimals, b"S", 8)
        events = events_of(np.array([units], np.int64))
        text, latest = lines.lines([of], events, none, none, 0, 1)
        assert f" {shown}: " in bytes(text).decode()
        assert latest >= 0
    events = events_of(np.array([1 << 60], np.int64))
    far = SchedLines(StringTable(), 0, b"S", 8).lines([of], events, none, none, 0, 1)
    assert (bytes(far[0]), far[1]) == (b"", -1)


def test_the_kernel_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="8 columns"):
        LineColumns(b"", [])
    with pytest.raises(ValueError, match="4 columns"):
        LineColumns(b"sched_waking", [])
    with pytest.raises(ValueError, match="decimals"):
        SchedLines(StringTable(), 19, b"S", 8)
    with pytest.raises(ValueError, match="letters"):
        SchedLines(StringTable(), 3, b"S" * 33, 8)
    with pytest.raises(ValueError, match="letters"):
        SchedLines(StringTable(), 3, b"S", 63)
    columns = [np.zeros(1, dtype) for dtype in (np.int64, np.int32, np.int64, np.int64)]
    of = LineColumns(b"sched_waking", columns)
    none, time = np.zeros(1, np.int64), np.zeros(1, np.int64)
    lines = SchedLines(StringTable(), 3, b"S", 8)
    with pytest.raises(ValueError, match="outside of its class"):
        lines.lines([of], events_of(time, row=1), none, none, 0, 1)
    with pytest.raises(ValueError, match="outside of its class"):
        bad = LineColumns(b"x", [columns[0], np.ones(1, np.int32), *columns[2:]])
        lines.lines([bad], events_of(time), none, none, 0, 1)
    with pytest.raises(ValueError, match="differ in length"):
        lines.lines([of], events_of(time), none, none[:0], 0, 1)
    with pytest.raises(ValueError, match="events 0 to 2 of 1"):
        lines.lines([of], events_of(time), none, none, 0, 2)


def test_the_text_begins_as_readers_look_for_it():
    text = text_of(made([switch(1, A, B)]))
    assert b'\n"systemTraceEvents":"' + DERIVED_TEXT in text
