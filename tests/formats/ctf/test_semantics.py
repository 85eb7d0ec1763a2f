"""What CTF records mean: LTTng's kernel and user-space tracers, perf, Zephyr."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from support.ctf.files import Bits, Stream, events_of, open_trace
from support.ctf.lttng_kernel_files import KERNEL, comm, i32, kernel_packets, name16

import converter
from converter.formats.ctf.lttng_events import kernel_name
from converter.formats.ctf.mapping import joined_name, meaning_of, split_name
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.domain.linux_tracepoints import MEANINGS

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "ctf"


def kernel_trace(path: Path) -> Trace:
    return open_trace(KERNEL.write(path, **kernel_packets()))


def test_threads_of_a_kernel_trace_follow_the_scheduler(tmp_path: Path) -> None:
    trace = kernel_trace(tmp_path)
    found = [
        (int(batch.ts[i]), trace.threads[batch.thread[i]].tid)
        for batch in trace.batches()
        for i in range(len(batch))
    ]
    # What runs before the first switch of a CPU is what it switches from.
    assert found == [
        (1, 100), (2, 100), (3, 0), (3, 0), (4, 0), (5, 205), (6, 0), (7, 0), (8, 0), (9, 300)
    ]  # fmt: skip
    again = [trace.threads[batch.thread[0]].tid for batch in trace.batches()]
    assert again == [100]


def test_processes_and_names_of_a_kernel_trace(tmp_path: Path) -> None:
    trace = kernel_trace(tmp_path)
    list(trace.batches())
    tasks = {
        thread.tid: (trace.processes[thread.process].pid, thread.name) for thread in trace.threads
    }
    assert tasks == {
        0: (0, "swapper"),
        100: (100, "bash"),
        205: (200, "vi"),
        300: (299, "child"),
    }
    assert not trace.warnings


def test_kinds_and_roles_of_kernel_events(tmp_path: Path) -> None:
    trace = kernel_trace(tmp_path)
    found = {
        name: (trace.event_classes[id].kind, trace.event_classes[id].fields)
        for batch in trace.batches()
        for id in batch.tables
        for name in [trace.event_classes[id].name]
    }
    kinds = {name: kind for name, (kind, _) in found.items()}
    assert kinds == {
        "sched_switch": Kind.SCHED_SWITCH,
        "sched_wakeup": Kind.SCHED_WAKEUP,
        "sched_process_fork": Kind.PROCESS_FORK,
        "lttng_statedump_process_state": Kind.TYPED,
        "syscall_entry_openat": Kind.SYSCALL_ENTRY,
        "syscall_exit_openat": Kind.SYSCALL_EXIT,
        "irq_handler_entry": Kind.IRQ_ENTRY,
        "irq_softirq_entry": Kind.SOFTIRQ_ENTRY,
    }
    roles = [field.role for field in found["sched_switch"][1]]
    assert roles == [
        Role.PREV_COMM, Role.PREV_TID, Role.PREV_PRIORITY, Role.PREV_STATE,
        Role.NEXT_COMM, Role.NEXT_TID, Role.NEXT_PRIORITY,
    ]  # fmt: skip


def test_priorities_are_those_of_ftrace(tmp_path: Path) -> None:
    events = events_of(kernel_trace(tmp_path))
    switches = [fields for _, name, fields in events if name == "sched_switch"]
    assert {(fields["prev_prio"], fields["next_prio"]) for fields in switches} == {(120, 99)}
    assert next(fields["prio"] for _, name, fields in events if name == "sched_wakeup") == 120


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("sched_migrate_task", ("prio",)),
        ("sched_pi_setprio", ("oldprio", "newprio")),
        ("sched_process_wait", ("prio",)),
        ("sched_wait_task", ("prio",)),
    ],
)
def test_every_event_of_the_scheduler_counts_priorities_alike(
    name: str, fields: tuple[str, ...], tmp_path: Path
) -> None:
    """Also after it was written again, where it has LTTng's name and LTTng's numbers."""
    members = "".join(f" int32_t _{field};" for field in fields)
    stream = Stream({name: members, f"p:{name}": members})
    values = b"".join((20 + number).to_bytes(4, "little") for number in range(len(fields)))
    packet = stream.packet([stream.record(0, 1, values), stream.record(1, 2, values)])
    path = stream.write(tmp_path / "source", packet)
    expected = [
        {field: start + number for number, field in enumerate(fields)} for start in (120, 20)
    ]
    assert [found for _, _, found in events_of(open_trace(path))] == expected
    converter.convert(path, tmp_path / "x.fxt", lossless=True)
    with converter.open_trace(tmp_path / "x.fxt") as trace:
        trace.sidecar.clear()
        converter.write(trace, tmp_path / "again", "ctf")
    again = open_trace(tmp_path / "again")
    assert [found for _, _, found in events_of(again)] == expected
    metadata = (tmp_path / "again" / "metadata").read_text()
    assert f'name = "{name}"' in metadata and f'name = "p:{name}"' in metadata


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("x86_irq_vectors_local_timer_entry", Kind.TIMER_ENTRY),
        ("x86_irq_vectors_thermal_apic_exit", Kind.IRQ_EXIT),
        ("x86_irq_vectors_reschedule_exit", Kind.IPI_EXIT),
        ("power_cpu_idle", Kind.CPU_IDLE),
        ("timer_hrtimer_expire_entry", Kind.TIMER_ENTRY),
        ("exit_syscall", Kind.SYSCALL_EXIT),
        ("sys_open", Kind.SYSCALL_ENTRY),
        ("compat_syscall_entry_read", Kind.SYSCALL_ENTRY),
        ("softirq_raise", Kind.SOFTIRQ_RAISE),
        ("sched:sched_switch", Kind.SCHED_SWITCH),
        ("irq:softirq_exit", Kind.SOFTIRQ_EXIT),
        ("lttng_ust_cyg_profile:func_entry", Kind.FUNCTION_ENTRY),
        ("lttng_ust_cyg_profile_fast:func_exit", Kind.FUNCTION_EXIT),
        ("lttng_ust_tracef:event", Kind.LOG),
        ("lttng_ust_tracelog:TRACE_INFO", Kind.LOG),
        ("my_program:sched_switch", Kind.TYPED),
        ("anything", Kind.TYPED),
    ],
)
def test_meanings(name: str, kind: Kind) -> None:
    assert meaning_of(*split_name(name)).kind is kind
    assert joined_name(*split_name(name)) == name


@pytest.mark.parametrize("point", sorted(MEANINGS))
def test_events_of_the_kernel_mean_what_ftrace_says(point: tuple[str, str]) -> None:
    """LTTng's by the names of lttng-modules, perf's by the kernel's; both from the table that all formats share."""
    system, event = point
    known = MEANINGS[point]
    assert meaning_of(system, event) == known
    if system in ("ftrace", "raw_syscalls"):
        return
    own = meaning_of("", kernel_name(system, event))
    assert own.kind is known.kind
    assert set(own.roles.values()) - {Role.PID} == set(known.roles.values())


def test_kernel_events_become_ftrace_events_of_perfetto(tmp_path: Path) -> None:
    kernel_trace(tmp_path / "in")
    converter.convert(tmp_path / "in", tmp_path / "out.pftrace")
    trace = converter.read(tmp_path / "out.pftrace")
    found = set()
    for batch in trace.batches():
        for id in batch.tables:
            declared = trace.event_classes[id]
            found.add((declared.category, declared.name, declared.kind))
    assert {
        ("sched", "sched_switch", Kind.SCHED_SWITCH),
        ("sched", "sched_wakeup", Kind.SCHED_WAKEUP),
        ("sched", "sched_process_fork", Kind.PROCESS_FORK),
        ("irq", "irq_handler_entry", Kind.IRQ_ENTRY),
        ("irq", "softirq_entry", Kind.SOFTIRQ_ENTRY),
    } <= found
    # The trace does not say which machine's system calls these are, so they have no numbers.
    assert {Kind.SLICE_BEGIN, Kind.SLICE_END} <= {kind for _, _, kind in found}


def test_a_name_alone_makes_no_kind(tmp_path: Path) -> None:
    stream = Stream({"sched_switch": "uint8_t prev_tid;", "irq_handler_entry": "string irq;"})
    path = stream.write(
        tmp_path, stream.packet([stream.record(0, 1, b"\5"), stream.record(1, 2, b"x\0")])
    )
    trace = open_trace(path)
    assert len(events_of(trace)) == 2
    for declared in trace.event_classes:
        assert declared.kind is Kind.TYPED
        assert all(field.role is Role.NONE for field in declared.fields)


def test_functions_of_a_program() -> None:
    trace = open_trace(FIXTURES / "ctf_cyg")
    counts: dict[Kind, int] = {}
    for batch in trace.batches():
        for id, table in batch.tables.items():
            kind = trace.event_classes[id].kind
            counts[kind] = counts.get(kind, 0) + len(table)
    assert counts[Kind.FUNCTION_ENTRY] == 753 and counts[Kind.FUNCTION_EXIT] == 752
    entry = next(item for item in trace.event_classes if item.kind is Kind.FUNCTION_ENTRY)
    assert [field.role for field in entry.fields] == [Role.FUNCTION, Role.PARENT_FUNCTION]


USER_CONTEXT = f"int32_t _vpid; int32_t _vtid; {comm('_procname')} uint8_t _depth;"


def user_record(stream: Stream, ts: int, pid: int, tid: int, name: bytes) -> Bits:
    return stream.record(0, ts, i32(pid, tid) + name16(name) + b"\x05")


def test_contexts_become_threads_and_other_contexts_fields(tmp_path: Path) -> None:
    stream = Stream({"app:work": ""}, context=USER_CONTEXT)
    records = [
        user_record(stream, 1, 10, 10, b"main"),
        user_record(stream, 2, 10, 11, b"worker"),
        user_record(stream, 3, -1, -1, b""),
        user_record(stream, 4, 10, 10, b"main"),
        user_record(stream, 5, 10, 11, b"renamed"),
    ]
    trace = open_trace(stream.write(tmp_path, stream.packet(records)))
    found = events_of(trace)
    assert [fields for _, _, fields in found] == [
        {"depth": 5}, {"depth": 5}, {"depth": 5}, {"depth": 5}, {"depth": 5, "procname": b"renamed"}
    ]  # fmt: skip
    (batch,) = trace.batches()
    threads = [trace.threads[i].tid if i >= 0 else None for i in batch.thread.tolist()]
    assert threads == [10, 11, None, 10, 11]
    assert [(thread.tid, thread.name) for thread in trace.threads] == [(10, "main"), (11, "worker")]
    assert [(process.pid, process.name) for process in trace.processes] == [(10, "main")]
    declared = trace.event_classes[0]
    assert (declared.category, declared.name) == ("app", "work")
    assert declared.fields[0].role is Role.CONTEXT


def test_processes_have_the_names_of_the_state_dump(tmp_path: Path) -> None:
    """Where no context says one."""
    stream = Stream(
        {"lttng_ust_statedump:procname": comm("_procname"), "app:work": ""},
        context="int32_t _vpid; int32_t _vtid;",
    )
    records = [
        stream.record(1, 1, i32(10, 10)),
        stream.record(0, 2, i32(10, 11) + name16(b"server")),
        stream.record(1, 3, i32(20, 20)),
    ]
    trace = open_trace(stream.write(tmp_path, stream.packet(records)))
    assert len(events_of(trace)) == 3
    names = [(process.pid, process.name) for process in trace.processes]
    assert names == [(10, "server"), (20, "")]


@pytest.mark.parametrize(("environment", "pid"), [("", 7), ("vpid = 99;", 99)])
def test_a_thread_without_a_process(tmp_path: Path, environment: str, pid: int) -> None:
    stream = Stream({"app:work": ""}, context="int32_t _vtid;", environment=environment)
    trace = open_trace(stream.write(tmp_path, stream.packet(stream.record(0, 1, i32(7)))))
    assert len(events_of(trace)) == 1
    assert [(thread.tid, thread.process) for thread in trace.threads] == [(7, 0)]
    assert trace.processes[0].pid == pid


def test_perf_says_threads_in_the_payload(tmp_path: Path) -> None:
    stream = Stream(
        {
            "perf_comm": "uint32_t pid; uint32_t tid; string comm;",
            "cpu-clock": "uint64_t perf_ip; int32_t perf_tid; int32_t perf_pid;",
        },
        environment='tracer_name = "perf"; domain = "kernel";',
    )
    records = [
        stream.record(0, 1, i32(5, 5) + b"proc\0"),
        stream.record(0, 2, i32(5, 6) + b"thread\0"),
        stream.record(1, 3, bytes(8) + i32(6, 5)),
    ]
    trace = open_trace(stream.write(tmp_path, stream.packet(records)))
    (batch,) = trace.batches()
    thread = trace.threads[batch.thread[2]]
    assert (thread.tid, thread.name) == (6, "thread")
    assert trace.processes[thread.process].name == "proc"
    assert events_of(trace)[2][2]["perf_tid"] == 6


def test_environments_of_several_traces(tmp_path: Path) -> None:
    one = Stream({"a": ""}, environment='hostname = "h"; vpid = 1;')
    other = Stream({"a": ""}, environment='hostname = "h"; vpid = 2;')
    one.write(tmp_path / "one", one.packet(one.record(0, 1)))
    other.write(tmp_path / "two", other.packet(other.record(0, 2)))
    trace = open_trace(tmp_path)
    assert trace.environment == {"hostname": "h", "vpid": 1, "two.vpid": 2}
    assert len(events_of(trace)) == 2
    # Both declare the same class in the same way.
    assert len(trace.event_classes) == 1


ENTRIES = {
    "syscalls:sys_enter_write": ("syscalls:sys_exit_write", "int64_t ret;", "uint64_t fd;"),
    "syscall_entry_read": ("syscall_exit_read", "int64_t ret;", "uint64_t fd;"),
    "irq_handler_entry": ("irq_handler_exit", "int32_t irq; int32_t ret;", "int32_t irq; int32_t x;"),
    "irq_softirq_entry": ("irq_softirq_exit", "uint32_t vec; uint32_t x;", "uint32_t vec; uint32_t x;"),
    "lttng_ust_cyg_profile:func_entry": (
        "lttng_ust_cyg_profile:func_exit", "uint64_t addr;", "uint64_t addr;",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("with_exits", [False, True])
def test_entries_without_exits_are_instants(name: str, with_exits: bool, tmp_path: Path) -> None:
    """Nothing ends them: as slices they would nest without an end."""
    exit_name, exit_fields, fields = ENTRIES[name]
    events = {name: fields, **({exit_name: exit_fields} if with_exits else {})}
    stream = Stream(events, context="int32_t vtid;")
    stream_types = "typealias integer { size = 64; align = 8; signed = true; } := int64_t;"
    context = struct.pack("<i", 7)
    records = []
    for number in range(20):
        if with_exits and number % 2:
            records.append(stream.record(1, number, context + bytes(8)))
        else:
            records.append(stream.record(0, number, context + bytes(8)))
    path = stream.write(tmp_path / "in", stream.packet(records))
    metadata = (path / "metadata").read_text()
    (path / "metadata").write_text(metadata.replace("trace {", stream_types + "\ntrace {", 1))
    converter.convert(path, tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text())
    phases = [one["ph"] for one in document["traceEvents"] if "ts" in one and one["ph"] != "M"]
    if with_exits:
        assert phases.count("B") + 2 * phases.count("X") >= 10 and "i" not in phases
    else:
        assert len(phases) == 20 and set(phases) <= {"i", "I", "n"}
