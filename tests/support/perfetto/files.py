"""Small Perfetto traces made with the `perfetto` package, one feature each: NAME -> bytes."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import zstandard
from google.protobuf.descriptor_pb2 import DescriptorProto
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

BEGIN, END, INSTANT, COUNTER, STATE = 1, 2, 3, 4, 5


class File:
    """A trace being made: packets in order."""

    def __init__(self) -> None:
        self.trace = pb.Trace()

    def packet(self, ts: int | None = None, sequence: int = 0, **fields: Any) -> Any:
        """Another packet."""
        packet = self.trace.packet.add()
        if ts is not None:
            packet.timestamp = ts
        if sequence:
            packet.trusted_packet_sequence_id = sequence
        for name, item in fields.items():
            setattr(packet, name, item)
        return packet

    def event(self, ts: int, kind: int, name: str = "", uuid: int = 0, **fields: Any) -> Any:
        """A track event with its name inline; returns the TrackEvent."""
        event = self.packet(ts, 7).track_event
        event.type = kind
        if name:
            event.name = name
        if uuid:
            event.track_uuid = uuid
        for field, item in fields.items():
            setattr(event, field, item)
        return event

    def thread_track(self, uuid: int, pid: int, tid: int, name: str) -> None:
        """A thread's own track."""
        descriptor = self.packet(sequence=7).track_descriptor
        descriptor.uuid = uuid
        descriptor.thread.pid = pid
        descriptor.thread.tid = tid
        descriptor.thread.thread_name = name

    def track(self, uuid: int, name: str, parent: int = 0) -> Any:
        """A track of its own; returns the TrackDescriptor."""
        descriptor = self.packet(sequence=7).track_descriptor
        descriptor.uuid = uuid
        descriptor.name = name
        if parent:
            descriptor.parent_uuid = parent
        return descriptor

    def bundle(self, cpu: int) -> Any:
        """A bundle of kernel events."""
        bundle = self.packet(sequence=3).ftrace_events
        bundle.cpu = cpu
        return bundle

    def bytes(self) -> bytes:
        """The file."""
        return bytes(self.trace.SerializeToString())


def kernel_event(bundle: Any, ts: int, pid: int, event_name: str, /, **fields: Any) -> Any:
    """A typed kernel event."""
    event = bundle.event.add()
    event.timestamp = ts
    event.pid = pid
    message = getattr(event, event_name)
    message.SetInParent()
    for field, item in fields.items():
        if isinstance(item, list):
            getattr(message, field).extend(item)
        else:
            setattr(message, field, item)
    return event


def kernel_typed() -> bytes:
    """Typed events with all sorts of fields, absent ones, a comm that is cut inside a character, and common_flags."""
    file = File()
    bundle = file.bundle(1)
    kernel_event(
        bundle,
        100,
        5,
        "sched_switch",
        prev_comm="a",
        prev_pid=5,
        prev_prio=120,
        prev_state=-1,
        next_comm="béé",
        next_pid=6,
        next_prio=-2,
    )
    kernel_event(bundle, 110, 6, "sys_enter", id=-1, args=[1, 2**64 - 1, 3])
    kernel_event(bundle, 111, 6, "sys_enter", id=4)
    kernel_event(bundle, 120, 6, "sys_exit", id=4, ret=-14)
    kernel_event(bundle, 130, 6, "print", ip=2**63 + 5, buf="B|6|work\n")
    kernel_event(bundle, 140, 6, "irq_handler_entry", irq=7, name="timer")
    kernel_event(bundle, 150, 0, "cpu_idle", state=2**32 - 1, cpu_id=1).common_flags = 3
    kernel_event(bundle, 160, 0, "cpu_idle", state=1, cpu_id=1)
    return file.bytes()


def kernel_every_event() -> bytes:
    """Each typed event twice: once with every field set, once empty."""
    file = File()
    bundle = file.bundle(0)
    for number, field in enumerate(pb.FtraceEvent.DESCRIPTOR.fields):
        if field.message_type is None or field.name == "generic":
            continue
        full = kernel_event(bundle, 10 * number, 1, field.name)
        message = getattr(full, field.name)
        for place, inner in enumerate(message.DESCRIPTOR.fields):
            item: Any = f"text {place}" if inner.type == 9 else place + 1
            if inner.enum_type is not None:
                item = inner.enum_type.values[-1].number
            elif inner.type == 8:
                item = True
            elif inner.type == 12:
                item = b"bytes"
            if inner.is_repeated:
                getattr(message, inner.name).extend([item, item + 1])
            else:
                setattr(message, inner.name, item)
        kernel_event(bundle, 10 * number + 5, 1, field.name)
    return file.bytes()


def kernel_compact() -> bytes:
    """compact_sched beside events, on two CPUs, with lost events between."""
    file = File()
    for cpu in (0, 1, 0):
        bundle = file.bundle(cpu)
        start = 1000 * len(file.trace.packet)
        compact = bundle.compact_sched
        compact.intern_table.extend(["swapper", f"task{cpu}"])
        compact.switch_timestamp.extend([start + 10, 20, 30])
        compact.switch_prev_state.extend([0, 1, -2])
        compact.switch_next_pid.extend([40 + cpu, 0, 50])
        compact.switch_next_prio.extend([120, 120, 100])
        compact.switch_next_comm_index.extend([1, 0, 1])
        compact.waking_timestamp.extend([start + 5, 6])
        compact.waking_pid.extend([40 + cpu, 50])
        compact.waking_target_cpu.extend([cpu, 1])
        compact.waking_prio.extend([120, 100])
        compact.waking_comm_index.extend([1, 0])
        compact.waking_common_flags.extend([1, 5])
        kernel_event(bundle, start + 30, 40, "softirq_entry", vec=1)
        kernel_event(bundle, start + 35, 40, "softirq_exit", vec=1)
    return file.bytes()


def kernel_lost() -> bytes:
    """Lost events: what ran before is then unknown."""
    file = File()
    for turn in range(2):
        bundle = file.bundle(0)
        compact = bundle.compact_sched
        compact.intern_table.append("x")
        compact.switch_timestamp.append(100 + turn)
        compact.switch_prev_state.append(0)
        compact.switch_next_pid.append(9)
        compact.switch_next_prio.append(120)
        compact.switch_next_comm_index.append(0)
        if turn:
            bundle.lost_events = True
            bundle.previous_bundle_end_timestamp = 99
    return file.bytes()


def kernel_generic() -> bytes:
    """Both encodings of events without a message of their own; a descriptor behind its use."""
    file = File()
    bundle = file.bundle(2)
    for number in range(3):
        event = bundle.event.add(timestamp=number, pid=3)
        event.generic.event_name = "mine"
        event.generic.field.add(name="n", int_value=-number)
        event.generic.field.add(name="u", uint_value=2**64 - 1)
        event.generic.field.add(name="s", str_value=f"text {number}")
    bundle.event.add(timestamp=5, pid=3).generic.event_name = "bare"
    described = pb.FtraceEvent(timestamp=7, pid=4)
    # Field 65536: {1: -3, 2: 8, 3: "hi", 4: bytes}
    payload = (
        b"\x08" + b"\xfd" + b"\xff" * 8 + b"\x01" + b"\x10\x08" + b"\x1a\x02hi" + b"\x22\x01\xff"
    )
    raw = described.SerializeToString() + b"\x82\x80\x20" + bytes([len(payload)]) + payload
    bundle.event.add().ParseFromString(raw)
    declared = DescriptorProto(name="denser")
    for place, (name, kind) in enumerate((("i", 3), ("u", 4), ("s", 9), ("b", 12)), 1):
        declared.field.add(name=name, number=place, type=kind, label=1)  # type: ignore[arg-type]
    descriptor = file.bundle(1).generic_event_descriptors.add()
    descriptor.field_id = 65536
    descriptor.group_name = "test"
    descriptor.event_descriptor = declared.SerializeToString()
    return file.bytes()


def compressed() -> bytes:
    """zlib and zstd compressed packets between plain ones."""
    file = File()
    for ts, compress in ((10, None), (20, "zlib"), (30, "zstd"), (40, None)):
        inner = File()
        kernel_event(inner.bundle(0), ts, 1, "softirq_raise", vec=3)
        if compress is None:
            file.trace.MergeFrom(inner.trace)
        elif compress == "zlib":
            file.packet().compressed_packets = zlib.compress(inner.bytes())
        else:
            file.packet().zstd_compressed_packets = zstandard.compress(inner.bytes())
    return file.bytes()


def timeline() -> bytes:
    """Slices, instants, counters and states on tracks of all scopes; flows in both encodings."""
    file = File()
    process = file.packet(sequence=7).track_descriptor
    process.uuid = 1
    process.process.pid = 10
    process.process.process_name = "app"
    process.process.cmdline.extend(["/bin/app", "-x"])
    file.thread_track(2, 10, 11, "worker")
    file.track(3, "lane", 2)
    file.track(4, "nested lane", 3)
    file.track(5, "global")
    file.track(6, "of process", 1)
    counter = file.track(8, "bytes in use", 1)
    counter.counter.unit = 3
    watts = file.track(9, "power")
    watts.counter.unit_name = "mW"
    for ts, uuid in ((10, 2), (11, 3), (12, 4), (13, 5), (14, 6), (15, 1), (16, 77)):
        event = file.event(ts, BEGIN, f"work {uuid}", uuid)
        event.categories.append("cat")
        event.flow_ids.append(uuid)
    ended = file.event(30, END, uuid=2)
    ended.terminating_flow_ids.extend([2, 3])
    old = file.event(31, INSTANT, "old flows", 2)
    old.flow_ids_old.append(2**64 - 1)
    old.terminating_flow_ids_old.append(5)
    file.event(40, COUNTER, uuid=8, counter_value=-5)
    file.event(41, COUNTER, uuid=8, counter_value=2**62)
    file.event(42, COUNTER, uuid=9, double_counter_value=1.5)
    file.event(43, STATE, "running", 5)
    file.event(44, STATE, uuid=5)
    return file.bytes()


def annotations() -> bytes:
    """Debug annotations of every type, nested ones, and the same name with two types."""
    file = File()
    file.thread_track(2, 10, 11, "worker")
    event = file.event(10, BEGIN, "all", 2)
    for name, field, item in (
        ("b", "bool_value", True),
        ("u", "uint_value", 2**64 - 1),
        ("i", "int_value", -1),
        ("d", "double_value", 0.1),
        ("s", "string_value", "text"),
        ("p", "pointer_value", 0xDEAD),
        ("j", "legacy_json_value", '{"a":1}'),
    ):
        setattr(event.debug_annotations.add(name=name), field, item)
    event.debug_annotations.add(name="nothing")
    proto = event.debug_annotations.add(name="proto")
    proto.proto_type_name = ".some.Type"
    proto.proto_value = b"\x08\x01"
    for count in (2, 0, 3):
        event = file.event(20 + count, INSTANT, "nested", 2)
        outer = event.debug_annotations.add(name="dict")
        outer.dict_entries.add(name="x", int_value=count)
        inner = outer.dict_entries.add(name="list")
        for number in range(count):
            inner.array_values.add(int_value=number)
        deep = inner.array_values.add() if count == 3 else outer.dict_entries.add(name="y")
        deep.string_value = "deep"
    old = file.event(40, INSTANT, "old nested", 2).debug_annotations.add(name="n").nested_value
    old.nested_type = 1
    old.dict_keys.append("k")
    old.dict_values.add(int_value=3)
    return file.bytes()


def interned() -> bytes:
    """Interned names on two sequences, cleared and interned anew, with a default track."""
    file = File()
    file.thread_track(2, 10, 11, "worker")
    for turn in range(2):
        for sequence in (20, 21):
            packet = file.packet(100 * turn + sequence, sequence, sequence_flags=3)
            packet.trace_packet_defaults.track_event_defaults.track_uuid = 2
            data = packet.interned_data
            data.event_categories.add(iid=1, name="one")
            data.event_categories.add(iid=2, name=f"two{turn}")
            data.event_names.add(iid=1, name=f"name {sequence} {turn}")
            data.debug_annotation_names.add(iid=9, name=f"arg{turn}")
            data.debug_annotation_string_values.add(iid=3, str=b"value \xff")
            packet.track_event.type = BEGIN
            packet.track_event.name_iid = 1
            packet.track_event.category_iids.extend([1, 2])
            packet.track_event.debug_annotations.add(name_iid=9, string_value_iid=3)
            later = file.packet(100 * turn + sequence + 5, sequence, sequence_flags=2)
            later.track_event.type = END
    # No state any more: kept as a packet.
    file.packet(400, 20, sequence_flags=2, previous_packet_dropped=1).track_event.type = END
    return file.bytes()


def legacy() -> bytes:
    """LegacyEvents of every phase, with ids of all sorts."""
    file = File()
    descriptor = file.packet(sequence=7).thread_descriptor
    descriptor.pid = 10
    descriptor.tid = 11
    for number, phase in enumerate("BEXIiRbneSTpFstfNOD()P"):
        event = file.packet(1000 + number, 7).track_event
        event.name = f"phase {phase}"
        event.categories.append("legacy")
        event.legacy_event.phase = ord(phase)
        if phase == "X":
            event.legacy_event.duration_us = 12
            event.legacy_event.thread_duration_us = 3
        if phase in "bneSTpFstfNOD":
            event.legacy_event.unscoped_id = number
        if phase == "b":
            event.legacy_event.ClearField("unscoped_id")
            event.legacy_event.local_id = 2**64 - 1
            event.legacy_event.id_scope = "scope"
        if phase == "f":
            event.legacy_event.bind_to_enclosing = True
        if phase == "i":
            event.legacy_event.instant_event_scope = 1
    moved = file.packet(2000, 7).track_event
    moved.name = "elsewhere"
    moved.legacy_event.phase = ord("B")
    moved.legacy_event.pid_override = 30
    moved.legacy_event.tid_override = 31
    return file.bytes()


def extra_counters() -> bytes:
    """Counters beside slices, incremental ones and ones of another unit, with default tracks."""
    file = File()
    file.thread_track(2, 10, 11, "worker")
    for uuid, counter in (
        (3, {"type": 1, "unit_multiplier": 1000, "is_incremental": True}),
        (4, {}),
    ):
        descriptor = file.track(uuid, "", 2)
        descriptor.ClearField("name")
        descriptor.counter.SetInParent()
        for name, item in counter.items():
            setattr(descriptor.counter, name, item)
    file.track(5, "double").counter.SetInParent()
    for number in range(3):
        packet = file.packet(100 + number, 7)
        if number == 0:
            packet.sequence_flags = 1
            packet.trace_packet_defaults.track_event_defaults.extra_counter_track_uuids.extend(
                [3, 4]
            )
        event = packet.track_event
        event.type = BEGIN if number < 2 else END
        event.track_uuid = 2
        event.extra_counter_values.extend([5, 100 + number])
        if number == 1:
            event.extra_double_counter_track_uuids.append(5)
            event.extra_double_counter_values.append(2.5)
    return file.bytes()


def callstacks() -> bytes:
    """Call stacks of track events: inline, interned, without frames, unknown; weights, and ids that correlate."""
    file = File()
    file.thread_track(2, 10, 11, "worker")
    for ts, lines in ((10, (10, 42)), (12, ()), (14, (7,))):
        event = file.event(ts, BEGIN, "inline", 2)
        event.callstack.SetInParent()
        for line in lines:
            frame = event.callstack.frames.add(function_name=f"at {line}", line_number=line)
            if line > 7:
                frame.source_file = f"source{line}.cc"
    packet = file.packet(20, 7, sequence_flags=1)
    data = packet.interned_data
    for iid, name in enumerate((b"outer", b"inner"), 1):
        data.function_names.add(iid=iid, str=name)
    data.mapping_paths.add(iid=1, str=b"bin")
    data.mapping_paths.add(iid=2, str=b"program")
    data.source_paths.add(iid=1, str=b"main.c")
    data.build_ids.add(iid=1, str=b"build id")
    data.mappings.add(iid=1, path_string_ids=[1, 2], build_id=1, start=4096, end=8192)
    data.frames.add(iid=1, function_name_id=1, mapping_id=1, rel_pc=16)
    data.frames.add(
        iid=2, function_name_id=2, mapping_id=1, rel_pc=2**63, source_path_iid=1, line_number=5
    )
    data.callstacks.add(iid=1, frame_ids=[1, 2])
    data.callstacks.add(iid=2, frame_ids=[2, 2, 1])
    packet.track_event.type = BEGIN
    packet.track_event.track_uuid = 2
    packet.track_event.callstack_iid = 1
    for ts, kind, iid in ((21, END, 2), (22, INSTANT, 1), (23, INSTANT, 9)):
        event = file.event(ts, kind, "interned", 2)
        event.callstack_iid = iid
        event.callstack_weight = 0.5
        event.correlation_id = 2**64 - 1
    return file.bytes()


def clocks() -> bytes:
    """Snapshots, a sequence's own clock, an incremental one by default, and one that nothing relates."""
    file = File()
    file.thread_track(2, 10, 11, "worker")
    snapshot = file.packet(sequence=7).clock_snapshot
    for clock, ts in ((6, 1_000_000), (3, 400_000), (1, 1_700_000_000_000_000_000)):
        snapshot.clocks.add(clock_id=clock, timestamp=ts)
    snapshot.clocks.add(clock_id=64, timestamp=400, unit_multiplier_ns=1000)
    snapshot.clocks.add(clock_id=65, timestamp=400, unit_multiplier_ns=1000, is_incremental=True)
    first = file.packet(1_000_500, 7, sequence_flags=1)
    first.track_event.type = INSTANT
    first.track_event.name = "boottime"
    for name, ts, clock in (("monotonic", 400_600, 3), ("own", 500, 64)):
        file.event(ts, INSTANT, name)
        file.trace.packet[-1].timestamp_clock_id = clock
    file.packet(sequence=7).trace_packet_defaults.timestamp_clock_id = 65
    for ts in (10, 20):
        file.event(ts, INSTANT, "increment")
    file.event(77, INSTANT, "unrelated")
    file.trace.packet[-1].timestamp_clock_id = 200
    # A later snapshot, by which MONOTONIC lags by 5 more.
    snapshot = file.packet(sequence=7).clock_snapshot
    snapshot.clocks.add(clock_id=6, timestamp=2_000_000)
    snapshot.clocks.add(clock_id=3, timestamp=1_399_995)
    file.event(1_400_000, INSTANT, "later")
    file.trace.packet[-1].timestamp_clock_id = 3
    return file.bytes()


def tables() -> bytes:
    """Process tree, system, log entries, a profiler sample, and packets that nothing stands for."""
    file = File()
    info = file.packet().system_info
    info.utsname.sysname = "Linux"
    info.utsname.release = "6.1"
    info.utsname.machine = "x86_64"
    file.packet().trace_uuid.msb = 5
    kernel_event(file.bundle(0), 50, 21, "softirq_raise", vec=1)
    tree = file.packet(60).process_tree
    tree.processes.add(pid=20, ppid=1, cmdline=["/bin/b", "arg"])
    tree.threads.add(tid=21, tgid=20, name="b:worker")
    log = file.packet(70).android_log
    log.events.add(log_id=1, pid=20, tid=21, timestamp=80, tag="tag", prio=4, message="hello")
    log.events.add(log_id=1, pid=20, tid=20, timestamp=81, tag="tag", prio=5, message="again")
    file.packet(71).android_log.stats.num_total = 3
    file.packet(90, 5).battery.charge_counter_uah = 7
    file.packet().ftrace_stats.phase = 1
    sampled = file.packet(95, 9, sequence_flags=1)
    data = sampled.interned_data
    data.function_names.add(iid=1, str=b"outer")
    data.function_names.add(iid=2, str=b"inner")
    data.mapping_paths.add(iid=1, str=b"lib.so")
    data.mappings.add(iid=1, path_string_ids=[1])
    data.frames.add(iid=1, function_name_id=1, mapping_id=1, rel_pc=16)
    data.frames.add(iid=2, function_name_id=2, mapping_id=1, rel_pc=32)
    data.callstacks.add(iid=4, frame_ids=[1, 2])
    data.kernel_symbols.add(iid=7, str=b"do_work")
    sample = sampled.perf_sample
    sample.cpu, sample.pid, sample.tid, sample.callstack_iid, sample.timebase_count = (
        1,
        20,
        21,
        4,
        9,
    )
    return file.bytes()


FILES: dict[str, Callable[[], bytes]] = {
    function.__name__: function
    for function in (
        kernel_typed,
        kernel_every_event,
        kernel_compact,
        kernel_lost,
        kernel_generic,
        compressed,
        timeline,
        annotations,
        interned,
        legacy,
        extra_counters,
        callstacks,
        clocks,
        tables,
    )
}
