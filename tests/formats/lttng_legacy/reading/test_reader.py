"""What is read of legacy LTTng traces: real recordings, and what events mean."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.ctf.lttng_legacy_files import FIXTURES, START, Trace, events, opened, sample, save

import converter
from converter.errors import TraceError
from converter.formats.lttng_legacy.reading import batches as decode
from converter.ir.canonical import canonical
from converter.ir.invariants import check
from converter.ir.kinds import Kind, Role

# Real recordings


def test_a_real_trace_of_version_2_5():
    with converter.open_trace(FIXTURES / "kernel-2.5.tar.gz") as trace:
        assert (trace.format, trace.variant) == ("lttng_legacy", "2.5")
        check(trace)
        batches = list(trace.batches())
        assert sum(map(len, batches)) == 15_316
        assert trace.warnings == []
        first = batches[0]
        event_class = trace.event_classes[first.class_id[0]]
        assert (event_class.category, event_class.name) == ("metadata", "core_marker_id")
        assert trace.clock.ticks_per_second == 1_987_809_000
        ns = int(first.ts[0]) * 1_000_000_000 // trace.clock.ticks_per_second
        assert ns == 13_589_759_412_128
        # The wall clock is that of the first block of declarations.
        assert trace.clock.epoch_ns == 1_262_715_366_408_819_000 - int(
            27_013_712_723_835 * 10**9 / Fraction(1_987_809_000)
        )
        assert trace.environment["machine"] == "i686"
        names = {thread.tid: thread.name for thread in trace.threads}
        assert names[1] == "init"
        assert names[0] == "swapper"
        assert {trace.processes[thread.process].pid for thread in trace.threads} < names.keys()


def test_a_real_trace_of_two_cpus():
    """Declarations of all CPUs count: CPU 0 has none here, and its events are of markers that CPU 1 declares."""
    with converter.open_trace(FIXTURES / "net-2.6.tar.gz") as trace:
        assert trace.variant == "2.6"
        batches = list(trace.batches())
        assert sum(map(len, batches)) == 4_807
        assert trace.warnings == []
        (batch,) = batches
        assert (batch.ts[1:] >= batch.ts[:-1]).all()
        assert set(batch.cpu.tolist()) == {0, 1}
        assert len({trace.processes[thread.process].pid for thread in trace.threads}) > 100


def test_system_calls_have_the_names_of_the_state_dump():
    with converter.open_trace(FIXTURES / "kernel-2.5.tar.gz") as trace:
        entry = next(one for one in trace.event_classes if one.kind is Kind.SYSCALL_ENTRY)
        number = entry.fields[entry.index_of(Role.SYSCALL_NUMBER)].type
        assert {label.low: label.text for label in number.labels}[3] == "sys_read"


def test_interrupts_and_softirqs_have_the_names_of_the_state_dump():
    with converter.open_trace(FIXTURES / "kernel-2.5.tar.gz") as trace:
        names = set()
        for batch in trace.batches():
            for id, table in batch.tables.items():
                event_class = trace.event_classes[id]
                if event_class.kind is Kind.IRQ_ENTRY:
                    column = table.column(event_class.index_of(Role.NAME))
                    names |= {trace.strings[one] for one in column.tolist()}
        # The keyboard has a line; the local timer's vector has none, only a handler.
        assert names == {b"i8042", b"apic_timer_interrupt"}
        entry = next(one for one in trace.event_classes if one.kind is Kind.SOFTIRQ_ENTRY)
        labels = entry.fields[entry.index_of(Role.VECTOR)].type.labels
        assert {label.low: label.text for label in labels}[1] == "run_timer_softirq"
        state = next(one for one in trace.event_classes if one.name == "process_state")
        (status,) = (field for field in state.fields if field.name == "status")
        assert {label.low: label.text for label in status.type.labels}[5] == "wait"


def test_names_of_the_state_dump_of_version_1_0(tmp_path):
    """Several devices share a line; vectors of exceptions name traps; nobody's handlers name nothing."""
    trace = Trace()
    trace.declare("", "list_interrupt", 128, "name %s action %s irq_id %u")
    trace.declare("", "kernel_irq_entry", 129, "irq_id %u kernel_mode %u")
    trace.declare("", "idt_table", 130, "irq %d address %p symbol %s")
    trace.declare("", "kernel_arch_trap_entry", 131, "trap_id %d ip #p%ld")
    integer = [("I", n) for n in range(256)]
    for device, line in (("usb1", 19), ("eth0", 19), ("usb1", 19)):
        values = ("IO-APIC", device, integer[line])
        trace.event("control/interrupts", 0, START + 5, 128, trace.payload(*values))
    symbols = {13: "general_protection+0x0/0xa", 20: "ignore_int+0x0/0x46", 19: "simd+0x0/0xc"}
    for vector, symbol in symbols.items():
        values = (integer[vector], integer[0], symbol)
        trace.event("control/interrupts", 0, START + 6, 130, trace.payload(*values))
    for n, line in enumerate((19, 21)):
        trace.event("cpu", 0, START + 10 + n, 129, trace.payload(integer[line], integer[0]))
    for n, trap in enumerate((13, 20)):
        trace.event("cpu", 0, START + 20 + n, 131, trace.payload(integer[trap], integer[0]))
    read = opened(save(trace.build(), tmp_path))
    check(read)
    found = {one[0] - START: one[5] for one in events(read)}
    assert [found[n][-1] for n in (10, 11)] == ["usb1, eth0", "21"]
    assert [found[n][0] for n in (20, 21)] == ["general_protection", "trap"]


def test_a_cpu_begins_with_the_thread_that_its_first_switch_takes(tmp_path, monkeypatch):
    """However many batches come before that switch."""
    monkeypatch.setattr("converter.streaming.stream_merge.BATCH_SIZE", 10)
    trace = Trace(version=(2, 6))
    trace.declare("kernel", "sched_schedule", 0, "prev_pid %d next_pid %d prev_state #2d%ld")
    trace.declare("kernel", "plain", 1, " ")
    for n in range(100):
        trace.event("kernel", n % 2, START + n, 1)
    trace.event("kernel", 0, START + 200, 0, trace.payload(("i", 7), ("i", 9), ("h", 1)))
    read = opened(save(trace.build(), tmp_path))
    assert {(one[3], one[4]) for one in events(read)} == {(0, 7), (1, None)}


# What cannot be read


def test_one_file_of_a_trace_is_no_trace(tmp_path):
    save(sample().build(), tmp_path)
    with pytest.raises(TraceError, match="the directory that it is in"):
        opened(tmp_path / "cpu_0")


def test_a_directory_around_a_trace_is_one_too(tmp_path):
    save(sample().build(), tmp_path / "name")
    with converter.open_trace(tmp_path) as trace:
        assert len(events(trace)) == 5


# What events mean


def test_what_follows_from_events_before(tmp_path):
    trace = Trace(version=(2, 6))
    trace.declare("kernel", "sched_schedule", 0, "prev_pid %d next_pid %d prev_state #2d%ld")
    trace.declare("kernel", "irq_entry", 1, "ip %lu handler %p irq_id #2u%u kernel_mode #1u%u")
    trace.declare("kernel", "irq_exit", 2, "handled #1u%u")
    trace.declare("kernel", "process_fork", 3, "parent_pid %d child_pid %d child_tgid %d")
    trace.declare("fs", "exec", 0, "filename %s")
    trace.declare("task_state", "process_state", 0, "pid %d parent_pid %d name %s type %d tgid %d")
    trace.declare("kernel", "page_fault_entry", 4, "ip #p%lu")
    trace.declare("kernel", "syscall_entry", 5, "ip #p%lu syscall_id #2u%u")
    trace.declare("kernel", "syscall_exit", 6, "ret %ld")

    def event(ts, id, *values, channel="kernel"):
        trace.event(channel, 0, START + ts, id, trace.payload(*values))

    integer = [("i", n) for n in range(40)]
    event(1, 2, ("B", 1))
    event(2, 0, integer[5], integer[6], ("h", 0))
    event(3, 1, ("I", 0), ("I", 0), ("H", 14), ("B", 0))
    event(4, 1, ("I", 0), ("I", 0), ("H", 17), ("B", 0))
    event(5, 2, ("B", 1))
    event(6, 2, ("B", 0))
    event(7, 3, integer[6], integer[20], integer[20])
    event(8, 3, integer[6], integer[21], integer[6])
    event(9, 0, integer[6], integer[20], ("h", 1))
    event(10, 0, "/bin/true", channel="fs")
    event(11, 4, ("I", 0xBAD))
    event(20, 5, ("I", 0x1000), ("H", 120))
    event(21, 3, integer[20], integer[22], integer[22])
    event(22, 0, integer[20], integer[22], ("h", 0))
    event(23, 6, ("I", 0))
    event(24, 0, integer[22], integer[20], ("h", 0))
    event(25, 6, ("I", 0))
    event(99, 0, integer[6], integer[1], "shell", integer[0], integer[6], channel="task_state")
    read = opened(save(trace.build(), tmp_path))
    check(read)
    found = {one[0] - START: one for one in events(read)}
    assert [found[n][5][-1] for n in (1, 5, 6)] == [-1, 17, 14]
    assert [found[n][4] for n in (1, 2, 3, 8, 9, 10)] == [5, 5, 6, 6, 6, 20]
    # A child begins inside the call that makes it.
    assert [found[n][4:] for n in (23, 25)] == [(22, [0, 120]), (20, [0, 120])]
    assert found[11][1:] == ("SLICE_BEGIN", "", 0, 20, ["page_fault", "kernel", 0xBAD])
    tasks = {
        one.tid: (read.processes[one.process].pid, one.name, read.processes[one.process].parent_pid)
        for one in read.threads
    }
    assert tasks[6] == (6, "shell", 1)
    assert tasks[20] == (20, "true", 6)
    assert tasks[21] == (6, "shell", 1)
    assert tasks[5] == (5, "", None)


def test_brands_of_threads_are_events(tmp_path):
    trace = Trace(version=(2, 6))
    trace.declare("userspace", "thread_brand", 0, "name %s")
    trace.event("userspace", 0, START, 0, trace.payload("worker"))
    read = opened(save(trace.build(), tmp_path))
    assert [(*one[:3], one[5]) for one in events(read)] == [
        (START, "TYPED", "thread_brand", ["worker"])
    ]


def test_the_state_dump_of_version_1_0(tmp_path):
    trace = Trace()
    trace.declare("", "list_process_state", 128, "pid %d parent_pid %d name %s type %d tgid %d")
    trace.declare("", "kernel_sched_schedule", 129, "prev_pid %d next_pid %d prev_state #2d%ld")
    trace.event("cpu", 0, START, 129, trace.payload(("i", 9), ("i", 8), ("h", 0)))
    for tid, parent, name, tgid in ((8, 1, "main", 8), (9, 1, "worker", 8)):
        values = (("i", tid), ("i", parent), name, ("i", 0), ("i", tgid))
        trace.event("control/processes", 0, START + 5, 128, trace.payload(*values))
    read = opened(save(trace.build(), tmp_path))
    assert [one[:5] for one in events(read)] == [
        (START, "SCHED_SWITCH", "kernel_sched_schedule", 0, 9),
        (START + 5, "TYPED", "list_process_state", 0, 8),
        (START + 5, "TYPED", "list_process_state", 0, 8),
    ]
    tasks = {one.tid: (read.processes[one.process].pid, one.name) for one in read.threads}
    assert tasks == {8: (8, "main"), 9: (8, "worker")}
    assert [(one.pid, one.name, one.parent_pid) for one in read.processes] == [(8, "main", 1)]


def test_reading_again_gives_the_same(tmp_path):
    read = opened(save(sample(version=(2, 6)).build(), tmp_path))
    assert canonical(read) == canonical(read)


# Streaming


@pytest.mark.parametrize("window", [70, 333, 5000])
def test_windows_of_any_size_give_the_same(monkeypatch, window):
    """Events and block headers lie across their ends, and columns are full before they end."""
    path = FIXTURES / "net-2.6.tar.gz"
    with converter.open_trace(path) as trace:
        whole = canonical(trace)
    monkeypatch.setattr(decode, "_SMALLEST_WINDOW", window)
    monkeypatch.setattr(decode, "_LARGEST_WINDOW", window)
    monkeypatch.setattr(decode, "_BYTES_AN_EVENT", 40)
    monkeypatch.setattr("converter.streaming.stream_merge.BATCH_SIZE", 100)
    with converter.open_trace(path) as trace:
        assert len(list(trace.batches())) == 49
        check(trace)
        assert canonical(trace) == whole
        assert trace.warnings == []
