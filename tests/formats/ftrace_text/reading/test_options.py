"""Ftrace text as the kernel's options (tracefs/options) and the reader's change it. Lines are of a 6.18 kernel."""

import io

import pytest
from support.trace_cmd.ftrace_texts import read, rows

import converter
from converter.errors import TraceError
from converter.formats.ftrace_text.reading import reader
from converter.storage.source import MemorySource

LATENCY = """\
# tracer: nop
#
# nop latency trace v1.1.5 on 6.18.44
#
"""
SWITCH = (
    "prev_comm=bash prev_pid=15077 prev_prio=120 prev_state=D ==> "
    "next_comm=sh next_pid=7 next_prio=120"
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "            perl   15016   1 37 00000004 00000002 [deb7cd4d8] 29.469ms (+0.002ms): ",
            (59785401560000, 1, 15016, 0x25, 4),
        ),
        (
            " my task 2       7 127 0 00000000 00004fff [66146bced7216] 0.364ms (+0.005ms): ",
            (1795806305546774000, 127, 7, 0, 0),
        ),
        (
            "       kdamond.0      77   1 1 00000003 00000002 [000084f865ee0a7b] 69287253 (+21878): ",
            (146202396854907, 1, 77, 1, 3),
        ),
        (" kdamond.-77        1d..3. 69287253: ", (69287253, 1, 77, 1, 3)),
        ("    bash-15077     0.....    2: ", (2, 0, 15077, 0, 0)),
    ],
)
@pytest.mark.parametrize("head", ["", LATENCY])
def test_verbose_and_latency_lines_of_all_clocks(head, line, expected):
    trace = read(f"{head}{line}sched_switch: {SWITCH}\n")
    ((ts, cpu, tid, name, fields),) = rows(trace)
    flags = fields["common_flags"], fields["common_preempt_count"]
    assert (ts, cpu, tid, *flags) == expected
    assert (name, fields["prev_state"]) == ("sched_switch", 2)
    assert (trace.clock.name == "counter") == ("us" not in line and "ms" not in line)


def test_the_types_of_arguments_of_system_calls():
    trace = read(
        "# tracer: nop\n#\n"
        "   sh-7  [001] ..... 1.5: sys_openat(int dfd: 0xffffff9c, const char * filename: "
        "0x7f16188cf887, int flags: 0x80000, umode_t mode: 0)\n"
    )
    ((*_, name, fields),) = rows(trace)
    assert name == "sys_enter_openat"
    assert (fields["dfd"], fields["filename"], fields["flags"], fields["mode"]) == (
        0xFFFFFF9C,
        0x7F16188CF887,
        0x80000,
        0,
    )


def test_lines_without_context_are_numbered():
    trace = read(
        f"# tracer: nop\n#\nsys_write -> 0x2\nsched_switch: {SWITCH}\nvfs_read <-ksys_read\n"
    )
    found = rows(trace)
    assert [row[:4] for row in found] == [
        (1, -1, None, "sys_exit_write"),
        (2, -1, None, "sched_switch"),
        (3, -1, None, "function"),
    ]
    assert trace.clock.name == "counter"
    assert "context-info" in trace.warnings[0].message


def test_raw_lines_have_tasks_and_times():
    trace = read(
        "# tracer: nop\n#\n14040 1 59756396104115 type: 839\n14041 0 59756396104116 type: 3\n"
    )
    assert [row[:4] for row in rows(trace)] == [
        (59756396104115, 1, 14040, "type"),
        (59756396104116, 0, 14041, "type"),
    ]
    assert "options/raw" in trace.warnings[0].message


def test_fields_of_records():
    start = "   bash-15077   [000] d..2. 1.5: "
    trace = read(
        f"{start}sched_switch: prev_comm=a b prev_pid=0x36d8 (14040) prev_prio=0x78 (120) "
        "prev_state=0x1 (1) next_comm=node next_pid=0x0 (0) next_prio=0x82 (130)\n"
        f"{start}kfree: call_site=ida_alloc_range+0x39b/0x400 (-2112087205) ptr=0x0 (0)\n"
        f"{start}sys_enter: id=0x21 (33) args=<INVALID-SIZE>\n"
        f"{start}own: a=0xffffffff (-1) b=(8) c=sh\n"
    )
    switch, free, call, own = (row[4] for row in rows(trace))
    assert (switch["prev_comm"], switch["prev_pid"], switch["next_prio"]) == ("a b", 14040, 130)
    assert trace.symbols.lookup(free["call_site"]) == (b"ida_alloc_range", 0x39B)
    assert (free["ptr"], call["id"], "args" in call) == (0, 33, False)
    assert (own["a"], own["b"], own["c"]) == (0xFFFFFFFF, "(8)", "sh")


FORMAT = """\
name: mine
ID: 1
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:u16 a;\toffset:8;\tsize:2;\tsigned:0;
\tfield:u16 b;\toffset:10;\tsize:2;\tsigned:0;

print fmt: "a is %u, b is 0x%x", REC->a, REC->b
"""


@pytest.mark.parametrize("folder", ["", "events", "events/own", "events/own/mine"])
def test_formats_of_a_directory(folder, tmp_path):
    event = tmp_path / "events/own/mine"
    event.mkdir(parents=True)
    (event / "format").write_text(FORMAT)
    text = b"   bash-7   [000] d..2. 1.5: mine: a is 7, b is 0x10\n"
    trace = reader.read(MemorySource("t", text), formats=str(tmp_path / folder))
    ((*_, fields),) = rows(trace)
    (event_class,) = trace.event_classes
    assert (event_class.category, fields["a"], fields["b"]) == ("own", 7, 16)


def test_directories_and_files_without_formats(tmp_path):
    source = MemorySource("t", b"   bash-7   [000] d..2. 1.5: mine: a is 7\n")
    (tmp_path / "a").write_bytes(b"no recording")
    for path in (tmp_path, tmp_path / "a"):
        with pytest.raises(TraceError, match="format"):
            reader.read(source, formats=str(path))


def test_buffers_of_a_report_are_tracks():
    trace = read(
        "cpus=2\n"
        "               sh-7     [001] d.h..   876.368017: softirq_raise:        vec=9 [action=RCU]\n"
        "foo:       my: sh-8     [001] ..s..   876.368032: softirq_entry:        vec=9 [action=RCU]\n"
    )
    assert [row[2:4] for row in rows(trace)] == [(7, "softirq_raise"), (8, "softirq_entry")]
    tracks = [track for batch in trace.batches() for track in batch.track.tolist()]
    assert (tracks, [track.name for track in trace.tracks]) == ([-1, 0], ["foo"])
    assert [thread.name for thread in trace.threads] == ["sh", "my: sh"]


@pytest.mark.parametrize(
    ("text", "name", "distance"),
    [("tick_nohz_handler/0x0", b"tick_nohz_handler", 0), ("f+0x12/0x34 [ext4]", b"f", 0x12)],
)
def test_functions_with_sizes(text, name, distance):
    trace = read(f"   sh-7  [001] ..... 1.5: kfree: call_site={text} ptr=0\n")
    ((*_, fields),) = rows(trace)
    assert trace.symbols.lookup(fields["call_site"]) == (name, distance)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f", {"ip": (b"f", 0)}),
        ("f+0x6/0xa0", {"ip": (b"f", 6)}),
        ("f <c0339346> <-g [ext4] <ffffffffc0339346>", {"ip": (b"f", 0), "parent_ip": (b"g", 0)}),
    ],
)
def test_functions_without_a_caller_and_with_addresses(text, expected):
    trace = read(f"# tracer: function\n   sh-7  [001] 1.5: {text}\n")
    ((*_, name, fields),) = rows(trace)
    assert name == "function"
    assert {key: trace.symbols.lookup(value) for key, value in fields.items()} == expected


@pytest.mark.parametrize("task", ["", "[    T1]", "[   C12]"])
def test_lines_of_the_kernels_log(task):
    # ftrace_dump_on_oops
    lines = (
        "Dumping ftrace buffer:",
        "CPU:1 [LOST 123 EVENTS]",
        "   [x]-19    1d.h2. 55012000us : e: x=1",
        "   [x]-19    1d.h2. 55012001us : <stack trace>",
        " => do_idle",
        " => cpu_startup_entry",
    )
    trace = read("".join(f"[   55.012345]{task} {line}\n" for line in lines))
    _, lost, event, stack = rows(trace)
    assert lost[3] == "discarded"
    assert event[:4] == (55012000000, 1, 19, "e")
    assert [trace.symbols.lookup(one)[0] for one in stack[4]["caller"]] == [
        b"do_idle",
        b"cpu_startup_entry",
    ]
    assert [thread.name for thread in trace.threads] == ["[x]"]


@pytest.mark.parametrize(
    ("release", "machine", "expected"),
    [
        ("", None, None),
        ("", "aarch64", "aarch64"),
        ("6.1.0-28-amd64", None, "x86_64"),
        ("6.12.9-200.fc41.x86_64", None, "x86_64"),
        ("6.1.0-28-amd64", "i686", "i686"),
    ],
)
def test_the_machine_numbers_system_calls(release, machine, expected):
    head = f"# tracer: nop\n#\n# nop latency trace v1.1.5 on {release}\n" if release else ""
    text = f"{head}   sh-7  [001] ..... 1.5: sys_close(fd: 0x3)\n".encode()
    trace = reader.read(MemorySource("t", text), machine=machine)
    assert trace.environment.get("machine") == expected
    output = io.BytesIO()
    options = {} if machine is None else {"machine": machine}
    converter.convert(text, output, options=options, target_format="perfetto")
    events = [event_class.name for event_class in converter.read(output.getvalue()).event_classes]
    assert ("sys_enter" in events) == (expected is not None)
