"""The embedded payload of a Perfetto trace: packets at its end with a field that no one else uses.

Readers skip unknown fields of a TracePacket; numbers from 2000 on are not assigned
(protos/perfetto/trace/extensions.json).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from converter.errors import TraceError
from converter.formats.embedding import Embedding
from converter.formats.perfetto.layout import EMBEDDED
from converter.storage.sink import Sink
from converter.storage.source import Source

_KEY: Final = EMBEDDED << 3 | 2
#: Field 1 of Trace, length-delimited.
_PACKET_KEY: Final = 0x0A
#: The maximum size of the keys and sizes of a packet and of the field.
_MOST_BEFORE: Final = 24


class _Frames(Embedding):
    frame_size = 1 << 20

    def frame(self, sink: Sink, data: bytes, number: int) -> bytes:
        """Return a packet."""
        field = _varint(_KEY) + _varint(len(data)) + data
        return bytes([_PACKET_KEY]) + _varint(len(field)) + field

    def frames(self, source: Source, start: int) -> Iterator[bytes]:
        """Yield the content of the field in the packets from `start` on."""
        offset = start
        while offset < source.size:
            head = source.read(offset, _MOST_BEFORE)
            at = 1
            try:
                size, at = _parsed(head, at)
                end = offset + at + size
                key, at = _parsed(head, at)
                length, at = _parsed(head, at)
            except IndexError:
                key = length = end = -1
            if head[0] != _PACKET_KEY or key != _KEY or offset + at + length != end:
                raise TraceError(
                    format="perfetto", offset=offset, expected=f"a packet of field {EMBEDDED}"
                )
            yield source.read_exactly(offset + at, length)
            offset = end


EMBEDDING: Final = _Frames()


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def _parsed(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return number, at
