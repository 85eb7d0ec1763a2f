"""Perfetto's protobuf traces, as recorded by ui.perfetto.dev, traced, Chrome and Android."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities


def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of Perfetto traces."""
    from converter.formats.perfetto.capabilities import capabilities as declared

    return declared(variant)


def sniff(head: bytes) -> bool:
    """Return True if a file starts with a TracePacket: byte 0x0A, a length, and valid fields up to its end.

    Empty packets may precede it.
    """
    start = 0
    while head.startswith(_EMPTY_PACKET, start):
        start += len(_EMPTY_PACKET)
    if head[start : start + 1] != b"\x0a":
        return False
    length, at = _varint(head, start + 1)
    end = at + length
    if at < 0 or not 2 <= length <= 1 << 28 or (end > len(head) and len(head) < _HEAD_BYTES):
        return False
    while at < min(end, len(head)):
        tag, at = _varint(head, at)
        if at < 0:
            return end > len(head)
        if not 1 <= tag >> 3 <= _MAX_FIELD:
            return False
        match tag & 7:
            case 0:
                _, at = _varint(head, at)
                if at < 0:
                    return end > len(head)
            case 1:
                at += 8
            case 2:
                size, at = _varint(head, at)
                if at < 0:
                    return end > len(head)
                at += size
            case 5:
                at += 4
            case _:
                return False
    return at <= end


_EMPTY_PACKET = b"\x0a\x00"
#: The size of the head that `sniff` gets, unless the file is shorter.
_HEAD_BYTES = 4096
#: TracePacket has extensions up to here (trace_packet.proto).
_MAX_FIELD = 9999


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and the offset after it; -1 where it is cut off or too long."""
    value = 0
    for shift, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, at + shift + 1
    return 0, -1


FORMAT = Format(
    name="perfetto",
    title="Perfetto trace (protobuf)",
    suffixes=(".pftrace", ".perfetto-trace", ".pb"),
    spec="https://perfetto.dev/docs/reference/trace-packet-proto",
    variants=("",),
    shared=("",),
    aliases=("pftrace", "perfetto_trace", "protobuf", "proto"),
    capabilities=capabilities,
    sniff=sniff,
    replays=False,
    replays_records=True,
    embeds=True,
    reads_in_order=True,
)
