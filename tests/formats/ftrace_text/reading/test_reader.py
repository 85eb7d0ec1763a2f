"""Ftrace text as a trace: events with their fields, tasks, clocks, and lines that are no events."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from support.trace_cmd.ftrace_texts import read, rows

import converter
from converter.errors import TraceError
from converter.formats.ftrace_text import FORMAT, sniff
from converter.formats.ftrace_text.reading import reader
from converter.ir.kinds import Kind
from converter.jobs.reading import detect

ROOT = Path(__file__).parents[4]
FIXTURES = ROOT / "roundtrip_fixtures/ftrace_text"
RECORDED = ROOT / "roundtrip_fixtures/trace_cmd"

HEADER = """\
# tracer: nop
#
# entries-in-buffer/entries-written: 3/3   #P:2
#
#                                _-----=> irqs-off/BH-disabled
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| / _-=> migrate-disable
#                              |||| /     delay
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
"""


def test_the_kernels_text():
    text = HEADER + (
        "              sh-106     [001] d..2.  3000.167472: sched_switch: prev_comm=sh prev_pid=106"
        " prev_prio=120 prev_state=R+ ==> next_comm=swapper/1 next_pid=0 next_prio=120\n"
        "          <idle>-0       [000] d..3.  3000.168342: tp1: (__probestub+0x4/0x10) preempt=0\n"
        "           <...>-99      [000] .....  3000.169000: tracing_mark_write: B|99|work\n"
    )
    trace = read(text)
    switch, probe, mark = rows(trace)
    assert switch[:4] == (3000167472000, 1, 106, "sched_switch")
    assert switch[4] == {
        "prev_comm": "sh",
        "prev_pid": 106,
        "prev_prio": 120,
        "prev_state": 0x100,
        "next_comm": "swapper/1",
        "next_pid": 0,
        "next_prio": 120,
        "common_flags": 1,
        "common_preempt_count": 2,
    }
    assert probe[3:] == (
        "tp1",
        {
            "__probe_ip": "__probestub+0x4/0x10",
            "preempt": 0,
            "common_flags": 1,
            "common_preempt_count": 3,
        },
    )
    assert mark[3] == "print"
    assert mark[4]["buf"] == "B|99|work"
    assert [one.kind for one in trace.event_classes] == [Kind.SCHED_SWITCH, Kind.TYPED, Kind.MARK]
    assert sorted((thread.tid, thread.name) for thread in trace.threads) == [
        (0, "swapper"),
        (99, ""),
        (106, "sh"),
    ]
    assert trace.environment == {"cpus": 2, "tracer": "nop"}


def test_a_tgid_is_a_process():
    text = (
        " a-11    (-----) [000] ...1 1.000000: e: x=1\n"
        " a-11    (   10) [000] ...1 1.000001: e: x=1\n"
        " m-10    (   10) [000] ...1 1.000002: e: x=1\n"
        " b-11    (   12) [000] ...1 1.000003: e: x=1\n"
    )
    trace = read(text)
    assert len(rows(trace)) == 4
    found = sorted((one.tid, trace.processes[one.process].pid) for one in trace.threads)
    assert found == [(10, 10), (11, 10), (11, 12)]


@pytest.mark.parametrize(
    ("text", "event", "fields"),
    [
        ("foo: hello there", "foo", {"message": "hello there"}),
        ("foo:", "foo", {"message": ""}),
        ("hello there", "", {"message": "hello there"}),
        ("sched_switch: hello", "sched_switch", {"message": "hello"}),
        (
            # Linux 4.4
            "sched_wakeup: comm=sh pid=7 prio=120 success=1 target_cpu=003",
            "sched_wakeup",
            {"comm": "sh", "pid": 7, "prio": 120, "success": 1, "target_cpu": 3},
        ),
        ("print:                tracing_mark_write: E|7", "print", {"buf": "E|7"}),
        ("bprint:               do_it: n=7", "bprint", {"message": "n=7"}),
        ("myprobe: (do_sys_open+0x0/0xd6)", "myprobe", {"__probe_ip": "do_sys_open+0x0/0xd6"}),
        (
            # Linux 2.6.33
            "myprobe: (0x4464 <- do_open) $retval=-2 $arg1=0x3",
            "myprobe",
            {"__probe_func": "0x4464", "__probe_ret_ip": "do_open", "retval": -2, "arg1": 3},
        ),
    ],
)
def test_other_texts(text, event, fields):
    ((_, _, _, name, found),) = rows(read(f" a-1 [000] 1.000000: {text}\n"))
    assert name == event
    assert {key: value for key, value in found.items() if key != "ip"} == fields


def test_texts_of_one_event_may_differ():
    lines = ["x=1", "x=one", "y=2", "nothing", "x=3"]
    text = "".join(f" a-1 [000] 1.00000{i}: e: {line}\n" for i, line in enumerate(lines))
    assert [one[4] for one in rows(read(text))] == [
        {"x": 1},
        {"x": "one"},
        {"y": 2},
        {"message": "nothing"},
        {"x": 3},
    ]


def test_functions_and_stacks_by_name():
    text = (
        " a-1 [000] ..... 1.000000: vfs_open <-do_open+0x10\n"
        " a-1 [000] ..... 1.000001: <stack trace>\n => vfs_open\n => path_openat\n"
    )
    trace = read(text)
    function, stack = rows(trace)
    assert trace.symbols is not None
    named = [trace.symbols.lookup(function[4][name]) for name in ("ip", "parent_ip")]
    assert named == [(b"vfs_open", 0), (b"do_open", 16)]
    assert [trace.symbols.lookup(frame) for frame in stack[4]["caller"]] == [
        (b"vfs_open", 0),
        (b"path_openat", 0),
    ]


def test_the_function_graph_of_a_report():
    """Calls that return on their line have an end of their own; a later end has the function of its call."""
    text = "cpus=1\n" + "".join(
        f"  ls-144   [000] ..... {second}.000000: {text}\n"
        for second, text in enumerate(
            (
                "funcgraph_entry:                   |  do_sys_openat2() {",
                "funcgraph_entry:                   |    getname() {",
                "funcgraph_entry:      ! 139.024 us |      rcu_all_qs();",
                "funcgraph_exit:       + 24.064 us  |    }",
                "funcgraph_exit:         0.500 us   |  }",
            )
        )
    )
    trace = read(text)
    assert trace.symbols is not None
    found = [
        (ts, name, trace.symbols.lookup(fields["func"])[0].decode(), fields["depth"])
        for ts, _, _, name, fields in rows(trace)
    ]
    assert found == [
        (0, "funcgraph_entry", "do_sys_openat2", 0),
        (10**9, "funcgraph_entry", "getname", 1),
        (2 * 10**9, "funcgraph_entry", "rcu_all_qs", 2),
        (2 * 10**9 + 139024, "funcgraph_exit", "rcu_all_qs", 2),
        (3 * 10**9, "funcgraph_exit", "getname", 1),
        (4 * 10**9, "funcgraph_exit", "do_sys_openat2", 0),
    ]
    assert {one.kind for one in trace.event_classes} == {Kind.FUNCTION_ENTRY, Kind.FUNCTION_EXIT}


def test_lost_events_and_other_lines():
    text = HEADER + (
        "CPU:1 [LOST 12 EVENTS]\n"
        " a-1 [001] ..... 1.000000: e: x=1\n"
        "what is this\n"
        "##### CPU 0 buffer started ####\n"
        " a-1 [000] ..... 2.000000: e: x=1\n"
    )
    trace = read(text)
    found = rows(trace)
    assert [one[3] for one in found] == ["discarded", "e", "", "e"]
    assert found[0][:2] == (10**9, 1)
    assert found[0][4] == {"count": 12}
    assert found[2][4] == {"message": "what is this"}


def test_a_counter_has_no_unit():
    trace = read("cpus=1\n a-1 [000] .....           3: e: x=1\n")
    assert trace.clock.ticks_per_second is None
    assert rows(trace)[0][0] == 3


def test_the_clock_can_be_named():
    trace = converter.read(b" a-1 [000] 1.5: e: x=1\n", "ftrace_text", {"clock": "boot"})
    assert trace.clock.name == "boot"


def test_blocks_do_not_matter(monkeypatch):
    from converter.formats.ftrace_text.reading import reader

    text = HEADER + "".join(
        f" t{i % 7}-{i % 7 + 1} [00{i % 2}] d..1. {i}.000001: e: x={i} name=n{i}\n"
        + (" => schedule\n => x\n" if i % 5 == 0 else "")
        + ("CPU:0 [LOST 3 EVENTS]\n" if i % 11 == 0 else "")
        for i in range(200)
    )
    whole = rows(read(text))
    for window in (1, 64, 1000):
        monkeypatch.setattr(reader, "WINDOW", window)
        monkeypatch.setattr(converter.ir.trace.Trace, "bytes_of_a_window", lambda _, usual: usual)
        assert rows(read(text)) == whole


def test_old_systrace_pages_have_the_text_as_a_string():
    text = (
        "# tracer: nop\\n\\\n#\\n\\\n"
        "  atrace-14662 [000] 50260.647576: sched_wakeup: comm=adbd pid=14582 prio=120 target_cpu=000\\n\\\n"
    )
    ((_, _, _, name, fields),) = rows(read(text))
    assert (name, fields["target_cpu"]) == ("sched_wakeup", 0)


NEW_PAGE = (
    "<!DOCTYPE html>\n<html><script>" + "var x = 1;\n" * 200_000 + "</script>\n"
    '<script class="trace-data" type="application/text">\nPROCESS DUMP\n</script>\n'
    '<script class="trace-data" type="application/text">\n# tracer: nop\n#\n'
    " a-1 [000] ...1 1.000000: tracing_mark_write: B|1|x<y\n"
    " a-1 [000] ...1 2.000000: tracing_mark_write: E|1\n  </script>\n</html>\n"
)
OLD_PAGE = (
    '<!DOCTYPE HTML>\n<html><script>\nvar linuxPerfData = "\\\n# tracer: nop\\n\\\n'
    " a-1 [000] 1.000000: tracing_mark_write: B|1|x<y\\n\\\n"
    ' a-1 [000] 2.000000: tracing_mark_write: E|1\\n\\\n";\n</script></html>\n'
)


@pytest.mark.parametrize("page", [NEW_PAGE, OLD_PAGE], ids=["new", "old"])
def test_pages_of_systrace(page, tmp_path):
    path = tmp_path / "trace.html"
    path.write_text(page)
    assert detect(path) is FORMAT
    trace = converter.read(path)
    assert [(one[0], one[4]["buf"]) for one in rows(trace)] == [
        (10**9, "B|1|x<y"),
        (2 * 10**9, "E|1"),
    ]


def test_the_text_in_a_json_trace_is_read_on_request(tmp_path):
    text = '# tracer: nop\n a "b"-1 [000] ...1 1.000000: tracing_mark_write: B|1|x\\y\n'
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"traceEvents": [], "systemTraceEvents": text, "z": 1}))
    assert detect(path).name == "chrome"
    trace = converter.read(path, "ftrace_text")
    assert [one[4]["buf"] for one in rows(trace)] == ["B|1|x\\y"]
    assert trace.threads[0].name == 'a "b"'
    path.write_text(path.read_text().replace(', "z": 1}', "")[:-1])
    with pytest.raises(TraceError):
        converter.read(path, "ftrace_text")


def test_other_pages_are_not_recognised(tmp_path):
    path = tmp_path / "x.html"
    path.write_text("<!DOCTYPE html>\n<html><script class='trace-data'>{}</script></html>\n")
    with pytest.raises(converter.UnknownFormatError):
        converter.read(path)


@pytest.mark.parametrize(
    ("head", "is_it"),
    [
        (b"# tracer: function\n#\n", True),
        (b"cpus=4\n", True),
        (b"version = 6\ncpus=6\n  <...>-1701  [001]    76.211513: sched_switch: x=1\n", True),
        (b"TRACE:\n# tracer: nop\n", True),
        (b" a-1 [000] 1.5: e: x=1\n", True),
        (b" bash-2770      3dN.1.   12us!: e: x\n", True),
        (b"", False),
        (b"hello\n", False),
        (b"2026-11-27 12:00:00 [000] hello: x\n", False),
        (b"# comment\n", False),
        (b"swapper     0 [000]  1.5: sched:sched_switch: x\n", False),
        (b"# tracer: nop\0", False),
    ],
)
def test_what_is_recognised(head, is_it):
    assert sniff(head) is is_it


def test_other_files_are_refused():
    with pytest.raises(TraceError, match="lines of ftrace"):
        read("hello\n")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("# event histogram\n#\n{ pid: 7 } hitcount: 1\n", "histogram of kernel events"),
        ("VERSION 20070824\nMAP 1.0 1 0xb0b00000 0xffff 0x10000 0x0 0\n", "log of mmiotrace"),
    ],
)
def test_near_misses(text, hint, tmp_path):
    path = tmp_path / "trace"
    path.write_text(text)
    with pytest.raises(TraceError, match=hint):
        detect(path)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.t*")), ids=lambda path: path.name)
def test_fixtures_are_recognised_and_read(path):
    assert detect(path) is FORMAT
    trace = converter.read(path)
    count = sum(len(batch) for batch in trace.batches())
    lines = [line for line in path.read_bytes().splitlines() if b"-" in line and b"]" in line]
    assert count == len([line for line in lines if not line.startswith(b"#")])
    assert not trace.warnings


trace_cmd = shutil.which("trace-cmd-3.4")
needs_trace_cmd = pytest.mark.skipif(trace_cmd is None, reason="needs trace-cmd 3.4")


@needs_trace_cmd
@pytest.mark.parametrize("name", ["small.dat", "markers.dat", "lost.dat"])
def test_a_report_is_read_as_the_recording(name):
    """But for what texts do not say: names of functions have other addresses, and lines end with their line."""
    printed = subprocess.run(
        [trace_cmd, "report", "-t", "-N", RECORDED / name], capture_output=True, check=True
    ).stdout
    found, expected = rows(read(printed)), rows(converter.read(RECORDED / name))
    assert [one[:4] for one in found] == [one[:4] for one in expected]
    left = {"ip", "common_flags"}
    for one, other in zip(found, expected, strict=True):
        if one[3] == "raw_data":
            continue
        wanted = {
            key: value.rstrip("\n") if isinstance(value, str) else value
            for key, value in other[4].items()
            if key not in left
        }
        assert {key: value for key, value in one[4].items() if key not in left} == wanted


@pytest.mark.parametrize("size", [65534, 65535, 65536])
def test_texts_of_any_length_are_whole(size):
    found = rows(read(f" a-1 [000] 1.0: e: {'x' * size}\n a-1 [000] 2.0: e: y=1\n"))
    assert [len(fields.get("message", "")) for *_, fields in found] == [size, 3]


def test_programs_of_later_events_follow_those_of_earlier_ones(monkeypatch):
    lines = [f" a-1 [000] {i}.0: e{i}: name=one x={i}\n" for i in range(40)]
    switch = " a-1 [000] 50.0: irq_handler_exit: irq=1 ret=handled\n"
    monkeypatch.setattr(reader, "WINDOW", 200)
    found = rows(read("".join(lines) + switch))
    assert [fields.get("x") for *_, fields in found] == [*range(40), None]
    assert found[-1][-1]["ret"] == 1
