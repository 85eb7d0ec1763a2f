"""Perfetto files that no fixture is like."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from support.fuzzing.corpus import Files
from support.fuzzing.outputs import written
from support.inputs.protobuf_fields import sized, varint
from support.perfetto import files as made
from support.perfetto.any_packets import any_bundles, any_packets
from support.perfetto.files import BEGIN, COUNTER, END, INSTANT, File, kernel_event

from converter.jobs.reading import read

_FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures"


def inputs() -> list[Files]:
    """One feature each, packets with any fields, and what only some ways of writing protobuf have."""
    builders = (
        made.kernel_typed,
        made.kernel_compact,
        made.kernel_lost,
        made.kernel_generic,
        made.compressed,
        made.timeline,
        made.annotations,
        made.interned,
        made.legacy,
        made.extra_counters,
        made.callstacks,
        made.clocks,
        made.tables,
        _packed,
        _clocks_of_bundles,
        _symbols,
        _old_times,
        _counters,
        _tracks_in_tracks,
        _annotations,
        _messages,
    )
    found = [build() for build in builders]
    found += [any_packets(seed) for seed in range(32)]
    found += [any_bundles(seed) for seed in range(12)]
    found += _damaged(made.timeline(), made.kernel_typed(), made.tables())
    # What only JSON has travels in an attribute.
    trace = read(_FIXTURES / "chrome" / "features.json")
    return [*({"": data} for data in found), written(trace, "perfetto")]


def _event(ts: int, *fields: bytes, sequence: int = 7) -> bytes:
    """A packet with a track event whose fields are given as bytes."""
    head = varint(8 << 3) + varint(ts) + varint(10 << 3) + varint(sequence)
    return sized(1, head + sized(11, b"".join(fields)))


def _packed() -> bytes:
    """Lists of numbers in one field, as newer writers may write what older ones repeat."""
    file = File()
    file.thread_track(2, 10, 11, "worker")
    file.track(3, "count", 2).counter.SetInParent()
    packet = file.packet(5, 7, sequence_flags=1)
    packet.interned_data.event_categories.add(iid=1, name="one")
    packet.interned_data.event_categories.add(iid=2, name="two")
    packet.interned_data.event_names.add(iid=1, name="named")
    begin = varint(9 << 3) + varint(BEGIN)
    track = varint(11 << 3) + varint(2)
    fixed = (5).to_bytes(8, "little") + (6).to_bytes(8, "little")
    bundle = File()
    compact = bundle.bundle(0).compact_sched
    compact.intern_table.append("x")
    return file.bytes() + b"".join(
        (
            _event(10, begin, track, sized(3, b"\1\2\7"), varint(10 << 3) + b"\1"),
            _event(11, begin, track, sized(31, b"\3"), sized(12, b"\5")),
            _event(12, begin, track, sized(47, fixed), sized(48, fixed[:8])),
            _event(13, begin, track, sized(36, b"\1\2"), sized(42, b"\3")),
            _event(14, begin, track, sized(45, b"\3"), sized(46, fixed[:8])),
            # Numbers that are cut off, and fields of another wire type.
            _event(15, begin, track, sized(3, b"\x80"), sized(47, fixed[:5]), sized(31, b"\xff")),
            _event(16, begin, sized(11, b"\2"), varint(22 << 3) + b"\1", varint(9 << 3 | 5) + fixed[:4]),
            _event(17, begin, track, sized(4, varint(1 << 3) + b"\1" + b"\xff"), sized(6, b"\xff\xff")),
            bundle.bytes(),
            # Compressed switches: as fields that are repeated, and lists of different lengths.
            sized(1, sized(1, b"\x08\0" + sized(4, sized(5, b"x") + b"\x08\x05\x08\x06\x10\1\x18\2\x20\3\x30\0"))),
            sized(1, sized(1, b"\x08\0" + sized(4, sized(1, b"\5\6\7") + sized(2, b"\0") + sized(3, b"\2\2")))),
        )
    )  # fmt: skip


def _clocks_of_bundles() -> bytes:
    file = File()
    snapshot = file.packet().clock_snapshot
    snapshot.primary_trace_clock = 3
    snapshot.clocks.add(clock_id=6, timestamp=1000)
    snapshot.clocks.add(clock_id=5, timestamp=400)
    snapshot.clocks.add(clock_id=3, timestamp=100)
    for clock in range(1, 5):
        for own in (0, 10):
            bundle = file.bundle(clock)
            bundle.ftrace_clock, bundle.ftrace_timestamp, bundle.boot_timestamp = clock, own, 500
            kernel_event(bundle, 405, 1, "softirq_raise")
    later = file.packet().clock_snapshot
    later.clocks.add(clock_id=6, timestamp=2000)
    later.clocks.add(clock_id=5, timestamp=1405)
    kernel_event(file.bundle(9), 2500, 1, "softirq_raise")
    return file.bytes()


def _symbols() -> bytes:
    """Names of functions by numbers that mean others on other sequences."""
    file = File()
    for ts, sequence, iid, flags, symbols in (
        (1, 3, 1, 1, {1: "first", 5: "fifth"}),
        (2, 4, 1, 1, {1: "other"}),
        (3, 3, 1, 0, {}),
        (5, 3, 1, 1, {1: "third"}),
        (7, 3, 2, 0, {}),
    ):
        packet = file.packet(sequence=sequence, sequence_flags=flags)
        packet.ftrace_events.cpu = 0
        kernel_event(packet.ftrace_events, ts, 1, "sched_blocked_reason", caller=iid)
        for key, name in symbols.items():
            packet.interned_data.kernel_symbols.add(iid=key, str=name.encode())
    return file.bytes()


def _old_times() -> bytes:
    """Times of events behind those before, and of their threads."""
    file = File()
    for sequence in (4, 5):
        descriptor = file.packet(sequence=sequence, sequence_flags=1).thread_descriptor
        descriptor.pid, descriptor.tid, descriptor.reference_timestamp_us = 1, sequence, 1000
        for number, (delta, thread_delta) in enumerate(((5, 2), (6, 3), (0, 0))):
            event = file.packet(sequence=sequence).track_event
            event.type = (BEGIN, END, INSTANT)[number]
            if delta:
                event.timestamp_delta_us = delta
                event.thread_time_delta_us = thread_delta
            else:
                event.timestamp_absolute_us = 2000
                event.thread_time_absolute_us = 77
                event.thread_instruction_count_absolute = 99
    snapshot = file.packet().clock_snapshot
    snapshot.clocks.add(clock_id=3, timestamp=0)
    snapshot.clocks.add(clock_id=6, timestamp=7)
    return file.bytes()


def _counters() -> bytes:
    """Counters of every sort: incremental, with a multiplier, of doubles, without a value."""
    file = File()
    file.thread_track(2, 10, 11, "worker")
    for uuid, (incremental, multiplier, kind) in enumerate(
        ((True, 0, 0), (False, 1000, 0), (True, 1000, 1), (False, 0, 2)), 10
    ):
        counter = file.track(uuid, f"c{uuid}", 2).counter
        counter.is_incremental, counter.unit_multiplier, counter.type = (
            incremental,
            multiplier,
            kind,
        )
        counter.categories.append("cat")
    for sequence in (7, 8):
        packet = file.packet(9, sequence, sequence_flags=1)
        defaults = packet.trace_packet_defaults.track_event_defaults
        defaults.track_uuid = 2
        defaults.extra_counter_track_uuids.extend([10, 12])
        defaults.extra_double_counter_track_uuids.append(11)
        for number in range(3):
            for uuid in (10, 11, 12, 13):
                event = file.packet(10 + number, sequence).track_event
                event.type, event.track_uuid = COUNTER, uuid
                if number < 2:
                    event.double_counter_value = number + 0.5
                else:
                    event.counter_value = number
            event = file.packet(20 + number, sequence).track_event
            event.type, event.name = BEGIN, "with counters"
            event.extra_counter_values.extend([1, number])
            event.extra_double_counter_values.append(0.5)
            event.counter_value = 3
        file.packet(30, sequence).track_event.type = COUNTER
    return file.bytes()


def _tracks_in_tracks() -> bytes:
    """Tracks that are in each other, that are their own ancestors, and that say whose they are."""
    file = File()
    for uuid in range(40, 80):
        file.track(uuid, f"t{uuid}", uuid - 1)
    file.track(90, "one", 91)
    file.track(91, "two", 90)
    file.track(92, "self", 92)
    for number, uuid in enumerate((79, 90, 91, 92, 40)):
        file.event(10 + number, INSTANT, "x", uuid)
    for number, text in enumerate(
        (
            "cpu 3",
            "thread 5 of 4",
            "process 4",
            "global",
            "x",
            '{"cpu":3}',
            "thread 99999999999999999999 of 1",
        )
    ):
        descriptor = file.track(100 + number, "described", 40)
        descriptor.description = text
        file.event(30 + number, BEGIN, "y", 100 + number)
    return file.bytes()


def _annotations() -> bytes:
    """Annotations by numbers of interned names, of every value, and in each other without an end."""
    file = File()
    file.thread_track(2, 10, 11, "worker")
    packet = file.packet(5, 7, sequence_flags=1)
    for table in ("debug_annotation_names", "debug_annotation_value_type_names"):
        getattr(packet.interned_data, table).add(iid=1, name="interned")
    packet.interned_data.debug_annotation_string_values.add(iid=1, str=b"text \xff")
    packet.track_event.type = INSTANT
    event = file.event(10, BEGIN, "all", 2)
    for number in range(3):
        annotation = event.debug_annotations.add(name_iid=1 + number)
        annotation.string_value_iid = 1 + number
        annotation = event.debug_annotations.add(name="proto")
        annotation.proto_type_name_iid = 1 + number
        annotation.proto_value = b"\x08\x01"
    deep = event.debug_annotations.add(name="deep")
    for _ in range(40):
        deep = deep.dict_entries.add(name="x")
    deep.int_value = 1
    event = file.event(11, INSTANT, "lists", 2)
    for values in (
        ("int_value", 1, 2),
        ("double_value", 0.5),
        ("bool_value", True, False),
        ("string_value", "a", ""),
    ):
        held = event.debug_annotations.add(name=values[0])
        for item in values[1:]:
            setattr(held.array_values.add(), str(values[0]), item)
        mixed = event.debug_annotations.add(name="mixed")
        mixed.array_values.add(int_value=1)
        setattr(mixed.array_values.add(), str(values[0]), values[1])
    event.debug_annotations.add(name="empty").array_values.add()
    event = file.event(12, INSTANT, "old", 2)
    for kind in (0, 1, 2):
        held = event.debug_annotations.add(name=f"nested {kind}").nested_value
        held.nested_type = kind
        held.dict_keys.extend(("a", "b"))
        for place in ("dict_values", "array_values"):
            inner = getattr(held, place)
            inner.add(int_value=-3)
            inner.add(double_value=0.5)
            inner.add(bool_value=True)
            inner.add(string_value="s")
            inner.add(nested_type=2).array_values.add(int_value=1)
            inner.add(nested_type=1)
    return file.bytes()


def _messages() -> bytes:
    """Events with messages of their own, log messages, and arguments that no one declares."""
    file = File()
    packet = file.packet(5, 7, sequence_flags=1)
    packet.interned_data.log_message_body.add(iid=3, body="body")
    packet.interned_data.source_locations.add(
        iid=1, file_name="f", function_name="g", line_number=3
    )
    packet.interned_data.correlation_id_str.add(iid=1, str=b"named")
    packet.track_event.type = INSTANT
    event = file.event(10, INSTANT, "x")
    event.log_message.body_iid = 3
    event.log_message.source_location_iid = 1
    event.chrome_latency_info.trace_id = 9
    event.source_location.file_name = "inline"
    event.correlation_id_str = "text"
    event = file.event(11, INSTANT, "y")
    event.correlation_id_str_iid = 1
    event.task_execution.posted_from_iid = 1
    event.source_location_iid = 1
    for number in (1, 9):
        event = file.event(12 + number, BEGIN, "z")
        event.callstack_iid = number
    return file.bytes() + _event(
        30, varint(9 << 3) + b"\3", sized(9999, b"abc"), varint(7777 << 3) + b"\1"
    )


def _damaged(*wholes: bytes) -> Iterator[bytes]:
    """What is cut off, what is damaged in the middle, and what is none."""
    for whole in wholes:
        yield from (whole[: len(whole) * part // 7] for part in range(1, 7))
        middle = len(whole) // 2
        for hole in (b"", b"\0" * 40, b"\xff" * 40):
            yield whole[:middle] + hole + whole[middle + 40 :] + whole
    yield b"\x0a\xff\xff\xff\xff\x0f" + wholes[0]
    yield b"\x0a\x00"
    yield wholes[0] + b"\x0a\x80"
