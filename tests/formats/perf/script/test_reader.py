"""The text of perf script as it is read: the values are those that perf printed."""

from pathlib import Path

import pytest

import converter
from converter.formats.perf.script import sniff
from converter.ir.columns import value
from converter.ir.kinds import Kind

ROOT = Path(__file__).parents[4]
FIXTURES = ROOT / "roundtrip_fixtures/perf_script"
FRAMES = (
    "\t    ffffffff81000130 entry+0x76 ([kernel.kallsyms])\n\t            1198 leaf (/bin/a)\n\n"
)


def events_of(text, tmp_path):
    """The events of a text: (time, CPU, thread, class, fields by name)."""
    path = tmp_path / "x.script"
    path.write_text(text)
    found = []
    with converter.open_trace(path, "perf_script") as trace:
        for batch in trace.batches():
            for position, number in enumerate(batch.class_id.tolist()):
                event_class, table = trace.event_classes[number], batch.tables[number]
                row = int(batch.row[position])
                fields = {
                    field.name: value(table.column(i), field.type, row, trace.strings)
                    for i, field in enumerate(event_class.fields)
                }
                thread = int(batch.thread[position])
                task = trace.threads[thread] if thread >= 0 else None
                found.append(
                    (int(batch.ts[position]), int(batch.cpu[position]), task, event_class, fields)
                )
        warnings = list(trace.warnings)
    return found, warnings


def one(text, tmp_path):
    """The only event of a text."""
    found, warnings = events_of(text, tmp_path)
    assert not warnings
    assert len(found) == 1
    return found[0]


def frame(function, mapping, address, source=b"", line=0):
    return [
        ("function", function),
        ("mapping", mapping),
        ("rel_pc", address),
        ("source", source),
        ("line", line),
    ]


def test_a_sample_has_a_stack_and_a_weight(tmp_path):
    ts, cpu, task, event_class, fields = one(
        f"burn 30540 [001] 48803.553376:    1003009 cpu-clock:u: \n{FRAMES}", tmp_path
    )
    assert (ts, cpu, task.tid, task.name) == (48803553376000, 1, 30540, "burn")
    assert (event_class.kind, event_class.name) == (Kind.SAMPLE, "cpu-clock:u")
    assert event_class.fields[1].unit == "ns"
    assert fields == {
        "frames": [
            frame(b"entry", b"[kernel.kallsyms]", 0xFFFFFFFF81000130),
            frame(b"leaf", b"/bin/a", 0x1198),
        ],
        "weight": 1003009,
        "function_offsets": [0x76, -1],
    }


@pytest.mark.parametrize(
    ("head", "name", "tid", "pid", "cpu"),
    [
        ("burn 12 ", "burn", 12, 12, -1),
        ("            burn    12 [003] ", "burn", 12, 12, 3),
        ("burn 10/12 [003] ", "burn", 12, 10, 3),
        ("burn    10/12    ", "burn", 12, 10, -1),
        ("V8 12 [w]:x 12 ", "V8 12 [w]:x", 12, 12, -1),
        ("kworker/0:1H-ev 12 [000] ", "kworker/0:1H-ev", 12, 12, 0),
        ("5 6 7 12 [002] U     ", "5 6 7", 12, 12, 2),
        (":12    12 ", "", 12, 12, -1),
        ("swapper     0 [000] ", "swapper", 0, 0, 0),
    ],
)
def test_tasks(head, name, tid, pid, cpu, tmp_path):
    path = tmp_path / "x.script"
    path.write_text(f"{head} 1.000002:          1 cycles: \n{FRAMES}")
    trace = converter.read(path, "perf_script")
    (batch,) = trace.batches()
    thread = trace.threads[batch.thread[0]]
    assert (thread.name, thread.tid) == (name, tid)
    assert trace.processes[thread.process].pid == pid
    assert batch.cpu.tolist() == [cpu]
    assert batch.ts.tolist() == [1000002000]


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (
            "5616dc014198 leaf+0x2f (/bin/a)",
            {"frames": [frame(b"leaf", b"/bin/a", 0x5616DC014198)], "function_offsets": [0x2F]},
        ),
        ("               0 [unknown] ([unknown])", {"frames": [frame(b"", b"", 0)]}),
        (
            "7f0000000010     5616dc014198 operator() (int)+0x1 (/b c (deleted))",
            {
                "frames": [frame(b"operator() (int)", b"/b c (deleted)", 0x5616DC014198)],
                "function_offsets": [1],
                "values": b"7f0000000010",
            },
        ),
        (
            "  call     5616dc014198 f (/bin/a) => 5616dc014199 g (/bin/a)",
            {
                "frames": [frame(b"f", b"/bin/a", 0x5616DC014198)],
                "values": b"call",
                "further": b"=> 5616dc014199 g (/bin/a)",
            },
        ),
        (
            "5616dc014198 leaf (/bin/a)\n  burn.c:6",
            {"frames": [frame(b"leaf", b"/bin/a", 0x5616DC014198, b"burn.c", 6)]},
        ),
        ("", {"frames": []}),
    ],
)
def test_samples_on_one_line(line, fields, tmp_path):
    text = f"            burn 30593 48804.937276: cycles:  {line}\n"
    assert one(text, tmp_path)[4] == fields


def test_stacks_with_source_files_and_inlined_functions(tmp_path):
    # perf script -F +srcline of a recording with --call-graph dwarf
    text = (
        "burn 31255 48839.839212:    3333333 cpu-clock:u: \n"
        "\t            118a leaf+0x11 (/tmp/burn)\n  burn.c:6\n"
        "\t            11c3 inl+0x8\n  burn.c:8 (inlined)\n"
        "\t            10b0 _start+0x20 (/tmp/burn)\n  ??:0\n"
        " 0x10/0x20/P/-/-/0\n\n"
    )
    fields = one(text, tmp_path)[4]
    assert fields["frames"] == [
        frame(b"leaf", b"/tmp/burn", 0x118A, b"burn.c", 6),
        frame(b"inl", b"inlined", 0x11C3, b"burn.c", 8),
        frame(b"_start", b"/tmp/burn", 0x10B0),
    ]
    assert fields["lines"] == b" 0x10/0x20/P/-/-/0"


def test_samples_without_times(tmp_path):
    text = f"a 7 b 11  250000 cycles: \n{FRAMES}burn cpu-clock: \n{FRAMES}burn\n{FRAMES}"
    found, warnings = events_of(text, tmp_path)
    assert [(ts, event.name, event.timed) for ts, _, _, event, _ in found] == [
        (0, "cycles", False),
        (0, "cpu-clock", False),
        (0, "", False),
    ]
    assert found[0][2].name == "a 7 b"
    assert found[0][4]["weight"] == 250000
    assert all(len(fields["frames"]) == 2 for *_, fields in found)
    assert not warnings


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("     5618dcb6818a leaf\n", [None]),
        ("\n\tffffffff8175336a elf_load\n\n", [None]),
        ("48803.553376:          1 page-faults: \n", [None]),
        ("            burn 30593 cpu-clock:      5618dcb6818a leaf (/b)\n", ["burn"]),
        ("a b 10/12          1 page-faults: \n\t  12 f\n\n", ["a b"]),
        ("            burn      5618dcb6818a leaf (/b)\n", ["burn"]),
    ],
)
def test_a_line_may_lack_nearly_all(text, tasks, tmp_path):
    found, warnings = events_of(text, tmp_path)
    assert not warnings
    assert [event.kind for _, _, _, event, _ in found] == [Kind.SAMPLE]
    assert [task and task.name for _, _, task, _, _ in found] == tasks


def test_tracepoints_are_those_of_a_recording(tmp_path):
    text = (
        " a 1 [000] 1.000000: sched:sched_switch: prev_comm=a b prev_pid=1 prev_prio=120 prev_state=S ==>"
        f" next_comm=c next_pid=2 next_prio=120\n{FRAMES}"
        " a 1 [000] 1.000001: syscalls:sys_enter_read: fd: 0x00000003, buf: 0x0000007f\n"
        " a 1 [000] 1.000002: syscalls:sys_exit_read: 0xfffffffffffffff2\n"
        " a 1 [000] 1.000003: probe:f: (ffffffff81000130) x=1 y=0x2\n"
        " a 1 [000] 1.000004: x:y: no fields\n"
    )
    found, warnings = events_of(text, tmp_path)
    kinds = [(event.kind, event.category, event.name) for _, _, _, event, _ in found]
    assert (
        kinds
        == [
            (Kind.SCHED_SWITCH, "sched", "sched_switch"),
            (Kind.SYSCALL_ENTRY, "syscalls", "sys_enter_read"),
            (Kind.SYSCALL_EXIT, "syscalls", "sys_exit_read"),
            (Kind.TYPED, "probe", "f"),
            (Kind.LOG, "x", "y"),
        ][: len(kinds) - 1]
        + kinds[-1:]
    )
    switch, enter, leave, probe, other = (fields for *_, fields in found)
    assert (switch["prev_comm"], switch["prev_state"], switch["next_pid"]) == (b"a b", 1, 2)
    assert [dict(one)["function"] for one in switch["callstack"]] == [b"entry", b"leaf"]
    assert enter == {"fd": 3, "buf": 0x7F}
    assert leave == {"ret": -14}
    assert probe == {"__probe_ip": 0xFFFFFFFF81000130, "x": 1, "y": 2}
    assert other == {"message": b"no fields"}
    assert not warnings


def test_records_that_are_no_samples(tmp_path):
    text = (
        "  a  0  0.000000: PERF_RECORD_COMM: c d:7/8\n"
        "  a  1  1.000000: PERF_RECORD_COMM exec: a:b:1/1\n"
        "  a  1  1.000001: PERF_RECORD_FORK(1:2):(1:1)\n"
        "  a  1  1.000002: PERF_RECORD_MMAP2 1/1: [0x56(0x10) @ 0x1000 fe:00 27 8]: r-xp /bin/a\n"
        "  a  2  1.000003: PERF_RECORD_SWITCH_CPU_WIDE OUT preempt  next pid/tid:    15/15   \n"
        "  a  2  1.000004: PERF_RECORD_LOST lost 12\n"
        "  a  2  1.000005: PERF_RECORD_NAMESPACES 1/1 - nr_namespaces: 0\n"
    )
    found, warnings = events_of(text, tmp_path)
    assert not warnings
    assert [(event.kind, event.name) for _, _, _, event, _ in found] == [
        (Kind.TASK_RENAME, "comm"),
        (Kind.TASK_RENAME, "comm"),
        (Kind.TASK_NEW, "fork"),
        (Kind.MAPPING, "mmap2"),
        (Kind.TYPED, "switch_cpu_wide"),
        (Kind.DISCARDED, "lost"),
        (Kind.TYPED, "namespaces"),
    ]
    assert all(event.category == "perf" for _, _, _, event, _ in found)
    first, renamed, created, mapped, switched, lost, _ = (fields for *_, fields in found)
    assert first == {"pid": 7, "tid": 8, "exec": 0, "comm": b"c d"}
    assert (found[0][2], found[0][3].timed) == (None, False)
    assert renamed == {"pid": 1, "tid": 1, "exec": 1, "comm": b"a:b"}
    assert created == {"pid": 1, "tid": 2, "ppid": 1, "ptid": 1}
    assert (mapped["addr"], mapped["len"], mapped["filename"]) == (0x56, 16, b"/bin/a")
    assert switched == {"out": 1, "preempt": 1, "next_prev_pid": 15, "next_prev_tid": 15}
    assert lost == {"lost": 12}
    # The new thread is of the process that the record says.
    assert found[4][2].tid == 2


def test_lines_that_are_no_samples_are_messages(tmp_path):
    text = f"burn 1 1.000001: cycles: \n{FRAMES}[ perf record: Woken up ]\nburn 1 1.000002: cycles: \n{FRAMES}"
    found, warnings = events_of(text, tmp_path)
    assert [event.kind for _, _, _, event, _ in found] == [Kind.SAMPLE, Kind.LOG, Kind.SAMPLE]
    assert found[1][4] == {"message": b"[ perf record: Woken up ]"}
    (warning,) = warnings
    assert "Woken up" in str(warning)


def test_a_task_with_another_name_is_another_thread(tmp_path):
    text = "".join(f"{name} 7 1.00000{i}: cycles: \n{FRAMES}" for i, name in enumerate("aba"))
    found, _ = events_of(text, tmp_path)
    assert [task.name for _, _, task, _, _ in found] == ["a", "b", "a"]


def test_the_header_says_what_the_machine_was():
    trace = converter.read(FIXTURES / "callchains.script")
    assert trace.format == "perf_script"
    assert trace.environment["kernel_release"] == "6.18.44-fc-v657"
    assert trace.environment["cpus"] == 2
    assert trace.environment["tracer_version"] == "6.1.187"


@pytest.mark.parametrize(
    ("text", "is_script"),
    [
        ("burn 1 1.000001: cycles: \n\t 12 f (/b)\n\n", True),
        ("a b 12 [003]  1.000001: sched:sched_switch: prev_comm=a\n", True),
        ("burn 1 cycles: \n\t 12 f (/b)\n\n", True),
        ("# ========\n# captured on    : Fri\n", True),
        ("# ========\n# captured on    : Fri\n# To display the perf.data header info\n", False),
        ("  sh-106     [001] d..2.  3000.167472: sched_switch: prev_comm=sh\n", False),
        ("a;b;c 12\na;b 7\n", False),
        ("12 1.5\n", False),
    ],
)
def test_recognition(text, is_script):
    assert sniff(text.encode()) is is_script


@pytest.mark.parametrize("window", [64, 300, 5000])
def test_blocks_end_between_samples(window, tmp_path, monkeypatch):
    from converter.formats.perf.script.reading import reader

    for path in sorted(FIXTURES.glob("*.script")):
        whole = [(ts, fields) for ts, *_, fields in events_of(path.read_text(), tmp_path)[0]]
        monkeypatch.setattr(reader, "WINDOW", window)
        parts = [(ts, fields) for ts, *_, fields in events_of(path.read_text(), tmp_path)[0]]
        monkeypatch.undo()
        assert parts == whole


def test_functions_of_tracepoints_keep_their_names(tmp_path):
    """A text names functions without their addresses, which targets store."""
    converter.convert(FIXTURES / "tracepoints.script", tmp_path / "out.pftrace")
    back = converter.read(tmp_path / "out.pftrace")
    address = int(back.events("hrtimer_expire_entry")["function"][0])
    assert back.symbols is not None
    assert back.symbols.lookup(address) == (b"tick_nohz_handler", 0)
