"""The declarations of Perfetto's messages, and the encoding of messages for metadata.

`schemas/perfetto/messages.txt` has all messages and enumerations, made from the `perfetto` package when they change:
reading its 900 messages takes longer than a small conversion. They are parsed on demand.
"""

from __future__ import annotations

import pkgutil
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.protobuf.scan import split_fields

_PACKAGE: Final = ".perfetto.protos."

# google.protobuf.FieldDescriptorProto.Type.
DOUBLE, FLOAT, INT64, UINT64, INT32, FIXED64, FIXED32, BOOL, STRING = range(1, 10)
MESSAGE, BYTES, UINT32, ENUM, SFIXED32, SFIXED64, SINT32, SINT64 = range(11, 19)
_REPEATED: Final = 3
#: How types of fixed width are stored (struct module).
_LAYOUTS: Final = {
    DOUBLE: "<d",
    FLOAT: "<f",
    FIXED64: "<Q",
    FIXED32: "<I",
    SFIXED64: "<q",
    SFIXED32: "<i",
}


@dataclass(frozen=True, slots=True)
class FieldType:
    """The declaration of a field; `type_name` is that of its message or enumeration, without the package."""

    name: str
    number: int
    type: int
    repeated: bool
    type_name: str


@dataclass(frozen=True, slots=True)
class MessageType:
    """The declaration of a message: its fields in their order."""

    name: str
    fields: tuple[FieldType, ...]


@cache
def _declarations() -> str:
    """Return the text of all declarations, one a line."""
    data = pkgutil.get_data("converter.schemas", "perfetto/messages.txt")
    assert data is not None
    return data.decode("utf-8")


def _declaration(kind: str, name: str) -> list[str] | None:
    """Return the fields or values of a message or enumeration such as "Outer.Inner"; None if there is none."""
    text = _declarations()
    head = f"\n{kind} {name}\t"
    start = text.find(head)
    if start < 0:
        return None
    start += len(head)
    return text[start : text.index("\n", start)].split("\t")[:-1]


def _text(data: NDArray[np.uint8], start: int, size: int) -> str:
    return bytes(data[start : start + size]).decode("utf-8", "surrogateescape")


@cache
def message_type(name: str) -> MessageType | None:
    """Return the declaration of a message such as "AndroidLogPacket.LogEvent"; None if there is none."""
    declared = _declaration("message", name)
    if declared is None:
        return None
    fields = []
    for field in declared:
        number, field_name, kind, repeated, type_name = field.split(" ")
        type_name = "" if type_name == "-" else type_name
        fields.append(FieldType(field_name, int(number), int(kind), repeated == "1", type_name))
    return MessageType(name, tuple(fields))


def parse_field(data: NDArray[np.uint8], start: int, size: int) -> FieldType:
    """Parse a FieldDescriptorProto.

    Raises:
        ValueError: it is damaged.

    """
    name = type_name = ""
    number = label = kind = 0
    for field, wire, value, length in split_fields(data, start, size):
        match field, wire:
            case 1, 2:
                name = _text(data, value, length)
            case 3, 0:
                number = value
            case 4, 0:
                label = value
            case 5, 0:
                kind = value
            case 6, 2:
                type_name = _text(data, value, length).removeprefix(_PACKAGE)
    return FieldType(name, number, kind, label == _REPEATED, type_name)


@cache
def enumeration(name: str) -> tuple[tuple[str, int], ...]:
    """Return names and numbers of an enumeration, in their order."""
    values = [value.split(" ") for value in _declaration("enum", name) or ()]
    return tuple([(text, int(number)) for number, text in values])


@cache
def message_order() -> dict[str, int]:
    """Return the position of each top-level message in the package's file: messages of a source file are adjacent."""
    heads = [line.partition("\t")[0] for line in _declarations().split("\nmessage ")[1:]]
    top_level = [name for name in heads if "." not in name]
    return dict(zip(top_level, range(len(top_level)), strict=True))


# Encoding


@lru_cache(maxsize=1024)  # of numbers of fields and lengths, mostly
def varint(value: int) -> bytes:
    """Encode a varint; a negative number in 64 bits."""
    value &= (1 << 64) - 1
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])


@cache
def _encoding(name: str) -> dict[str, FieldType]:
    declared = message_type(name)
    if declared is None:
        raise LookupError(f"the perfetto package has no message {name}")
    fields = sorted(declared.fields, key=attrgetter("number"))
    return {field.name: field for field in fields}


def field_number(message: str, field: str) -> int:
    """Return the number of a field of a message of the package."""
    return _encoding(message)[field].number


def encode(message: str, content: Mapping[str, Any]) -> bytes:
    """Encode a message of the package: for metadata, not for events.

    Args:
        message: its name, "TracePacket".
        content: values by the names of its fields, which are written in order of their numbers: numbers, text, bytes,
            mappings for messages (or their encoded bytes), and lists of these for repeated fields.

    Raises:
        LookupError: the package has no such message or field.

    """
    fields = _encoding(message)
    if not content.keys() <= fields.keys():
        raise LookupError(f"{message} has no field {next(iter(content.keys() - fields.keys()))!r}")
    parts = []
    for name, field in fields.items():
        if name in content:
            values = content[name] if field.repeated else (content[name],)
            parts += [_encode_field(field, value) for value in values]
    return b"".join(parts)


def _encode_field(field: FieldType, value: Any) -> bytes:
    layout = _LAYOUTS.get(field.type)
    if layout is not None:
        packed = struct.pack(layout, value)
        return varint(field.number << 3 | (1 if len(packed) == 8 else 5)) + packed
    match field.type:
        case _ if field.type == MESSAGE:
            data = value if isinstance(value, bytes) else encode(field.type_name, value)
        case _ if field.type == STRING:
            data = value.encode("utf-8") if isinstance(value, str) else value
        case _ if field.type == BYTES:
            data = value
        case _ if field.type in (SINT32, SINT64):
            return varint(field.number << 3) + varint(value << 1 ^ value >> 63)
        case _:
            return varint(field.number << 3) + varint(int(value))
    return varint(field.number << 3 | 2) + varint(len(data)) + data
