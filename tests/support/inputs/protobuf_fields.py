"""Fields of protobuf, byte by byte (protobuf.dev, "Encoding"): what no library writes can be made of them, too."""

from __future__ import annotations


def varint(value: int) -> bytes:
    """A number of variable length."""
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes((*data, value))


def numeric(field: int, value: int) -> bytes:
    """A field that is a number of variable length."""
    return varint(field << 3) + varint(value)


def sized(field: int, content: bytes) -> bytes:
    """A field that has a size: a text, a message or a packed list."""
    return varint(field << 3 | 2) + varint(len(content)) + content
