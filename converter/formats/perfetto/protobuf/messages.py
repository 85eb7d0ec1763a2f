"""The declarations of the `perfetto` package's messages: the output of protobuf's compiler, read without protobuf.

The package's module passes a serialized FileDescriptorProto (google/protobuf/descriptor.proto) to protobuf, which
builds classes of some 900 messages from it. Here it is read from the compiled module; messages are parsed on demand.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.protobuf.scan import split_fields

_MODULE: Final = "perfetto.protos.perfetto.trace.perfetto_trace_pb2"
_PACKAGE: Final = ".perfetto.protos."
#: FileDescriptorProto.name, its first field, of the only file, which has all messages.
_FILE_NAME: Final = b"perfetto_trace.proto"
_FILE_NAME_END: Final = 64

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
def _file() -> NDArray[np.uint8]:
    """Return the FileDescriptorProto."""
    spec = find_spec(_MODULE)
    loader = None if spec is None else spec.loader
    if loader is not None and hasattr(loader, "get_code"):
        code = loader.get_code(_MODULE)
        for constant in code.co_consts if code is not None else ():
            if isinstance(constant, bytes) and _FILE_NAME in constant[:_FILE_NAME_END]:
                return np.frombuffer(constant, np.uint8)
    # Not compiled in the usual way: protobuf always has it.
    serialized: bytes = import_module(_MODULE).DESCRIPTOR.serialized_pb
    return np.frombuffer(serialized, np.uint8)


def _text(data: NDArray[np.uint8], start: int, size: int) -> str:
    return bytes(data[start : start + size]).decode("utf-8", "surrogateescape")


@cache
def _top_level() -> dict[str, tuple[int, int]]:
    """Return the range of each top-level message in the file, in the order of the file."""
    return _named(0, len(_file()), 4)


@cache
def _enumerations() -> dict[str, tuple[int, int]]:
    """Return the range of each enumeration that is not in a message."""
    return _named(0, len(_file()), 5)


def _named(start: int, size: int, wanted: int) -> dict[str, tuple[int, int]]:
    """Return the declarations in the field `wanted` of a declaration, by name."""
    data = _file()
    found = {}
    for number, _, at, length in split_fields(data, start, size):
        if number == wanted:
            for inner, _, name, name_size in split_fields(data, at, length):
                if inner == 1:
                    found[_text(data, name, name_size)] = (at, length)
                    break
    return found


@cache
def _span(name: str, *, enumeration: bool = False) -> tuple[int, int] | None:
    """Return the range of a declaration such as "Outer.Inner"; None if there is none."""
    outer, _, inner = name.rpartition(".")
    if not outer:
        return (_enumerations() if enumeration else _top_level()).get(name)
    span = _span(outer)
    return None if span is None else _named(*span, 4 if enumeration else 3).get(inner)


@cache
def message_type(name: str) -> MessageType | None:
    """Return the declaration of a message such as "AndroidLogPacket.LogEvent"; None if the package has none."""
    span = _span(name)
    if span is None:
        return None
    data = _file()
    fields = tuple(
        parse_field(data, start, size)
        for number, _, start, size in split_fields(data, *span)
        if number == 2
    )
    return MessageType(name, fields)


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
    span = _span(name, enumeration=True)
    if span is None:
        return ()
    data = _file()
    values = []
    for field, _, start, size in split_fields(data, *span):
        if field == 2:
            text, number = "", 0
            for inner, _, value, length in split_fields(data, start, size):
                if inner == 1:
                    text = _text(data, value, length)
                elif inner == 2:
                    number = value - (1 << 64) if value >> 63 else value
            values.append((text, number))
    return tuple(values)


@cache
def message_order() -> dict[str, int]:
    """Return the position of each top-level message in the package's file: messages of a source file are adjacent."""
    return {name: position for position, name in enumerate(_top_level())}


# Encoding


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
    fields = sorted(declared.fields, key=lambda field: field.number)
    return {field.name: field for field in fields}


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
