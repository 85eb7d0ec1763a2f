"""The `metadata` file of a trace: plain or in packets, in TSDL (CTF 1.8) or as a JSON text sequence (CTF 2)."""

from __future__ import annotations

import struct
from typing import Final
from uuid import UUID

from converter.errors import TraceError
from converter.formats.ctf.metadata.field_classes import ByteOrder
from converter.formats.ctf.metadata.trace_class import MINOR_VERSION, TraceClass
from converter.limits import allowed, limit

#: What metadata packets begin with (CTF 1.8.3, 7.1); their header is 37 bytes.
PACKET_MAGIC: Final = 0x75D11D57
_HEADER: Final = "I16sIIIBBBBB"
HEADER_SIZE: Final = 37
#: The smallest header of CTF2-PMETA-1.0, and the offset of its size.
_LONG_HEADER_SIZE: Final = 44
_SIZE_OFFSET: Final = 40
_RECORD_SEPARATOR: Final = b"\x1e"


def parse_metadata(data: bytes) -> TraceClass:
    """Return the classes that a `metadata` file declares.

    Raises:
        TraceError: the file is damaged, or contradicts itself; errors in its text name line and column.

    """
    if len(data) > limit("ctf.metadata"):
        raise TraceError(
            format="ctf",
            field="metadata",
            expected=allowed("ctf.metadata"),
            found=len(data),
        )
    tolerated: list[TraceError] = []
    text, byte_order = unpacked(data, tolerated)
    # Imported only when needed: few inputs have both versions.
    if text.lstrip().startswith(_RECORD_SEPARATOR) or text.lstrip()[:1] == b"{":
        from converter.formats.ctf.metadata.ctf2.parser import parse_sequence

        sequence = parse_sequence(text)
        sequence.tolerated += tolerated
        return sequence
    from converter.formats.ctf.metadata.tsdl.trace import parse_tsdl

    trace = parse_tsdl(text.decode("utf-8", "surrogateescape"), signed=byte_order is None)
    if byte_order is not None and byte_order != trace.byte_order:
        raise TraceError(
            "line 1, column 1: the packets' byte order is not the trace's",
            format="ctf",
            field="metadata",
            expected=trace.byte_order,
            found=byte_order,
        )
    trace.tolerated += tolerated
    return trace


def unpacked(data: bytes, tolerated: list[TraceError]) -> tuple[bytes, ByteOrder | None]:
    """Return the text of a `metadata` file, and the byte order of its packets (None if it has none).

    A rest that is shorter than a header is left out with a warning.

    Raises:
        TraceError: a packet is damaged.

    """
    order: ByteOrder
    if data[:4] == PACKET_MAGIC.to_bytes(4, "little"):
        order = "little"
    elif data[:4] == PACKET_MAGIC.to_bytes(4, "big"):
        order = "big"
    else:
        return data, None
    header = struct.Struct(("<" if order == "little" else ">") + _HEADER)
    parts: list[bytes] = []
    at = 0
    uuid = data[4:20]
    while at < len(data):
        if len(data) - at < HEADER_SIZE:
            error = _damaged(at, "packet header", "37 bytes", len(data) - at)
            if not parts:
                raise error
            if data[at:].strip(b"\0"):
                tolerated.append(error)
            break
        magic, own, _, content, size, compression, encryption, checksum, major, minor = (
            header.unpack_from(data, at)
        )
        if magic != PACKET_MAGIC:
            if parts and not data[at:].strip(b"\0"):
                break
            raise _damaged(at, "magic", f"{PACKET_MAGIC:#x}", f"{magic:#x}")
        if own != uuid:
            raise _damaged(at + 4, "uuid", str(UUID(bytes=uuid)), UUID(bytes=own))
        start = _header_size(data, at, order, major)
        if compression or encryption or (checksum and start == HEADER_SIZE):
            raise _damaged(at + 32, "schemes", "no compression, encryption or checksum", "some")
        if (major, minor) != (2, 0) and not (major == 1 and minor <= MINOR_VERSION):
            raise _damaged(at + 35, "version", "1.8 or 2.0", f"{major}.{minor}")
        if content % 8 or size % 8 or not start * 8 <= content <= size:
            raise _damaged(at + 24, "content_size", f"whole bytes up to {size} bits", content)
        if size // 8 > len(data) - at:
            raise _damaged(at + 28, "packet_size", f"{len(data) - at} bytes or less", size // 8)
        parts.append(data[at + start : at + content // 8])
        at += size // 8
    return b"".join(parts).rstrip(b"\0"), order


def _header_size(data: bytes, at: int, order: ByteOrder, major: int) -> int:
    """Return the size of a packet's header: CTF2-PMETA-1.0 has null characters after that of CTF 1.8, and says it."""
    if major != 2 or data[at + HEADER_SIZE : at + _SIZE_OFFSET] != bytes(
        _SIZE_OFFSET - HEADER_SIZE
    ):
        return HEADER_SIZE
    bits = int.from_bytes(data[at + _SIZE_OFFSET : at + _LONG_HEADER_SIZE], order)
    if bits % 8 or bits < 8 * _LONG_HEADER_SIZE:
        expected = f"whole bytes, at least {8 * _LONG_HEADER_SIZE} bits"
        raise _damaged(at + _SIZE_OFFSET, "header_size", expected, bits)
    return bits // 8


def packed(text: bytes, uuid: UUID | None, byte_order: ByteOrder) -> bytes:
    """Return a text of CTF 1.8 as one metadata packet."""
    header = struct.Struct(("<" if byte_order == "little" else ">") + _HEADER)
    bits = 8 * (HEADER_SIZE + len(text))
    name = b"\0" * 16 if uuid is None else uuid.bytes
    return header.pack(PACKET_MAGIC, name, 0, bits, bits, 0, 0, 0, 1, 8) + text


def _damaged(offset: int, field: str, expected: str, found: object) -> TraceError:
    return TraceError(
        "line 1, column 1: a packet of the metadata is damaged",
        format="ctf",
        offset=offset,
        field=f"metadata.{field}",
        expected=expected,
        found=found,
    )
