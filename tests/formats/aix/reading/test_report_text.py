"""Reports of trcrpt as text: columns of any choice, what the lines mean, and text that is no report."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.aix.trcrpt_reports import LINES, WIDTHS, report
from support.traces.small_traces import events_of

import converter
from converter.errors import TraceError
from converter.formats.aix.reading import report_text
from converter.formats.aix.reading.report_header import FrontColumn, Heading, parse_heading
from converter.formats.aix.reading.report_scan import copy_spans, numbers, scan, words
from converter.formats.aix.reading.report_text import read_report, sniff
from converter.ir.invariants import check
from converter.ir.kinds import Kind
from converter.storage.opening import open_source


def events(data):
    trace = read_report(open_source(data))
    check(trace)
    return trace, events_of(trace)


def test_what_the_lines_mean():
    trace, found = events(report())
    kinds = [kind for _, kind, _, _ in found]
    assert kinds == [
        Kind.LOG,
        Kind.SCHED_SWITCH,
        Kind.SYSCALL_ENTRY,
        Kind.PROCESS_FORK,
        Kind.SCHED_WAKEUP,
        Kind.SYSCALL_EXIT,
        Kind.SLICE_BEGIN,
        Kind.SLICE_END,
        Kind.PROCESS_EXEC,
        Kind.LOG,
        Kind.SCHED_SWITCH,
        Kind.DISCARDED,
        Kind.LOG,
    ]
    assert [ts for ts, *_ in found] == [line[7] for line in LINES]
    fields = [each for *_, each in found]
    switch = fields[1]
    assert [switch[name] for name in ("cmd", "pid", "tid", "priority", "old_tid", "old_priority")] == [
        "ksh", 8526, 24713, 60, 517, 127,
    ]  # fmt: skip
    assert fields[2]["lr"] == 0xD0040AF8
    assert (fields[3]["pid"], fields[3]["tid"]) == (7214, 25001)
    assert (fields[4]["cmd"], fields[4]["tid"], fields[4]["priority"]) == ("ksh", 25001, 64)
    assert fields[6]["name"] == "slih"
    assert (fields[8]["cmd"], fields[8]["pid"]) == ("cp ../bin/track /tmp/junk", 7214)
    assert (fields[10]["cmd"], fields[10]["tid"]) == ("idle process", 517)
    assert fields[11]["missed_entries"] == 0xC77A
    names = [trace.event_classes[int(i)].name for b in trace.batches() for i in b.class_id]
    assert (names[2], names[5], names[9]) == ("sys_enter_kfork", "sys_exit_kfork", "VMM DELETE")
    assert names[12] == "hook F5F1"


def test_nothing_of_a_line_is_lost():
    _, found = events(report())
    for (_, _, _, fields), line in zip(found, LINES, strict=True):
        assert fields["message"].split() == line[10].split()
        assert fields["level"] == line[9] + 1
        assert fields["system_call"] == line[6]
        assert fields["interrupt_depth"] == (int(line[5]) if line[5] else -1)


def test_threads_and_processes():
    trace, _ = events(report())
    pids = {thread.tid: trace.processes[thread.process].pid for thread in trace.threads}
    assert pids == {24713: 8526, 25001: 7214, 517: 516}
    assert {each.pid: each.name for each in trace.processes} == {
        8526: "ksh",
        7214: "cp",
        516: "wait",
    }
    (batch,) = trace.batches()
    tids = [trace.threads[i].tid if i >= 0 else -1 for i in batch.thread]
    assert tids[:3] == [-1, 24713, 24713]
    assert tids[6:9] == [-1, -1, 25001], "a handler is on its CPU"
    assert batch.cpu.tolist()[:9] == [-1, 0, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("timestamp", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "columns",
    [
        tuple(WIDTHS),
        ("ID",),
        ("ID", "PROCESS NAME", "I", "SYSTEM CALL"),
        ("ID", "CPU", "PID", "I"),
        ("ID", "TID"),
        ("ID", "PROCESS NAME", "CPU", "PID", "TID", "I"),
    ],
)
def test_columns_of_any_choice(columns, timestamp):
    trace, found = events(report(columns, timestamp))
    assert len(found) == len(LINES)
    for (ts, _, _, fields), line in zip(found, LINES, strict=True):
        resolution = 1000 if timestamp == 1 else 1
        assert ts == (0 if timestamp == 3 else line[7] // resolution * resolution)
        assert fields["message"].split() == line[10].split()
    timed = {each.timed for each in trace.event_classes}
    assert timed == {timestamp != 3}
    tids = {thread.tid for thread in trace.threads}
    if "TID" in columns:
        assert tids == {24713, 25001, 517}
    elif "PID" in columns:
        assert tids == {8526, 7214, 516}
    else:
        assert not tids
        if "PROCESS NAME" in columns:
            assert [fields["process_name"] for *_, fields in found] == [each[1] for each in LINES]


def test_without_ids():
    _, found = events(report(("CPU", "PID")))
    assert [ts for ts, *_ in found] == [line[7] for line in LINES]
    assert {kind for _, kind, _, _ in found} == {Kind.LOG}


def test_two_lines_an_event():
    _, found = events(report(two_lines=True))
    assert [fields["message"].split() for *_, fields in found] == [
        each[10].split() for each in LINES
    ]
    assert [kind for _, kind, _, _ in found][1] is Kind.SCHED_SWITCH


def test_a_report_whose_blanks_were_squeezed():
    """As reports in web pages and mails are."""
    squeezed = b"\n".join(b" ".join(line.split()) for line in report().split(b"\n"))
    trace, found = events(squeezed)
    _, whole = events(report())
    assert [event[:3] for event in found] == [event[:3] for event in whole]
    assert [fields["message"].split() for *_, fields in found] == [
        each[10].split() for each in LINES
    ]
    assert {thread.tid for thread in trace.threads} == {24713, 25001, 517}


def test_lines_of_the_documentation():
    text = (
        b"ID PROCESS NAME PID ELAPSED_SEC DELTA_MSEC APPL SYSCALL KERNEL INTERRUPT\n"
        b"101 ksh 8526 0.005833472 0.107008 kfork LR = D0040AF8\n"
        b"134 cp 7214 0.014451456 0.030464 exec: cmd=cp ../bin/track  pid=7214 tid=24713\n"
        b"006 - 1929377 7.160342830 0.000826 TRACEBUFFER WRAPAROUND 5D88 C77A missed entries\n"
    )
    trace, found = events(text)
    assert [(ts, kind) for ts, kind, _, _ in found] == [
        (5833472, Kind.SYSCALL_ENTRY),
        (14451456, Kind.PROCESS_EXEC),
        (7160342830, Kind.DISCARDED),
    ]
    assert {each.pid: each.name for each in trace.processes} == {
        8526: "ksh",
        7214: "cp",
        1929377: "",
    }


def test_pages_repeat_the_heading_and_reports_follow_each_other():
    first = report(lines=LINES[:3])
    heading = first.split(b"\n\n")[-2].split(b"\n")[-1]
    page = b"\n\n" + heading + b"\n\n"
    rest = report(lines=LINES[3:6]).split(heading)[1].lstrip(b"\n")
    other = report(("ID", "PID", "TID"), 2, LINES[6:9], preamble="\n")
    _, found = events(first + page + rest + other)
    assert [ts for ts, *_ in found] == [line[7] for line in LINES[:9]]


def test_what_is_no_event_is_kept():
    data = report(lines=LINES[:2]) + b"\nhook ID     count\n\n106         12\n"
    trace, found = events(data)
    assert [(kind, fields["message"]) for _, kind, _, fields in found[2:]] == [
        (Kind.LOG, "hook ID     count"),
        (Kind.LOG, "106         12"),
    ]
    assert found[2][0] == found[1][0]
    assert [each.timed for each in trace.event_classes if not each.category or not each.name] == [
        False
    ]


def test_facts_above_the_heading():
    trace, _ = events(report())
    assert trace.environment["aix_system"] == "AIX 5.2 Node: lpar05"
    assert trace.environment["aix_machine"] == "0021768A4C00"
    assert "trace -a -o trc_raw" in trace.sidecar["trcrpt"]["preamble"]
    assert (trace.clock.name, trace.clock.ticks_per_second) == ("elapsed", 10**9)


def test_events_have_their_own_text():
    trace = read_report(open_source(report()))
    (batch,) = trace.batches()
    text = trace.describe(batch)
    assert text(0) == "TRACE ON channel 0 Wed Oct 22 10:14:53 2003"
    assert text(2) == "kfork LR = D0040AF8"


def test_windows_give_the_same_as_the_whole(monkeypatch):
    data = report(lines=LINES * 20)
    _, whole = events(data)
    for window in (700, 1000, 4096):
        monkeypatch.setattr(report_text, "_WINDOW", window)
        trace = read_report(open_source(data))
        check(trace)
        assert events_of(trace) == whole
        assert sum(1 for _ in trace.batches()) > 1


def test_many_short_lines_are_several_batches(monkeypatch):
    monkeypatch.setattr(report_text, "_MAX_ROWS", 5)
    trace, found = events(report(lines=LINES * 2))
    assert [fields["message"].split() for *_, fields in found] == [
        each[10].split() for each in LINES * 2
    ]
    assert max(len(batch) for batch in trace.batches()) <= 5


def test_a_line_without_an_end_is_left_out_with_a_warning(monkeypatch):
    monkeypatch.setattr(report_text, "_WINDOW", 2000)
    data = report(lines=LINES[:3])
    trace, found = events(data + b"x" * 5000 + b"\n" + data.split(b"\n\n")[-1])
    assert [kind for _, kind, _, _ in found if kind is not Kind.LOG] == [
        Kind.SCHED_SWITCH,
        Kind.SYSCALL_ENTRY,
    ] * 2
    assert {each.found for each in trace.warnings} == {"2000 bytes without an end"}


def test_a_report_can_be_converted(tmp_path):
    (tmp_path / "cp.rpt").write_bytes(report())
    for name in ("out.fxt", "out.json", "out.pftrace"):
        converter.convert(tmp_path / "cp.rpt", tmp_path / name, source_format="aix")
        with converter.open_trace(tmp_path / name) as trace:
            assert sum(len(batch) for batch in trace.batches()) >= len(LINES)


def test_sniffing():
    assert sniff(report())
    assert sniff(report(two_lines=True))
    assert sniff(report(timestamp=3))
    assert not sniff(b"ID PROCESS NAME SYSCALL\n106 x\n")
    assert not sniff(b"they call it APPL SYSCALL KERNEL INTERRUPT, I hear\n")
    assert not sniff(b"\0" + report())
    assert not sniff(b"")


def test_headings():
    line = b"ID  CPU I SYSTEM CALL   ELAPSED_SEC  DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT"
    found = parse_heading(line)
    assert found.columns == (
        (FrontColumn.ID, 0),
        (FrontColumn.CPU, 4),
        (FrontColumn.DEPTH, 8),
        (FrontColumn.SYSTEM_CALL, 10),
    )
    assert (found.timed, found.has_delta, found.aligned) == (True, True, True)
    assert found.text_column == line.index(b"APPL")
    assert parse_heading(b"ID ID APPL SYSCALL KERNEL INTERRUPT") is None
    assert parse_heading(b"ID OTHER APPL SYSCALL KERNEL INTERRUPT") is None
    assert parse_heading(b"APPL SYSCALL KERNEL INTERRUPT") is None


def test_text_without_a_heading_is_refused():
    with pytest.raises(TraceError, match="expected a line that ends in APPL SYSCALL KERNEL"):
        read_report(open_source(b"no report\n"))


@pytest.mark.parametrize("columns", [tuple(WIDTHS), ("ID", "TID"), ("CPU",)])
def test_damaged_reports(columns):
    """Cut at any byte, and with any byte changed: a trace, or the error that there is no heading."""
    data = report(columns)
    chance = random.Random(7)
    damaged = [data[:size] for size in range(0, len(data), 83)]
    for _ in range(60):
        at = chance.randrange(len(data))
        damaged.append(data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :])
        damaged.append(data[:at] + data[at + chance.randrange(60) :])
    for each in damaged:
        if sniff(each.replace(b"\0", b"?")):
            check(read_report(open_source(each)))
        else:
            with pytest.raises(TraceError, match="heading"):
                read_report(open_source(each))


LOOSE = st.sampled_from(
    [b"106", b"F5F1", b" ", b"\n", b"0.000000001", b"9999999999.123456789", b"1.5", b"-1", b"99999999999999999999",
     b"tid=", b"old_tid=", b"cmd=", b"missed entries", b"LR = ", b"\r\n", b"\t", b"\xff", b"slih", b"return from ",
     b"APPL    SYSCALL KERNEL  INTERRUPT", b"ID "]
)  # fmt: skip


@given(st.lists(LOOSE, max_size=60), st.sampled_from([0, 1, 3]), st.booleans())
@settings(max_examples=80, deadline=None)
def test_any_text_below_a_heading(parts, timestamp, squeezed):
    data = report(timestamp=timestamp, lines=LINES[:1]) + b"".join(parts)
    if squeezed:
        data = b"\n".join(b" ".join(line.split()) for line in data.split(b"\n"))
    check(read_report(open_source(data)))


def test_the_kernel_refuses_what_does_not_fit():
    rows = np.empty((4, 13), np.int64)
    heading = Heading(((FrontColumn.ID, 0),), True, True, True, 8, b"")
    with pytest.raises(ValueError, match="rows of another shape"):
        scan(b"x\n", 0, True, heading, np.empty((4, 12), np.int64))
    with pytest.raises(ValueError, match="start outside"):
        scan(b"x\n", 3, True, heading, rows)
    one, two = np.zeros(1, np.int64), np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="differ in length"):
        numbers(b"x", one, two, b"x", 10, one)
    with pytest.raises(ValueError, match="base 7"):
        numbers(b"x", one, one, b"x", 7, one)
    with pytest.raises(ValueError, match="differ in length"):
        words(b"x", one, one, b"", b"", two, one)
    with pytest.raises(ValueError, match="outside the data"):
        copy_spans(b"x", np.array([5]), np.array([1]), two, np.empty(9, np.uint8))
    outside = np.array([-1, 5, 0]), np.array([1, 1, 99])
    out = np.zeros(3, np.int64)
    numbers(b"x=12", *outside, b"x=", 10, out)
    assert out.tolist() == [-1, -1, -1]
