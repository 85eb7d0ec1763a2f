"""Packets about the trace: what its sidecar holds, and what else its clock, environment and symbols need."""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np

from converter.formats.perfetto.descriptors import decode, schema
from converter.formats.perfetto.layout import PACKET_TAG, BuiltinClock, PacketField, SequenceFlag
from converter.formats.perfetto.mapping import CLOCK_NAMES
from converter.formats.perfetto.metadata import TRACE_ATTRIBUTE
from converter.ir.trace import ClockDomain, Trace
from converter.kernels.proto_scan import split_fields

#: The packet sequence that the writer's packets are on: a number that no producer of the tracing service reaches.
SEQUENCE: Final = 0x7463_0001

#: Entries of the environment that Perfetto's importer has to know: without the machine system calls have no names,
#: without the release task states are those of Linux 4.4 (system_probes_parser.cc, task_state.cc).
UTSNAME: Final = {
    "sysname": "sysname",
    "kernel_release": "release",
    "kernel_version": "version",
    "machine": "machine",
}

#: What of a sidecar is written again, in this order; the rest of it is made anew.
_ALWAYS: Final = ("trace_uuid", "trace_config", "trace_provenance", "synchronization_marker")
_TABLES: Final = ("process_tree", "process_descriptor", "thread_descriptor", "track_descriptor")
_ABOUT: Final = ("clock_snapshot", "system_info", "trace_attributes")

_HIGHEST: Final = (1 << 63) - 1


def framed(packet: bytes) -> bytes:
    """A packet as a field of Trace."""
    size = len(packet)
    head = bytearray([PACKET_TAG])
    while size >= 0x80:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    head.append(size)
    return bytes(head) + packet


def new_packet(*, starts: bool = False) -> Any:
    """A TracePacket of the writer's sequence; the one that starts it forgets what was interned before."""
    packet = schema().TracePacket()
    packet.trusted_packet_sequence_id = SEQUENCE
    packet.sequence_flags = (
        SequenceFlag.INCREMENTAL_STATE_CLEARED if starts else SequenceFlag.NEEDS_INCREMENTAL_STATE
    )
    return packet


def sidecar_packets(trace: Trace, name: str) -> list[bytes]:
    """Packets of one sort that the trace was read with."""
    packets = trace.sidecar.get("perfetto", {}).get(name, ())
    return [packet for packet in packets if name != "track_descriptor" or _is_plain(packet)]


def _is_plain(packet: bytes) -> bool:
    """Whether the values of a described track are what they say: those of counters may be increments, or multiples."""
    descriptor = packet_message(packet, PacketField.TRACK_DESCRIPTOR, "TrackDescriptor") or {}
    counter = descriptor.get("counter", {})
    return not counter.get("is_incremental") and counter.get("unit_multiplier", 0) in (0, 1)


def head(trace: Trace) -> bytes:
    """The packets in front of all events, other than tables."""
    described = _is_described(trace)
    replayed = [*_ALWAYS, *_TABLES, *(_ABOUT if described else ())]
    parts = [framed(packet) for name in replayed for packet in sidecar_packets(trace, name)]
    starting = new_packet(starts=True)
    if not described:
        _describe(trace, starting)
    parts.append(framed(starting.SerializeToString()))
    if not described:
        parts += [framed(packet.SerializeToString()) for packet in _about(trace)]
    return b"".join(parts)


def _is_described(trace: Trace) -> bool:
    """Whether the packets that a trace was read with say all of its clock and environment."""
    if trace.format != "perfetto":
        return False
    attributes = sidecar_packets(trace, "trace_attributes")
    if any(TRACE_ATTRIBUTE.encode() in packet for packet in attributes):
        return True
    return trace.clock.name == CLOCK_NAMES[BuiltinClock.BOOTTIME]


def _describe(trace: Trace, packet: Any) -> None:
    """Name in TraceAttributes what no packet has a field for."""
    content = {
        "clock": _clock_form(trace.clock),
        "clock_domains": [_clock_form(clock) for clock in trace.clock_domains],
        "environment": trace.environment,
    }
    attribute = packet.trace_attributes.attribute.add()
    attribute.key = TRACE_ATTRIBUTE
    attribute.string_value = json.dumps(content, separators=(",", ":"))


def _clock_form(clock: ClockDomain) -> dict[str, Any]:
    rate = clock.ticks_per_second
    return {
        "name": clock.name,
        "ticks_per_second": None if rate is None else str(rate),
        "epoch_ns": clock.epoch_ns,
        "description": clock.description,
    }


def _about(trace: Trace) -> list[Any]:
    packets = []
    epoch = trace.clock.epoch_ns
    if epoch is not None and abs(epoch) <= _HIGHEST:
        packet = new_packet()
        start = max(0, -epoch)
        for clock, reading in (
            (BuiltinClock.BOOTTIME, start),
            (BuiltinClock.REALTIME, start + epoch),
        ):
            packet.clock_snapshot.clocks.add(clock_id=clock, timestamp=reading)
        packets.append(packet)
    names = {
        field: trace.environment[key]
        for key, field in UTSNAME.items()
        if isinstance(trace.environment.get(key), str)
    }
    if names:
        packet = new_packet()
        for field, name in names.items():
            setattr(
                packet.system_info.utsname, field, str(name).encode("utf-8", "replace").decode()
            )
        packets.append(packet)
    return packets


def symbols_packet(trace: Trace, addresses: list[int]) -> bytes:
    """The names of kernel functions: each address stands for itself; nothing for those without a name."""
    if trace.symbols is None:
        return b""
    column = np.array(addresses, np.uint64)
    if trace.format == "perfetto":
        # Numbers there rather than addresses: what stands between two of them has no name.
        found = [trace.symbols.lookup(address) for address in addresses]
        names = [None if one is None or one[1] else one[0] for one in found]
    else:
        names = trace.symbols.names(column)
    packet = new_packet()
    for address, name in zip(addresses, names, strict=True):
        if name is not None:
            packet.interned_data.kernel_symbols.add(iid=address, str=name)
    if not packet.interned_data.kernel_symbols:
        return b""
    return framed(packet.SerializeToString())


def packet_message(packet: bytes, field: int, message: str) -> dict[str, Any] | None:
    """One decoded message of a packet; None where it is damaged or not there."""
    data = np.frombuffer(packet, np.uint8)
    try:
        for number, wire, start, size in split_fields(data, 0, len(data)):
            if number == field and wire == 2:
                return decode(message, data, start, size)
    except ValueError:
        return None
    return None
