"""Lines of ftrace text in columns: what is before an event's text."""

import pytest

from converter.formats.ftrace.lines.scan.line_scan import (
    LINE_COMMENT,
    LINE_EVENT,
    LINE_LOST,
    LINE_OTHER,
    Lines,
)
from converter.kernels.tables.strings import StringTable


def scanned(text, *, flags=b"", ticks=False, of_report=False):
    names = StringTable()
    data = text.encode()
    lines = Lines(data.count(b"\n") + 1, names, flags, ticks=ticks, of_report=of_report)
    lines.scan(data, 0)
    return lines, names, data


def first(text, **options):
    """Time, CPU, pid, tgid, flags, task, event and text of a line."""
    lines, names, data = scanned(text, **options)
    assert lines.count == 1
    assert lines.kind[0] == LINE_EVENT
    comm = data[lines.comm[0] : lines.comm[0] + lines.comm_size[0]]
    name = int(lines.name[0])
    return (
        *(int(column[0]) for column in (lines.ts, lines.cpu, lines.pid, lines.tgid, lines.flags)),
        comm.decode(),
        "" if name < 0 else names[name].decode(),
        data[lines.text[0] : lines.end[0]].decode(),
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            # Linux 2.6.31
            "          atrace-14662 [000] 50260.647576: sched_switch: prev_comm=atrace",
            (50260647576000, 0, 14662, -1, -1, "atrace", "sched_switch", "prev_comm=atrace"),
        ),
        (
            "          <idle>-0       [001] d..2.  3000.224816: sched_switch: a=1",
            (3000224816000, 1, 0, -1, 0x201, "<idle>", "sched_switch", "a=1"),
        ),
        (
            # with record-tgid
            " Binder:1-2 a-b-1234  ( 999) [003] dN.1 1.000001: sched_waking: comm=x",
            (1000001000, 3, 1234, 999, 0x125, "Binder:1-2 a-b", "sched_waking", "comm=x"),
        ),
        (
            " kworker/0:1-12    (-------) [000] ...1 2.5: e: t",
            (2500000000, 0, 12, -1, 0x100, "kworker/0:1", "e", "t"),
        ),
        (
            # trace-cmd report -t
            "             git-23217 [000] d..3.   827.282959756: sched_waking:         comm=grep",
            (827282959756, 0, 23217, -1, 0x301, "git", "sched_waking", "comm=grep"),
        ),
        (
            # a name wider than its column
            "   a-1 [000] ..... 1.000000: sched_process_exec_and_more: filename=x",
            (1000000000, 0, 1, -1, 0, "a", "sched_process_exec_and_more", "filename=x"),
        ),
        (
            # only one space belongs to the tool
            "   a-1 [000] ..... 1.000000: e:  two",
            (1000000000, 0, 1, -1, 0, "a", "e", " two"),
        ),
        (
            "   bash-1977  [000] .... 17284.993652: sys_close <-system_call_fastpath",
            (17284993652000, 0, 1977, -1, 0, "bash", "", "sys_close <-system_call_fastpath"),
        ),
        (
            # latency format
            "  <idle>-0       3dNh1.    5us+: sched_wakeup: comm=x",
            (5000, 3, 0, -1, 0x12D, "<idle>", "sched_wakeup", "comm=x"),
        ),
        (
            # trace-cmd report --ts-diff
            "   a-1 [002] 1.000000: (+20) : e: t".replace(": (+20) ", " (+20)"),
            (1000000000, 2, 1, -1, -1, "a", "e", "t"),
        ),
        (
            # real-time kernels
            "   a-1 [002] d.Ls123 1.000000: e: t",
            (1000000000, 2, 1, -1, 0x3113, "a", "e", "t"),
        ),
    ],
)
def test_what_is_before_the_text(line, expected):
    assert first(line) == expected
    assert first(line + "\r\n") == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "     git-23217   0d..3.   827.282960: sched_waking:         comm=grep",
            (827282960000, 0, 23217, -1, 0x301, "git", "sched_waking", "comm=grep"),
        ),
        (
            "             git-23217 [000]-0x1   827.282960: sched_waking:          comm=grep",
            (827282960000, 0, 23217, -1, 1, "git", "sched_waking", " comm=grep"),
        ),
        (
            "             git-23217 [000] d..3.   827.282960:          sched_waking:         comm=x",
            (827282960000, 0, 23217, -1, 0x301, "git", "sched_waking", "comm=x"),
        ),
        (
            "             git-23217 [000] d..2.   827.282965: (+5)     sched_switch:         a",
            (827282965000, 0, 23217, -1, 0x201, "git", "sched_switch", "a"),
        ),
    ],
)
def test_lines_of_reports(line, expected):
    assert first(line, of_report=True) == expected


def test_the_header_says_what_flags_are():
    # Linux 5.10-rt
    flags = bytes([1, 2, 3, 4, 5, 6, 7])
    assert first("a-1 [000] d.Lh213 1.0: e: t", flags=flags)[4] == 0x320B


def test_counters_have_times_without_a_fraction():
    line = "   ls-331   [001] .....           3: sched_prepare_exec:   interp=/bin/ls"
    assert first(line, ticks=True)[0] == 3
    lines, *_ = scanned(line)
    assert lines.kind[0] == LINE_OTHER


@pytest.mark.parametrize(
    "line",
    [
        "",
        "a",
        "a-1 [000]",
        "a-1 [000] 1.5",
        "a-1 [123456] 1.5: e: t",
        "a [000] 1.5: e: t",
        "-1 [000] 1.5: e: t"[1:],
        "a-1 [000] 99999999999.0: e: t",
        "a-1 [000] 1.1234567890: e: t",
        "a-1 [000] qqqqq 1.5: e: t",
        "a-99999999999 [000] 1.5: e: t",
        " 0)   0.125 us    |  mutex_unlock();",
    ],
)
def test_lines_that_are_none(line):
    lines, *_ = scanned(line)
    assert [int(kind) for kind in lines.kind[: lines.count]] == [LINE_OTHER] * bool(line)


def test_remarks_and_lost_events():
    text = "# tracer: nop\n#\nCPU:3 [LOST 123 EVENTS]\nCPU:2 [7 EVENTS DROPPED]\nCPU:1 [EVENTS DROPPED]\n"
    lines, *_ = scanned(text)
    assert lines.kind[:5].tolist() == [LINE_COMMENT] * 2 + [LINE_LOST] * 3
    assert lines.cpu[2:5].tolist() == [3, 2, 1]
    assert lines.text[2:5].tolist() == [123, 7, -1]


def test_the_frames_of_a_stack_belong_to_their_event():
    text = (
        "a-1 [000] 1.0: <stack trace>\n => schedule\n=> do_exit (c0ed1a40)\nb-2 [000] 2.0: e: t\n"
    )
    lines, _, data = scanned(text)
    assert lines.count == 2
    assert data[lines.text[0] : lines.end[0]].decode().count("=>") == 2


def test_a_text_of_more_lines_is_refused():
    lines = Lines(1, StringTable(), b"", ticks=False, of_report=False)
    with pytest.raises(ValueError, match="more lines"):
        lines.scan(b"a\nb\n", 0)
