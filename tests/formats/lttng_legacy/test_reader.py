"""What is read of legacy LTTng traces: real recordings, every version and header, and what events mean."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.lttng_legacy_files import (
    FIXTURES,
    RATE,
    START,
    VARIANTS_1,
    VARIANTS_2,
    Trace,
    events,
    opened,
    sample,
    save,
    spelled,
    with_heartbeats,
)

import converter
from converter.errors import TraceError, UnsupportedError
from converter.formats.lttng_legacy import decode
from converter.formats.lttng_legacy.layout import header_layout, versions
from converter.formats.lttng_legacy.mapping import meanings
from converter.formats.lttng_legacy.marker_formats import TypeSizes, parse_format
from converter.ir.canonical import canonical
from converter.ir.events import Field
from converter.ir.field_classes import IntegerClass, StringClass, Style
from converter.ir.invariants import check
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role

SIZES_32 = TypeSizes(4, 4, 4, 4, 0)


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


# Every version and header


@pytest.mark.parametrize("options", [*VARIANTS_1, *VARIANTS_2], ids=spelled)
def test_every_version_and_header(tmp_path, options):
    trace = opened(save(sample(**options).build(), tmp_path))
    check(trace)
    found = events(trace)
    switch, call, other, rich, leave = [(one[0], one[1], *one[3:]) for one in found]
    assert switch == (START + 10, "SCHED_SWITCH", 0, 7, [7, 9, 1])
    assert call == (START + 20, "SYSCALL_ENTRY", 0, 9, [0x1000, 3])
    assert other == (START + 25, "SYSCALL_ENTRY", 1, None, [0x1000, 3])
    values = [200, "text", -5, 1 << 63, 0x1234, 0xABCD, "", -1]
    assert rich == (START + 30, "TYPED", 0, 9, values)
    assert leave == (START + 40, "SYSCALL_EXIT", 0, 9, [-2, 3])
    assert trace.warnings == []
    assert trace.clock.ticks_per_second == RATE
    assert trace.clock.epoch_ns == 1500 * 10**9 + 250_000_000 - START


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("byte_ids", [False, True])
def test_headers_and_ids_of_version_1_0_are_told_apart_each_for_itself(tmp_path, literal, byte_ids):
    trace = opened(save(sample(literal=literal, byte_ids=byte_ids).build(), tmp_path))
    assert [one[5] for one in events(trace) if one[1] == "SCHED_SWITCH"] == [[7, 9, 1]]
    assert len(events(trace)) == 5
    assert trace.warnings == []
    assert trace.clock.epoch_ns == 1500 * 10**9 + 250_000_000 - START


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("literal", [False, True])
def test_headers_of_times_that_are_times_either_way_are_told_apart(tmp_path, literal, big_endian):
    """Small cycle counters right behind a start_time of whole seconds look like the tracer's microseconds."""
    options = {"literal": literal, "big_endian": big_endian, "heartbeat": False, "nanoseconds": 0}
    trace = opened(save(sample(**options).build(), tmp_path))
    assert [one[5] for one in events(trace) if one[1] == "SCHED_SWITCH"] == [[7, 9, 1]]
    assert len(events(trace)) == 5
    assert trace.warnings == []
    assert trace.clock.epoch_ns == 1500 * 10**9 - START


def test_compact_channels(tmp_path):
    """Times lack their lowest bits, the first field may be in the header, and wraps are found."""
    trace = Trace(tscbits=8, data_shift=14, truncate=4)
    trace.declare("cpu", "small", 8, "value #b1u%u rest %d")
    trace.declare("cpu", "plain", 9, " ")
    trace.event("compact", 0, START, 9)
    trace.event("compact", 0, START + 4000, 8, trace.payload(("i", -3)), data=77)
    trace.event("compact", 0, START + 8000, 9)
    found = events(opened(save(trace.build(), tmp_path)))
    cut = [ts >> 4 << 4 for ts in (START, START + 4000, START + 8000)]
    assert [(one[0], one[2], one[5]) for one in found] == [
        (cut[0], "plain", []), (cut[1], "small", [77, -3]), (cut[2], "plain", []),
    ]  # fmt: skip


def test_heartbeats_keep_the_time(tmp_path):
    """They are no events; one at least is in each wrap of 32 bits, and one of 64 bits tells all of the time."""
    trace, *times = with_heartbeats()
    found = events(opened(save(trace.build(), tmp_path)))
    wrap = 1 << 32
    assert times == [START, 4 * wrap - 30, 77 * wrap + 14]
    assert [one[0] for one in found] == times


def test_time_of_27_bits_wraps(tmp_path):
    trace = Trace(version=(2, 6))
    trace.declare("kernel", "plain", 0, " ")
    trace.declare("kernel", "far", 400, "n %d")
    step = (1 << 27) - 1
    times = [START + i * step for i in range(4)]
    for ts in times:
        trace.event("kernel", 0, ts, 0)
    trace.event("kernel", 0, times[-1] + 3, 400, trace.payload(("i", 1)))
    trace.event("kernel", 0, 1 << 50, 400, trace.payload(("i", 2)), full=True)
    found = events(opened(save(trace.build(), tmp_path)))
    assert [one[0] for one in found] == [*times, times[-1] + 3, 1 << 50]


def test_events_of_more_than_65534_bytes(tmp_path):
    long = b"x" * 70_000
    trace = Trace(version=(2, 6), block_size=1 << 20)
    trace.declare("kernel", "text", 0, "text %s")
    trace.event("kernel", 0, START, 0, long + b"\0", full=True)
    trace.event("kernel", 0, START + 1, 0, b"short\0")
    found = events(opened(save(trace.build(), tmp_path)))
    assert [one[5] for one in found] == [[long.decode()], ["short"]]


@pytest.mark.parametrize("payload", [b"", b"abc", b"x" * 70_000], ids=len)
def test_headers_that_say_the_size(tmp_path, payload):
    """Id 30: as 29 without the time. The record may end where its block does."""
    trace = Trace(version=(2, 6), block_size=1 << 20)
    trace.declare("kernel", "plain", 0, " ")
    trace.event("kernel", 0, START, 0)
    trace.event("kernel", 0, START + 9, 77, payload, full="size")
    read = opened(save(trace.build(), tmp_path))
    check(read)
    assert [(one[0], one[1]) for one in events(read)] == [(START, "TYPED"), (START + 9, "NATIVE")]
    assert read.warnings == []


def test_sizes_that_did_not_fit_are_those_of_the_format(tmp_path):
    trace = Trace()
    trace.declare("cpu", "text", 128, "text %s")
    trace.event("cpu", 0, START, 128, b"some\0", full=True)
    trace.event("cpu", 0, START + 1, 128, b"more\0")
    read = opened(save(trace.build(), tmp_path))
    assert [one[5] for one in events(read)] == [["some"], ["more"]]
    assert read.warnings == []


def test_lost_events_are_counted_before_their_block(tmp_path):
    trace = Trace(version=(2, 6))
    trace.declare("kernel", "plain", 0, " ")
    trace.event("kernel", 0, START, 0)
    trace.new_block("kernel", 0, START + 50, (7, 0))
    trace.event("kernel", 0, START + 60, 0)
    trace.new_block("kernel", 0, START + 70, (7, 0))
    trace.new_block("kernel", 0, START + 90, (9, 2))
    read = opened(save(trace.build(), tmp_path))
    check(read)
    lost = [(one[0], one[5]) for one in events(read) if one[1] == "DISCARDED"]
    assert lost == [(START + 50, [7, 0]), (START + 90, [2, 2])]


def test_flight_recorders(tmp_path):
    """The prefix is of the file; a block that was never closed ends where its events do."""
    trace = Trace(block_size=512)
    trace.declare("cpu", "plain", 128, "n %d")
    trace.event("flight-cpu", 0, START + 5, 128, trace.payload(("i", 6)))
    trace.new_block("flight-cpu", 0, START + 9)
    trace.event("flight-cpu", 0, START + 10, 128, trace.payload(("i", 7)))
    files = trace.build()
    data = bytearray(files["flight-cpu_0"])
    data[512 + 32 : 512 + 36] = b"\xff" * 4
    files["flight-cpu_0"] = bytes(data)
    read = opened(save(files, tmp_path))
    assert [one[5] for one in events(read)] == [[6], [7]]
    assert ["never closed" in warning.message for warning in read.warnings] == [True]


@pytest.mark.parametrize("minor", [2, 6])
def test_blocks_of_version_2_that_were_never_closed(tmp_path, minor):
    trace = Trace(version=(2, minor), block_size=512)
    trace.declare("kernel", "plain", 0, "n %d")
    trace.event("kernel", 0, START + 5, 0, trace.payload(("i", 6)))
    trace.event("kernel", 0, START + 9, 0, trace.payload(("i", 7)))
    files = trace.build()
    data = bytearray(files["kernel_0"])
    data += bytes(512 - len(data))
    data[52:60] = b"\xff" * 4 + (512).to_bytes(4, "little")
    files["kernel_0"] = bytes(data)
    read = opened(save(files, tmp_path))
    assert [one[5] for one in events(read)] == [[6], [7]]
    assert ["never closed" in warning.message for warning in read.warnings] == [True]


def test_undeclared_markers_are_kept_as_they_are(tmp_path):
    trace = Trace()
    trace.declare("cpu", "plain", 128, " ")
    trace.event("cpu", 0, START, 555, b"payload")
    trace.event("cpu", 0, START + 1, 128)
    read = opened(save(trace.build(), tmp_path))
    check(read)
    assert [(one[1], one[5]) for one in events(read)] == [
        ("NATIVE", [555, {"bytes": "cGF5bG9hZA=="}]), ("TYPED", []),
    ]  # fmt: skip


def test_ids_of_one_name_have_types_of_their_own(tmp_path):
    """Programs of 32 bits on a kernel of 64."""
    trace = Trace(arch_size=8)
    trace.declare("cpu", "both", 128, "n %ld")
    trace.arch_size = 4
    trace.declare("cpu", "both", 129, "n %ld")
    trace.arch_size = 8
    trace.event("cpu", 0, START, 128, trace.payload(("q", -1)))
    trace.event("cpu", 0, START + 1, 129, trace.payload(("i", -2)))
    assert [one[5] for one in events(opened(save(trace.build(), tmp_path)))] == [[-1], [-2]]


# What cannot be read


@pytest.mark.parametrize(("major", "minor"), [(0, 3), (0, 8), (1, 1)])
def test_versions_before_1_0_are_named(tmp_path, major, minor):
    files = sample().build()
    for name, data in files.items():
        files[name] = data[:57] + bytes((major, minor)) + data[59:]
    with pytest.raises(UnsupportedError, match=rf"version {major}\.{minor} of"):
        opened(save(files, tmp_path))


def test_the_format_of_1999_is_named(tmp_path):
    save({"cpu_0": b"\0\0" + 0x00D6B7ED.to_bytes(4, "little") + bytes(200)}, tmp_path)
    with pytest.raises(UnsupportedError, match="1999"):
        opened(tmp_path)


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


# Format texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a %d b %u", [("a", 32, True), ("b", 32, False)]),
        ("a %ld b %lu c %lld d %Lu", [("a", 32, True), ("b", 32, False), ("c", 64, True), ("d", 64, False)]),
        ("a %hd b %hhu c %zu d %td", [("a", 16, True), ("b", 8, False), ("c", 32, False), ("d", 32, True)]),
        ("a #2d%ld b #1u%lu c #8u%llu", [("a", 16, True), ("b", 8, False), ("c", 64, False)]),
        ("irqstate #1%d", [("irqstate", 8, True)]),
        ("ip 0x%lX n %-0d", [("ip", 32, False), ("n", 32, True)]),
        ("rw(A,B) %lX", [("rw(A,B)", 32, False)]),
        ("%d two %d %d", [("field 0", 32, True), ("two", 32, True), ("field 2", 32, True)]),
        ("some words then %d", [("then", 32, True)]),
        ("100%% of ## n %u", [("n", 32, False)]),
        ("a %4d b %d", [("b", 32, True)]),
        (" ", []), ("", []), ("MARK_NOARGS", []), ("a %", []), ("a %y b %d", [("b", 32, True)]),
        ("a #p%ld b %p", [("a", 32, False), ("b", 32, False)]),
    ],
)  # fmt: skip
def test_format_texts(text, expected):
    found = parse_format(text, SIZES_32)
    assert [(one.name, 8 * one.size, one.signed) for one in found] == expected


def test_parts_of_format_texts():
    fields = parse_format("a #n2u%hu b #b4u%u s %s p %p x #1x%c c %c o %lo", SIZES_32)
    assert [one.network for one in fields] == [True, *[False] * 6]
    assert [one.inline for one in fields] == [False, True, *[False] * 5]
    assert fields[2].field_class == StringClass()
    assert [one.style for one in fields[3:]] == [
        Style.POINTER, Style.HEXADECIMAL, Style.CHARACTER, Style.OCTAL,
    ]  # fmt: skip
    sizes = TypeSizes(4, 8, 8, 8, 0)
    assert [one.size for one in parse_format("a %p b %ld c %zu d #8u%u", sizes)] == [8, 8, 8, 8]
    # Version 1.0 took no notice of #8.
    assert [one.size for one in parse_format("a #8u%u b #8u%llu", sizes, ignores_eight=True)] == [
        4,
        8,
    ]


def test_no_format_has_more_fields_than_are_sensible():
    with pytest.raises(ValueError, match="more than 1024"):
        parse_format("%d" * 1025, SIZES_32)


# The published descriptions


def test_block_headers_are_as_large_as_the_tracers():
    sizes = {"1.0": 109, "1.0-document": 101, "2.1": 60, "2.2": 68, "2.5": 68}
    assert {name: header_layout(name).size for name in sizes} == sizes
    assert header_layout("1.0").offset("magic_number") == 40
    assert header_layout("1.0").offset("start_time_sec") == 93
    assert header_layout("2.5").offset("magic_number") == 16
    assert versions() == {"1.0", *(f"2.{minor}" for minor in range(7))}


@pytest.mark.parametrize("meaning", meanings(), ids=lambda one: f"{one.channel}.{one.name}")
def test_markers_of_the_schema(meaning):
    if not meaning.written:
        assert meaning.slice
        assert meaning.kind in (Kind.SLICE_BEGIN, Kind.SLICE_END)
        return
    roles = {field.role for field in meaning.fields}
    assert REQUIRED_ROLES.get(meaning.kind, frozenset()) <= roles
    names = {field.name for field in meaning.fields}
    assert meaning.roles.keys() <= names
    assert all(isinstance(field, Field) for field in meaning.fields)
    assert all(isinstance(field.type, IntegerClass | StringClass) for field in meaning.fields)
