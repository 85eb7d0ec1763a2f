"""Perfetto packets with any of their fields, at random: what no builder of a single feature thinks of."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from support.perfetto.files import File

#: Numbers, so few that those of one packet are found in others.
_NUMBERS = (0, 1, 2, 3, 5, 64, 1000)
_TEXTS = ("", "a", "name", "é", "cat,dog", "{}", "[1", "\0b", "swapper/0", ".perfetto.protos.Trace")
#: How deep messages are in each other.
_DEPTH = 4
#: Packets that events are made of, or that say how others are read; with the share of their fields that are set.
_PACKETS: tuple[tuple[str, float], ...] = (
    *[("track_event", 0.15)] * 6,
    *[("track_descriptor", 0.5)] * 2,
    *[("interned_data", 0.6)] * 2,
    *(("trace_packet_defaults", 0.7), ("clock_snapshot", 0.9), ("process_tree", 0.8)),
    *(("thread_descriptor", 0.8), ("process_descriptor", 0.7), ("android_log", 0.8)),
    *(("perf_sample", 0.6), ("trace_attributes", 0.9), ("system_info", 0.5), ("trace_config", 0.1)),
    *(("generic_kernel_task_state_event", 0.8), ("generic_kernel_cpu_freq_event", 0.9)),
    *(("generic_kernel_task_rename_event", 0.9), ("generic_kernel_process_tree", 0.9)),
    *(("ftrace_stats", 0.3), ("extension_descriptor", 0.5), ("track_event_range_of_interest", 1.0)),
    *(("etw_events", 0.3), ("cpu_info", 0.5), ("chrome_metadata", 0.5), ("trace_uuid", 1.0)),
)


def any_packets(seed: int, count: int = 14) -> bytes:
    """A file of packets on a few sequences, which depends on the seed alone."""
    chance = random.Random(seed)
    file = File()
    for number in range(count):
        packet = file.packet(100 + 10 * number, chance.randrange(1, 4))
        packet.sequence_flags = 1 if number < 3 else chance.choice((0, 2, 2, 3))
        for name, share in chance.sample(_PACKETS, chance.choice((1, 1, 2))):
            # Few events would have a time, if most were on clocks that nothing relates.
            without = {"timestamp_clock_id"} if chance.random() < 0.9 else ()
            fill(getattr(packet, name), chance, share, without=without)
        if chance.random() < 0.1:
            packet.timestamp_clock_id = chance.choice(_NUMBERS)
        for name in ("previous_packet_dropped", "first_packet_on_sequence", "machine_id"):
            if chance.random() < 0.1:
                setattr(packet, name, 1)
        if chance.random() < 0.1:
            packet.incremental_state_cleared = chance.random() < 0.7
    return file.bytes()


def any_bundles(seed: int, count: int = 4) -> bytes:
    """Bundles of kernel events of any sort, on any clock."""
    chance = random.Random(seed)
    file = File()
    for _ in range(count):
        bundle = file.packet(sequence=chance.randrange(1, 3)).ftrace_events
        without = {"event", *(("compact_sched",) if chance.random() < 0.8 else ())}
        fill(bundle, chance, 0.2, without=without)
        bundle.cpu = chance.randrange(3)
        for ts in range(chance.randrange(5)):
            event = bundle.event.add(timestamp=100 + ts, pid=chance.choice(_NUMBERS))
            fields = [field for field in event.DESCRIPTOR.fields if field.message_type]
            message = getattr(event, chance.choice(fields).name)
            message.SetInParent()
            fill(message, chance, 0.8)
            if chance.random() < 0.2:
                event.common_flags = chance.choice(_NUMBERS)
    return file.bytes()


def fill(
    message: Any,
    chance: random.Random,
    share: float,
    depth: int = 0,
    without: Iterable[str] = (),
) -> None:
    """Set that share of a message's fields."""
    message.SetInParent()
    for field in message.DESCRIPTOR.fields:
        if field.name in without or chance.random() > share or depth == _DEPTH:
            continue
        if field.message_type is not None:
            inner = getattr(message, field.name)
            if field.is_repeated:
                for _ in range(chance.randrange(3)):
                    fill(inner.add(), chance, max(share, 0.4), depth + 1)
            else:
                fill(inner, chance, max(share, 0.4), depth + 1)
        elif field.is_repeated:
            getattr(message, field.name).extend(
                _value(field, chance) for _ in range(chance.randrange(4))
            )
        else:
            setattr(message, field.name, _value(field, chance))


def _value(field: FieldDescriptor, chance: random.Random) -> Any:
    if field.enum_type is not None:
        return chance.choice(field.enum_type.values).number
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return chance.random() < 0.7
        case FieldDescriptor.CPPTYPE_STRING:
            text = chance.choice(_TEXTS)
            return text.encode() + b"\xff" if field.type == FieldDescriptor.TYPE_BYTES else text
        case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
            return chance.choice((0.0, 1.5, -2e10, float("inf")))
        case FieldDescriptor.CPPTYPE_UINT32:
            return chance.choice((*_NUMBERS, (1 << 32) - 1))
        case FieldDescriptor.CPPTYPE_UINT64:
            return chance.choice((*_NUMBERS, *_NUMBERS, (1 << 64) - 1))
        case FieldDescriptor.CPPTYPE_INT32:
            return chance.choice((*_NUMBERS, *_NUMBERS, -1))
    return chance.choice((*_NUMBERS, *_NUMBERS, -1, -(1 << 63)))
