"""Traces of LTTng 0.x that no fixture is like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from support.ctf.lttng_legacy_files import START, Trace, sample, with_heartbeats
from support.fuzzing.corpus import Files

from converter.formats.lttng_legacy.layout import Version

#: The small blocks of a trace that has them.
_BLOCK = 1024
_INTEGERS = [("i", number) for number in range(256)]
#: Formats of markers, and values of their fields.
_FORMATS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("a #n2u%hu s %s p %p x #1x%c c %c o %lo", ((">H", 7), "text", ("I", 1), ("B", 2), ("b", 65), ("I", 8))),
    ("%d two %d %hhu", (("i", -1), ("i", 2), ("B", 3))),
    ("100%% of ## n %-0d a %4d a %y", (("i", 5),)),
    ("v #8u%llu w #1u%lu z %zu t %td", (("Q", 1 << 63), ("B", 1), ("I", 2), ("i", -2))),
    ("MARK_NOARGS", ()),
    ("%d" * 1025, ()),
)  # fmt: skip


def inputs() -> list[Files]:
    """A small trace in every version of the format, and one feature each."""
    versions = ((1, 0), (2, 0), (2, 2), (2, 3), (2, 5), (2, 6))
    found = [sample(version=version).build() for version in versions]
    found += [sample(version=(2, 6), big_endian=True).build()]
    found += [sample(version=(2, 6), alignment=8, arch_size=8).build()]
    found += [sample(literal=True, heartbeat=False, alignment=4, big_endian=True).build()]
    found += [trace.build() for trace in (*_meanings(), *_times(), *_sizes())]
    return [*found, *_damaged()]


def _meanings() -> Iterator[Trace]:
    """What follows from events before, and from the state dump."""
    trace = Trace(version=(2, 6))
    for number, (name, format) in enumerate(
        (
            ("sched_schedule", "prev_pid %d next_pid %d prev_state #2d%ld"),
            ("irq_entry", "ip %lu handler %p irq_id #2u%u kernel_mode #1u%u"),
            ("irq_exit", "handled #1u%u"),
            ("process_fork", "parent_pid %d child_pid %d child_tgid %d"),
            ("page_fault_entry", "ip #p%lu"),
            ("syscall_entry", "ip #p%lu syscall_id #2u%u"),
            ("syscall_exit", "ret %ld"),
            ("trap_entry", "trap_id %d ip #p%ld"),
            ("softirq_entry", "softirq_id #1u%lu"),
            # Without what its meaning needs.
            ("sched_try_wakeup", "comm %s"),
            ("process_exit", "pid %s"),
        )
    ):
        trace.declare("kernel", name, number, format)
    trace.declare("fs", "exec", 0, "filename %s")
    trace.declare("task_state", "process_state", 0, "pid %d parent_pid %d name %s type %d tgid %d")
    trace.declare("syscall_state", "sys_call_table", 0, "id %d address %p symbol %s")
    trace.declare("softirq_state", "softirq_vec", 0, "id %d address %p symbol %s")
    trace.declare("irq_state", "idt_table", 0, "irq %d address %p symbol %s")
    trace.declare("irq_state", "interrupt", 1, "name %s action %s irq_id %u")
    trace.declare("userspace", "thread_brand", 0, "name %s")
    one, two, new = _INTEGERS[5], _INTEGERS[6], _INTEGERS[20]
    events: tuple[tuple[str, int, tuple[Any, ...]], ...] = (
        ("kernel", 2, (("B", 1),)),
        ("kernel", 0, (one, two, ("h", 0))),
        ("kernel", 1, (("I", 0), ("I", 0), ("H", 14), ("B", 0))),
        ("kernel", 1, (("I", 0), ("I", 0), ("H", 17), ("B", 0))),
        ("kernel", 2, (("B", 1),)),
        ("kernel", 2, (("B", 0),)),
        ("kernel", 5, (("I", 0x1000), ("H", 120))),
        ("kernel", 3, (two, new, new)),
        ("kernel", 3, (two, _INTEGERS[21], two)),
        ("kernel", 3, (two, two, two)),
        ("kernel", 0, (two, new, ("h", 1))),
        ("fs", 0, ("/bin/true",)),
        ("kernel", 6, (("i", 0),)),
        ("kernel", 4, (("I", 0xBAD),)),
        ("kernel", 7, (_INTEGERS[13], ("I", 0))),
        ("kernel", 7, (_INTEGERS[77], ("I", 0))),
        ("kernel", 8, (("B", 1),)),
        ("kernel", 9, ("comm",)),
        ("kernel", 10, ("text",)),
        ("userspace", 0, ("worker",)),
        ("task_state", 0, (two, _INTEGERS[1], "shell", one, two)),
        ("task_state", 0, (new, two, "true", one, new)),
        *(("syscall_state", 0, (("i", n), ("I", 0), name)) for n, name in _CALLS),
        ("softirq_state", 0, (_INTEGERS[1], ("I", 0), "run_timer_softirq+0x0/0x70")),
        ("irq_state", 0, (_INTEGERS[13], ("I", 0), "general_protection+0x0/0xa")),
        ("irq_state", 0, (_INTEGERS[20], ("I", 0), "ignore_int+0x0/0x46")),
        ("irq_state", 1, ("IO-APIC", "usb1", ("I", 17))),
        ("irq_state", 1, ("IO-APIC", "eth0", ("I", 17))),
        ("irq_state", 1, ("IO-APIC", "far", ("I", 1 << 31))),
    )
    for number, (channel, id, values) in enumerate(events):
        trace.event(channel, 0, START + number, id, trace.payload(*values))
    yield trace

    trace = Trace(block_size=_BLOCK)
    trace.declare("", "list_process_state", 128, "pid %d parent_pid %d name %s type %d tgid %d")
    trace.declare("", "kernel_sched_schedule", 129, "prev_pid %d next_pid %d prev_state #2d%ld")
    trace.event("cpu", 0, START, 129, trace.payload(("i", 9), ("i", 8), ("h", 0)))
    for tid, parent, name, tgid in ((8, 1, "main", 8), (9, 1, "worker", 8)):
        values = (("i", tid), ("i", parent), name, ("i", 0), ("i", tgid))
        trace.event("control/processes", 0, START + 5, 128, trace.payload(*values))
    yield trace

    trace = Trace(version=(2, 6))
    for id, (format, _) in enumerate(_FORMATS):
        trace.declare("kernel", f"format_{id}", id, format[:1500])
    for id, (_, values) in enumerate(_FORMATS):
        trace.event("kernel", 0, START + id, id, trace.payload(*values))
    # Nobody has declared it; and one that is declared twice.
    trace.event("kernel", 0, START + 90, 77, b"payload", full=True)
    trace.declare("kernel", "format_1", 9, "n %ld")
    trace.event("kernel", 0, START + 95, 9, trace.payload(("i", 3)))
    yield trace


#: The names of these numbers are those of a machine.
_CALLS = (
    (3, "sys_read+0x0/0x70"),
    (4, "sys_write+0x0/0x70"),
    (5, "sys_open"),
    (4097, "sys_far"),
    (120, "sys_clone"),
)


def _times() -> Iterator[Trace]:
    """Channels whose times lack bits, heartbeats, and times that wrap."""
    for big_endian in (False, True):
        trace = Trace(
            tscbits=8, data_shift=14, truncate=4, block_size=_BLOCK, big_endian=big_endian
        )
        trace.declare("cpu", "small", 8, "value #b1u%u rest %d")
        trace.declare("cpu", "plain", 9, " ")
        trace.event("compact", 0, START, 9)
        for number in range(1, 6):
            payload = trace.payload(("i", -number))
            trace.event("compact", 0, START + 3000 * number, 8, payload, data=77)
        # Farther from the one before than the header can say.
        trace.new_block("compact", 0, START + (1 << 20))
        trace.event("compact", 0, START + (1 << 20), 8, trace.payload(("i", 0)), data=255)
        yield trace
    trace, *_ = with_heartbeats(alignment=4, block_size=_BLOCK)
    trace.new_block("cpu", 0, 1 << 40)
    trace.event("cpu", 0, 1 << 40, 128)
    yield trace
    trace = Trace(version=(2, 6))
    trace.declare("kernel", "plain", 0, " ")
    trace.declare("kernel", "far", 400, "n %d")
    step = (1 << 27) - 1
    for turn in range(4):
        trace.event("kernel", 0, START + turn * step, 0)
    trace.event("kernel", 0, START + 3 * step + 3, 400, trace.payload(("i", 1)))
    trace.event("kernel", 0, 1 << 50, 400, trace.payload(("i", 2)), full=True)
    yield trace
    for version in ((2, 2), (2, 6)):
        trace = Trace(version=version, block_size=_BLOCK)
        trace.declare("kernel", "plain", 5, " ")
        trace.event("kernel", 0, START, 5)
        trace.new_block("kernel", 0, START + 50, (7, 0))
        trace.event("kernel", 0, START + 60, 5)
        trace.new_block("kernel", 0, START + 70, (7, 0))
        trace.new_block("kernel", 0, START + 90, (9, 2))
        trace.event("kernel", 0, START + 95, 99, b"unknown", full=True)
        yield trace


def _sizes() -> Iterator[Trace]:
    """Events whose headers say their sizes, of types of their own, and of an alignment."""
    trace = Trace(version=(2, 6), block_size=1 << 17)
    trace.declare("kernel", "text", 0, "text %s")
    trace.event("kernel", 0, START, 0, b"x" * 65_540 + b"\0", full=True)
    trace.event("kernel", 0, START + 1, 0, b"short\0")
    trace.event("kernel", 0, START + 9, 77, b"abc", full="size")
    yield trace
    trace = Trace(arch_size=8, block_size=_BLOCK)
    trace.declare("cpu", "both", 128, "n %ld")
    trace.arch_size = 4
    trace.declare("cpu", "both", 129, "n %ld")
    trace.declare("cpu", "text", 130, "text %s")
    trace.arch_size = 8
    trace.event("cpu", 0, START, 128, trace.payload(("q", -1)))
    trace.event("cpu", 0, START + 1, 129, trace.payload(("i", -2)))
    trace.event("cpu", 0, START + 2, 130, b"some\0", full=True)
    # Of another size than the format says.
    trace.event("cpu", 0, START + 3, 129, b"\1\0")
    yield trace
    for big_endian in (False, True):
        trace = Trace(version=(2, 6), alignment=8, arch_size=8, big_endian=big_endian)
        trace.declare("kernel", "aligned", 0, "text %s far #8u%llu small #1u%u next %d")
        values = ("odd", ("Q", 1 << 60), ("B", 1), ("i", -1))
        for number in range(3):
            payload = trace.payload(*values)
            trace.event("kernel", 0, START + number, 0, payload, largest=8)
        yield trace


def _damaged() -> Iterator[Files]:
    """Blocks and headers that make no sense, and files that are none of the trace's."""
    for version, members in (
        ((2, 6), {"arch_size": 3, "alignment": 3, "start_freq": 0, "minor_version": 9}),
        (
            (1, 0),
            {"arch_size": 3, "tscbits": 40, "compact_data_shift": 40, "tsc_lsb_truncate": 40},
        ),
    ):
        whole = sample(version=version, block_size=_BLOCK).build()
        layout = Version(*version).layout
        sizes = {name: size for name, _, size in layout.members}
        for member, value in members.items():
            at, held = layout.offset(member), value.to_bytes(sizes[member], "little")
            yield {name: data[:at] + held + data[at + len(held) :] for name, data in whole.items()}
        yield {name: data[:30] for name, data in whole.items()}
    # Of the second of three blocks: what it says of its data or size, its magic number, all of it.
    for options in ({"version": (2, 6)}, {"version": (2, 2)}, {}):
        trace = Trace(block_size=512, **options)
        first = 128 if trace.version == (1, 0) else 0
        trace.declare("kernel", "plain", first, "n %d")
        channel = "cpu" if trace.version == (1, 0) else "kernel"
        for block in range(3):
            if block:
                trace.new_block(channel, 0, START + 10 * block)
            for number in range(4):
                at = START + 10 * block + 1 + number
                trace.event(channel, 0, at, first, trace.payload(("i", number)))
        files = trace.build()
        data = files[f"{channel}_0"]
        size = len(data) // 3
        counted = 52 if trace.version != (1, 0) else 32
        for at, value in (
            (counted, b"\xff" * 4),
            (counted, (20).to_bytes(4, "little")),
            (counted, b"\0\0\0\x80"),
            (counted + 4, b"\4\0\0\0"),
            (16 if trace.version != (1, 0) else 40, bytes(4)),
            (0, b"\xff" * 8),
            (0, bytes(size)),
            (size - 90, b"\xf8" * 60),
        ):
            place = size + at
            changed = data[:place] + value + data[place + len(value) :]
            yield files | {f"{channel}_0": changed}
        yield files | {f"{channel}_0": data[: size + 40]}
        yield files | {f"{channel}_0": data[:size] + data[size + 9 :]}
    whole = sample(version=(2, 6)).build()
    yield whole | {
        "other_0": sample(version=(2, 5)).build()["kernel_0"],
        "kernel_99999999": whole["kernel_0"],
    }
    yield whole | {"empty_0": b"", "kernel_x": b"none", "folder/kernel_3": whole["kernel_0"]}
    yield {f"name/{name}": data for name, data in whole.items()}
    yield {"": whole["kernel_0"]}
    yield whole | {"kernel_0": b"\0" * 300}
