"""Packets about the trace: those in its sidecar, and those for its clock, environment and symbols."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from converter.formats.perfetto.json_sidecar import has_extension
from converter.formats.perfetto.layout import (
    PACKET_TAG,
    SEQUENCE_STATES,
    SYMBOL_DISTANCE,
    TABLE_PACKETS,
    TRACE_ATTRIBUTE,
    BuiltinClock,
    InternedField,
    PacketField,
    SequenceFlag,
)
from converter.formats.perfetto.mapping import CLOCK_NAMES
from converter.formats.perfetto.protobuf.descriptors import decode
from converter.formats.perfetto.protobuf.messages import encode, varint
from converter.formats.perfetto.protobuf.scan import split_fields
from converter.formats.perfetto.system_info import system_info_message
from converter.formats.perfetto.writing.extension import extension_packet
from converter.formats.perfetto.writing.instructions import VARINT, tag_of, text_field
from converter.ir.trace import ClockDomain, Trace

if TYPE_CHECKING:
    from converter.formats.perfetto.clocks import Clocks

#: The packet sequence of the writer's packets: a number that no producer of the tracing service reaches.
SEQUENCE: Final = 0x7463_0001
#: The sequences of samples, from here on: importers name a counter of samples after the defaults of its sequence.
SAMPLE_SEQUENCES: Final = 0x7463_1000
#: The sequence of track descriptors: in another sequence, a thread's would apply to all events that name no thread.
DESCRIPTOR_SEQUENCE: Final = 0x7463_0002

#: The parts of a sidecar that are written again, in this order; all others are generated.
_ALWAYS: Final = ("trace_uuid", "trace_config", "trace_provenance", "synchronization_marker")
_TABLES: Final = ("process_tree", "process_descriptor", "thread_descriptor", "track_descriptor")
_ABOUT: Final = ("clock_snapshot", "system_info", "trace_attributes", "extension_descriptor")

#: Fields of tables that are ids of processes and threads.
_IDS: Final = frozenset({"pid", "ppid", "tid", "tgid"})

_HIGHEST: Final = (1 << 63) - 1


def framed(packet: bytes) -> bytes:
    """Return a packet as a field of Trace."""
    return bytes([PACKET_TAG]) + varint(len(packet)) + packet


def new_packet(*, starts: bool = False, sequence: int = SEQUENCE, **content: Any) -> bytes:
    """Return a TracePacket of a sequence as a field of Trace; the one that `starts` it clears interned data.

    `content` are the packet's fields for `messages.encode`. Descriptors of tracks have their own sequence.
    """
    if "track_descriptor" in content:
        own = {"trusted_packet_sequence_id": DESCRIPTOR_SEQUENCE}
        return framed(encode("TracePacket", {**own, **content}))
    return framed(_own_fields(starts=starts, sequence=sequence, **content))


def _own_fields(*, starts: bool = False, sequence: int = SEQUENCE, **content: Any) -> bytes:
    flag = (
        SequenceFlag.INCREMENTAL_STATE_CLEARED if starts else SequenceFlag.NEEDS_INCREMENTAL_STATE
    )
    own = {"trusted_packet_sequence_id": sequence, "sequence_flags": flag}
    return encode("TracePacket", {**own, **content})


def sidecar_packets(trace: Trace, name: str) -> list[bytes]:
    """Return the source's packets of one kind."""
    packets: list[bytes] = trace.sidecar.get("perfetto", {}).get(name, [])
    return packets


#: A packet from which tables were read: its field of TracePacket, its bytes, its decoded content.
TablePacket = tuple[PacketField, bytes, dict[str, Any]]


def table_packets(trace: Trace) -> list[TablePacket]:
    """Return the packets about processes, threads and tracks that are written again.

    As they refer to each other, there are none if one has a name that is not UTF-8 or a negative id, unlike the trace's
    tables. Counters with values as increments or multiples are omitted, since the values of events are neither.
    """
    found: list[TablePacket] = []
    for name in _TABLES:
        field = PacketField[name.upper()]
        for packet in sidecar_packets(trace, name):
            content = packet_message(packet, field, TABLE_PACKETS[field]) or {}
            if not _is_clean(content):
                return []
            counter = content.get("counter", {})
            if not counter.get("is_incremental") and counter.get("unit_multiplier", 0) in (0, 1):
                found.append((field, packet, content))
    return found


def _is_clean(value: Any) -> bool:
    if isinstance(value, dict):
        ids = (item for key, item in value.items() if key in _IDS)
        return all(id >= 0 for id in ids) and all(map(_is_clean, value.values()))
    if isinstance(value, list):
        return all(map(_is_clean, value))
    if not isinstance(value, bytes):
        return True
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


#: A reading of clocks for a trace whose wall-clock time is unknown.
UNKNOWN_WALL_CLOCK: Final = {
    "clocks": [
        {"clock_id": clock, "timestamp": 0}
        for clock in (BuiltinClock.BOOTTIME, BuiltinClock.REALTIME)
    ]
}


def wall_clock_offset(trace: Trace) -> int | None:
    """Return the offset from a new trace's times to the wall clock; None if no snapshot has it."""
    epoch = trace.clock.epoch_ns
    return None if epoch is None or abs(epoch) > _HIGHEST else epoch


def sidecar_clocks(trace: Trace) -> Clocks | None:
    """Return the clocks of a trace whose own snapshots are written again; None for any other."""
    if not _is_described(trace):
        return None
    from converter.formats.perfetto.clocks import Clocks

    clocks = Clocks()
    for packet in sidecar_packets(trace, "clock_snapshot"):
        content = packet_message(packet, PacketField.CLOCK_SNAPSHOT, "ClockSnapshot")
        sequence = packet_number(packet, PacketField.TRUSTED_PACKET_SEQUENCE_ID)
        if content is not None:
            clocks.add(sequence, content)
    return clocks


def head(trace: Trace, tables: list[TablePacket]) -> bytes:
    """Return the packets before all events, including those about tables that are written again."""
    described = _is_described(trace)
    parts = [framed(packet) for name in _ALWAYS for packet in sidecar_packets(trace, name)]
    parts += [framed(packet) for _, packet, _ in tables]
    parts += [framed(packet) for packet in sidecar_packets(trace, SEQUENCE_STATES)]
    if described:
        parts += [framed(packet) for name in _ABOUT for packet in sidecar_packets(trace, name)]
    if described:
        return b"".join([*parts, new_packet(starts=True)])
    starting = new_packet(starts=True, trace_attributes=_description(trace))
    if has_extension(trace):
        parts.append(framed(extension_packet(trace)))
    return b"".join([*parts, starting, *_about(trace)])


def _is_described(trace: Trace) -> bool:
    """Return True if the source's packets fully describe the trace's clock and environment."""
    if trace.format != "perfetto":
        return False
    attributes = sidecar_packets(trace, "trace_attributes")
    if any(TRACE_ATTRIBUTE.encode() in packet for packet in attributes):
        return True
    return trace.clock.name == CLOCK_NAMES[BuiltinClock.BOOTTIME]


def _description(trace: Trace) -> dict[str, Any]:
    """Return TraceAttributes with the data for which no packet has a field."""
    content = {
        "clock": _clock_form(trace.clock),
        "clock_domains": [_clock_form(clock) for clock in trace.clock_domains],
        "environment": trace.environment,
    }
    return attributes(TRACE_ATTRIBUTE, content)


def attributes(key: str, content: Any) -> dict[str, Any]:
    """Return TraceAttributes with one attribute, as JSON."""
    value = json.dumps(content, separators=(",", ":"))
    return {"attribute": [{"key": key, "string_value": value}]}


def _clock_form(clock: ClockDomain) -> dict[str, Any]:
    rate = clock.ticks_per_second
    return {
        "name": clock.name,
        "ticks_per_second": None if rate is None else str(rate),
        "epoch_ns": clock.epoch_ns,
        "description": clock.description,
    }


def _about(trace: Trace) -> list[bytes]:
    packets = []
    epoch = wall_clock_offset(trace)
    if epoch is not None:
        start = max(0, -epoch)
        clocks = [
            {"clock_id": clock, "timestamp": reading}
            for clock, reading in (
                (BuiltinClock.BOOTTIME, start),
                (BuiltinClock.REALTIME, start + epoch),
            )
        ]
        packets.append(new_packet(clock_snapshot={"clocks": clocks}))
    system = system_info_message(trace.environment)
    if system:
        packets.append(new_packet(system_info=system))
    return packets


def symbols_packet(trace: Trace, addresses: list[int]) -> bytes:
    """Return a packet with the names of kernel functions, with addresses as iids; those without a name are omitted.

    Each also says where its function starts, so that the names of other addresses stay apart.
    """
    if trace.symbols is None:
        return b""
    found = []
    for address in addresses:
        symbol = trace.symbols.lookup(address)
        if symbol is None:
            continue
        name, distance = symbol
        text = varint(tag_of(1, VARINT)) + varint(address) + text_field(2, name)
        if distance:
            text += varint(tag_of(SYMBOL_DISTANCE, VARINT)) + varint(distance)
        found.append(text_field(InternedField.KERNEL_SYMBOLS, text))
    if not found:
        return b""
    return framed(_own_fields() + text_field(PacketField.INTERNED_DATA, b"".join(found)))


def packet_number(packet: bytes, field: int) -> int:
    """Return a number in a packet; 0 if it is damaged or missing."""
    data = np.frombuffer(packet, np.uint8)
    try:
        for number, wire, value, _ in split_fields(data, 0, len(data)):
            if number == field and wire == 0:
                return int(value)
    except ValueError:
        return 0
    return 0


def packet_message(packet: bytes, field: int, message: str) -> dict[str, Any] | None:
    """Return a decoded message of a packet; None if it is damaged or missing."""
    data = np.frombuffer(packet, np.uint8)
    try:
        for number, wire, start, size in split_fields(data, 0, len(data)):
            if number == field and wire == 2:
                return decode(message, data, start, size)
    except ValueError:
        return None
    return None
