"""Lines that name no event: the kernel's function graph, tracers of latencies, system calls. Mostly of Linux 6.1."""

import numpy as np
import pytest
from support.trace_cmd.ftrace_texts import read, rows

import converter
from converter.formats.ftrace_text import sniff
from converter.ir.kinds import Kind

UNTIMED = b"""\
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0) ! 169.065 us  |  mutex_unlock();
 0)               |  x64_sys_call() {
 1)   1.000 us    |  ktime_get();
 0)               |    schedule() {
 0)   1.393 us    |      _raw_spin_lock();
 ------------------------------------------
 0)     init-1     =>    <idle>-0
 ------------------------------------------

 0)               |  do_idle() {
 0)   ==========> |
 0) # 1865.611 us |    tick_nohz_idle_enter();
 0)   <========== |
 ------------------------------------------
 0)    <idle>-0    =>     init-1
 ------------------------------------------

 0)               |      /* sched_waking: comm=sh pid=7 prio=120 target_cpu=001 */
 0)               |      /* a note */
 0) # 1900.000 us |    } /* schedule */
 0) # 1901.500 us |  }
"""
#: With funcgraph-abstime, funcgraph-proc and the latency format.
TIMED = b"""\
# tracer: function_graph
#
#     TIME        CPU  TASK/PID       ||||     DURATION                  FUNCTION CALLS
#      |          |     |    |        ||||      |   |                     |   |   |   |
   23.151907 |   0)     init-1     |  d..1. |               |  exit_to_user_mode_prepare() {
   23.151909 |   0)     init-1     |  d..1. |   1.553 us    |    fpregs_assert_state_consistent();
   23.151912 |   0)     init-1     |  d.... |   4.819 us    |  } /* exit_to_user_mode_prepare */
"""


def calls(trace):
    """Time, CPU, tid, and + or - with the function of each call and end, or the event."""
    found = []
    for ts, cpu, tid, name, fields in rows(trace):
        shown = name
        if name.startswith("funcgraph"):
            function = trace.symbols.names(np.array([fields["func"]], np.uint64))[0]
            shown = f"{'+' if name.endswith('entry') else '-'}{function.decode()}"
        found.append((ts, cpu, tid, shown))
    return found


def test_durations_make_the_times_of_a_graph_without_any():
    trace = read(UNTIMED)
    assert calls(trace) == [
        (0, 0, 1, "+mutex_unlock"),
        (169065, 0, 1, "-mutex_unlock"),
        (169065, 0, 1, "+x64_sys_call"),
        # Nothing says which task runs there.
        (0, 1, None, "+ktime_get"),
        (1000, 1, None, "-ktime_get"),
        (169065, 0, 1, "+schedule"),
        (169065, 0, 1, "+_raw_spin_lock"),
        (170458, 0, 1, "-_raw_spin_lock"),
        (170458, 0, 0, "+do_idle"),
        (170458, 0, 0, "+tick_nohz_idle_enter"),
        (2036069, 0, 0, "-tick_nohz_idle_enter"),
        (2036069, 0, 1, "sched_waking"),
        (2036069, 0, 1, ""),
        # The durations of what was open say when it ends: 169065 + 1900000, and 169065 + 1901500.
        (2069065, 0, 1, "-schedule"),
        (2070565, 0, 1, "-x64_sys_call"),
    ]
    assert {thread.tid: thread.name for thread in trace.threads} == {0: "swapper", 1: "init"}
    (warning,) = trace.warnings
    assert "funcgraph-abstime" in str(warning)
    # Another pass starts anew.
    assert calls(trace)[-1][0] == 2070565


def test_times_tasks_and_flags_are_those_of_the_lines():
    trace = read(TIMED)
    assert calls(trace) == [
        (23151907000, 0, 1, "+exit_to_user_mode_prepare"),
        (23151909000, 0, 1, "+fpregs_assert_state_consistent"),
        (23151910553, 0, 1, "-fpregs_assert_state_consistent"),
        (23151912000, 0, 1, "-exit_to_user_mode_prepare"),
    ]
    assert not trace.warnings
    assert [fields["common_flags"] for *_, fields in rows(trace)] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (b"1.5 us |  open(); /* = 0x3 */", {"retval": 3}),
        (b"1.5 us |  open(); /* = -2 */", {"retval": (1 << 64) - 2}),
        (b"1.5 us |  open(); /* ret=0x10 */", {"retval": 16}),
        (
            b"1.5 us |  open(dir=0x0, path=(a), flags=1);",
            {"arguments": "dir=0x0, path=(a), flags=1"},
        ),
        (b"1.5 us |  open(fd=1); /* ret=-1 */", {"arguments": "fd=1", "retval": (1 << 64) - 1}),
        (b"1.5 us |  open [ext4]();", {}),
        (b"1.5 us |  open(); /* <-read+0x5/0xd0 */", {"retaddr": (b"read", 5)}),
        (
            b"1.5 us |  open(fd=1); /* <-read+0x5/0xd0 ret=-2 */",
            {"arguments": "fd=1", "retaddr": (b"read", 5), "retval": (1 << 64) - 2},
        ),
        (b"       |  open() { /* <-read+0x5/0xd0 [ext4] */", {"retaddr": (b"read", 5)}),
        (b"1.5 us |  }", {}),
        (b"1.5 us |  } /* open */", {}),
        (b"1.5 us |  } /* open = 0x2 */", {"retval": 2}),
        (b"1.5 us |  } /* open ret=-2 */", {"retval": (1 << 64) - 2}),
        (b"       |  open() {", {}),
        (b"       |  open(fd=1) {", {"arguments": "fd=1"}),
    ],
)
def test_values_and_arguments_of_functions_are_fields(line, fields):
    first = b" 0)        |  open() {\n" if b"}" in line else b""
    trace = read(b"# FUNCTION CALLS\n" + first + b" 0) " + line + b"\n")
    events = rows(trace)
    found = [one for *_, one in events]
    assert all(name in ("funcgraph_entry", "funcgraph_exit") for _, _, _, name, _ in events)
    said = {
        name: value for one in found for name, value in one.items() if name not in ("func", "depth")
    }
    if "retaddr" in said:
        said["retaddr"] = trace.symbols.lookup(said["retaddr"])
    assert said == fields
    assert {one["func"] for one in found} == {found[0]["func"]}


@pytest.mark.parametrize(
    ("duration", "ns"),
    [(b"0.001", 1), (b"12.34", 12340), (b"1234567.8", 1234567800), (b"12345678", 12345678000)],
)
def test_durations_have_as_many_decimals_as_there_is_room_for(duration, ns):
    trace = read(b"# FUNCTION CALLS\n 0) # " + duration + b" us |  f();\n")
    assert [ts for ts, *_ in rows(trace)] == [0, ns]


def test_what_is_no_line_of_the_graph_is_a_message():
    # A CPU that no machine has, a task that is none, no bar.
    for line in (b" 9999) 1.0 us |  f();", b" 0) a-b | c-d | e | 1.0 us |  f();", b" 0) f();"):
        trace = read(UNTIMED + line + b"\n")
        assert rows(trace)[-1][3] == ""


def test_a_graph_is_recognised_without_its_header():
    assert sniff(b" 0)   1.393 us    |      _raw_spin_lock();\n")
    assert sniff(b"   23.151907 |   0)     init-1     |               |  open() {\n")
    assert not sniff(b" 1) buy | milk;\n 2) sell\n")


def test_a_graph_is_copied_whole_and_its_parts_are_written_anew(tmp_path):
    source = tmp_path / "a.ftrace"
    source.write_bytes(UNTIMED)
    converter.convert(source, tmp_path / "b.ftrace")
    assert (tmp_path / "b.ftrace").read_bytes() == UNTIMED
    report = converter.convert(source, tmp_path / "c.ftrace", selection=converter.Selection(cpus=0))
    assert {loss.code for loss in report if loss.loss_class == "shown"} == {"function-names"}
    part = converter.read(tmp_path / "c.ftrace")
    assert [event[:3] for event in calls(read(UNTIMED)) if event[1] == 0] == [
        event[:3] for event in rows(part)
    ]


def test_a_call_of_trace_cmd_on_one_line_is_copied_once(tmp_path):
    line = b"  sh-7 [000] 1.000000100: funcgraph_entry:      1.500 us   |  open();\n"
    (tmp_path / "a.ftrace").write_bytes(b"cpus=1\n" + line)
    converter.convert(tmp_path / "a.ftrace", tmp_path / "b.ftrace")
    assert (tmp_path / "b.ftrace").read_bytes().count(b"open") == 1


def test_tracers_of_latencies_have_the_fields_of_their_events():
    text = b"""\
# tracer: hwlat
           <...>-246     [001] dl...   599.732249: #1     inner/outer(us): 41248/36611 ts:1795739744.369188738 count:93
      a-246 [001] dl...   600.732249: #2     inner/outer(us):   12/9     ts:1.000000009 count:1 nmi-total:7 nmi-count:2
          <idle>-0       [000] d.h1.   337.952676: #6     context    irq timer_latency     39293 ns
      timerlat/0-208     [000] ....1   337.952771: #6     context thread timer_latency    137059 ns
           <...>-859     [000] ....    81.637220: 190 12 99.99368 9 18 0 1007 18 1
"""
    found = [(name, fields) for _, _, _, name, fields in rows(read(text))]
    common = ("common_flags", "common_preempt_count")
    found = [(name, {k: v for k, v in fields.items() if k not in common}) for name, fields in found]
    first = {
        "seqnum": 1,
        "duration": 41248,
        "outer_duration": 36611,
        "tv_sec": 1795739744,
        "tv_nsec": 369188738,
        "count": 93,
    }
    second = {
        "seqnum": 2,
        "duration": 12,
        "outer_duration": 9,
        "tv_sec": 1,
        "tv_nsec": 9,
        "count": 1,
        "nmi_total_ts": 7,
        "nmi_count": 2,
    }
    counts = {
        "hw_count": 18,
        "nmi_count": 0,
        "irq_count": 1007,
        "softirq_count": 18,
        "thread_count": 1,
    }
    assert found == [
        ("hwlat", first),
        ("hwlat", second),
        ("timerlat", {"seqnum": 6, "context": 0, "timer_latency": 39293}),
        ("timerlat", {"seqnum": 6, "context": 1, "timer_latency": 137059}),
        ("osnoise", {"runtime": 190, "noise": 12, "max_sample": 9, **counts}),
    ]


def test_system_calls_have_their_arguments_and_values():
    text = b"""\
# tracer: nop
          sh-106     [001] ...1.  3000.1: sys_openat(dfd: ffffff9c, filename: 7ffd1b2a, flags: 80000, mode: 0)
          sh-106     [001] ...1.  3000.2: sys_openat(dfd: 0xffffff9c, filename: 0x7ffd1b2a "a, b.txt", flags: 0x1)
          sh-106     [001] ...1.  3000.3: sys_openat -> 0x3
          sh-106     [001] ...1.  3000.4: sys_openat -> 0xfffffffffffffffe
          sh-106     [001] ...1.  3000.5: sys_getpid()
          sh-106     [001] ...1.  3000.6: sys_close(fd: b, fd: c)
          sh-106     [001] ...1.  3000.7: sys_(fd: b)
"""
    trace = read(text)
    found = [
        (name, {k: v for k, v in fields.items() if not k.startswith("common")})
        for _, _, _, name, fields in rows(trace)
    ]
    first = {"dfd": 0xFFFFFF9C, "filename": 0x7FFD1B2A, "flags": 0x80000, "mode": 0}
    second = {"dfd": 0xFFFFFF9C, "filename": 0x7FFD1B2A, "flags": 1, "__filename_val": "a, b.txt"}
    assert found == [
        ("sys_enter_openat", first),
        ("sys_enter_openat", second),
        ("sys_exit_openat", {"ret": 3}),
        ("sys_exit_openat", {"ret": -2}),
        ("sys_enter_getpid", {}),
        ("sys_enter_close", {"message": "fd: b, fd: c)"}),
        ("", {"message": "sys_(fd: b)"}),
    ]
    kinds = {one.name: one.kind for one in trace.event_classes if one.name.endswith("openat")}
    assert kinds == {
        "sys_enter_openat": Kind.SYSCALL_ENTRY,
        "sys_exit_openat": Kind.SYSCALL_EXIT,
    }


def test_calls_of_tracers_of_latencies_have_times():
    trace = read(
        "# tracer: irqsoff\n#\n"
        "          0 us |   0)   bash-1507    |  d... |   0.000 us    |  lock();\n"
        "          1 us |   0)   bash-1507    |  d..2 |               |    track() {\n"
        "          4 us |   0)   bash-1507    |  d..2 |   1.107 us    |    }\n"
        "      bash-1507    0d..1 3792us : <stack trace>\n => unlock\n"
    )
    found = [(ts, cpu, tid, name) for ts, cpu, tid, name, _ in rows(trace)]
    assert found == [
        (0, 0, 1507, "funcgraph_entry"),
        (0, 0, 1507, "funcgraph_exit"),
        (1000, 0, 1507, "funcgraph_entry"),
        (4000, 0, 1507, "funcgraph_exit"),
        (3792000, 0, 1507, "kernel_stack"),
    ]
    assert not trace.warnings


def test_wakeups_have_both_tasks():
    trace = read(
        "# tracer: wakeup_rt\n#\n"
        "  <idle>-0       3d.h4    0us :      0:120:R   + [003]  2448: 94:R sleep\n"
        "  <idle>-0       3dNh7    1us+: try_to_wake_up <-wake_up_process\n"
        "  <idle>-0       3d..3   15us :      0:120:S ==> [003]  2448: 94:R my task\n"
    )
    wakeup, _, switch = rows(trace)
    assert [row[3] for row in (wakeup, switch)] == ["wakeup", "context_switch"]
    for (*_, fields), state, comm in ((wakeup, 0, "sleep"), (switch, 1, "my task")):
        assert (fields["prev_pid"], fields["prev_prio"], fields["prev_state"]) == (0, 120, state)
        assert (fields["next_pid"], fields["next_prio"], fields["next_cpu"]) == (2448, 94, 3)
        assert fields["next_comm"].rstrip("\0") == comm
