"""The messages of the `perfetto` package as programs: what each field number of a message becomes as a column.

Importing the package's declarations takes some 60 ms, so it happens when the first message is decoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np

from converter.formats.perfetto.layout import FtraceField
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Label,
    StringClass,
)
from converter.kernels.proto_fields import BOOLEAN, FIXED32, FIXED64, SPAN, VARINT, ZIGZAG
from converter.kernels.proto_scan import split_fields

_MAX_DEPTH: Final = 32


@dataclass(frozen=True, slots=True)
class ScalarType:
    """How a protobuf type reads: its field class, and the kernel's way of reading it."""

    field_class: FieldClass
    way: int


_SIGNED_32 = IntegerClass(32, signed=True)
_SIGNED_64 = IntegerClass(64, signed=True)

#: By number of google.protobuf.FieldDescriptorProto.Type; groups (10) exist nowhere, messages (11) are bytes here.
SCALAR_TYPES: Final[dict[int, ScalarType]] = {
    1: ScalarType(FloatClass(64), FIXED64),
    2: ScalarType(FloatClass(32), FIXED32),
    3: ScalarType(_SIGNED_64, VARINT),
    4: ScalarType(IntegerClass(64), VARINT),
    5: ScalarType(_SIGNED_32, VARINT),
    6: ScalarType(IntegerClass(64), FIXED64),
    7: ScalarType(IntegerClass(32), FIXED32),
    8: ScalarType(BooleanClass(), BOOLEAN),
    9: ScalarType(StringClass(), SPAN),
    11: ScalarType(BytesClass(), SPAN),
    12: ScalarType(BytesClass(), SPAN),
    13: ScalarType(IntegerClass(32), VARINT),
    14: ScalarType(_SIGNED_32, VARINT),
    15: ScalarType(_SIGNED_32, FIXED32),
    16: ScalarType(_SIGNED_64, FIXED64),
    17: ScalarType(_SIGNED_32, ZIGZAG),
    18: ScalarType(_SIGNED_64, ZIGZAG),
}


@dataclass(frozen=True, slots=True)
class ProgramField:
    """One field of a message: its number on the wire, and what it becomes."""

    number: int
    name: str
    field_class: FieldClass
    way: int
    repeated: bool = False


@cache
def schema() -> Any:
    """The module of the package's messages (perfetto_trace_pb2)."""
    return import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")


@cache
def program_of(message: str) -> tuple[ProgramField, ...]:
    """The fields of a message (``"AndroidLogPacket.LogEvent"``), in the order of their declaration."""
    found = schema()
    for part in message.split("."):
        found = getattr(found, part)
    return _program(found.DESCRIPTOR)


@dataclass(frozen=True, slots=True)
class TypedEvent:
    """A typed event of FtraceEvent: the name of its field there, and of its message."""

    number: int
    field_name: str
    message: str
    fields: tuple[ProgramField, ...]


@cache
def typed_event(number: int) -> TypedEvent | None:
    """The typed event of a field number of FtraceEvent, None when the installed package has none."""
    field = schema().FtraceEvent.DESCRIPTOR.fields_by_number.get(number)
    if field is None or field.message_type is None:
        return None
    return TypedEvent(number, field.name, field.message_type.name, _program(field.message_type))


@cache
def message_order() -> dict[str, int]:
    """The place of each top-level message in the package's one file: messages of one source file stand together."""
    names = schema().DESCRIPTOR.message_types_by_name
    return {name: place for place, name in enumerate(names)}


@cache
def typed_event_numbers() -> tuple[int, ...]:
    """The field numbers of all typed events, ascending."""
    fields = schema().FtraceEvent.DESCRIPTOR.fields
    numbers = (f.number for f in fields if f.message_type is not None)
    return tuple(sorted(number for number in numbers if number != FtraceField.GENERIC))


def described_event(
    descriptor: bytes,
) -> tuple[str, tuple[ProgramField, ...]] | None:
    """Name and fields of an event that a serialized google.protobuf.DescriptorProto declares; None when damaged."""
    from google.protobuf.descriptor_pb2 import DescriptorProto
    from google.protobuf.message import DecodeError

    message = DescriptorProto()
    try:
        message.ParseFromString(descriptor)
        fields = tuple(
            ProgramField(
                field.number,
                _name(field.name),
                SCALAR_TYPES[field.type].field_class,
                SCALAR_TYPES[field.type].way,
                field.label == 3,
            )
            for field in message.field
            if field.type in SCALAR_TYPES and field.number > 0
        )
        return _name(message.name), fields
    except (DecodeError, UnicodeDecodeError, ValueError):
        return None


def _name(name: str | bytes) -> str:
    # The package gives what is not UTF-8 as bytes, or raises: that depends on how it was built.
    return name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name


def _program(descriptor: Any) -> tuple[ProgramField, ...]:
    return tuple(_program_field(field) for field in descriptor.fields)


def _program_field(field: Any) -> ProgramField:
    scalar = SCALAR_TYPES[field.type]
    field_class = scalar.field_class
    if field.enum_type is not None:
        labels = tuple(Label(v.number, v.number, v.name) for v in field.enum_type.values)
        field_class = IntegerClass(32, signed=True, labels=labels)
    if field.is_repeated:
        field_class = ArrayClass(field_class)
    return ProgramField(field.number, field.name, field_class, scalar.way, field.is_repeated)


@cache
def _decoding(message: Any) -> dict[int, tuple[str, bool, int, Any]]:
    return {f.number: (f.name, f.is_repeated, f.type, f.message_type) for f in message.fields}


def decode(message: str, data: Any, start: int, size: int) -> dict[str, Any]:
    """One message as a dictionary by field name: for metadata, not for events.

    Absent fields are absent; strings and bytes are ``bytes``, repeated fields lists, messages dictionaries. Fields
    that the package does not know are left out.

    Raises:
        ValueError: the message is damaged.

    """
    found = schema()
    for part in message.split("."):
        found = getattr(found, part)
    return _decode(found.DESCRIPTOR, data, start, size, 0)


def _decode(descriptor: Any, data: Any, start: int, size: int, depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        raise ValueError("messages nest too deep")
    result: dict[str, Any] = {}
    known = _decoding(descriptor)
    for number, wire, value, length in split_fields(data, start, size):
        entry = known.get(number)
        if entry is None:
            continue
        name, repeated, kind, inner = entry
        items: list[Any]
        if wire == 2:
            if inner is not None:
                items = [_decode(inner, data, value, length, depth + 1)]
            elif kind in (9, 12):
                items = [bytes(data[value : value + length])]
            elif repeated:
                items = _packed(kind, data, value, length)
            else:
                continue
        elif kind in (9, 11, 12):
            continue
        else:
            items = [_scalar(kind, value)]
        if repeated:
            result.setdefault(name, []).extend(items)
        else:
            result[name] = items[0]
    return result


def _packed(kind: int, data: Any, start: int, size: int) -> list[Any]:
    raw = bytes(data[start : start + size])
    scalar = SCALAR_TYPES[kind]
    if scalar.way in (FIXED64, FIXED32):
        assert isinstance(scalar.field_class, IntegerClass | FloatClass)
        width = 8 if scalar.way == FIXED64 else 4
        return list(
            np.frombuffer(raw[: len(raw) // width * width], scalar.field_class.dtype).tolist()
        )
    values = []
    value = shift = 0
    for byte in raw:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(_scalar(kind, value & 0xFFFF_FFFF_FFFF_FFFF))
            value = shift = 0
        elif shift > 63:
            raise ValueError("damaged number")
    return values


def _scalar(kind: int, value: int) -> Any:
    """A value of a varint or fixed-width field, of 64 bits as it stood, in its declared type."""
    scalar = SCALAR_TYPES[kind]
    if scalar.way == BOOLEAN:
        return value != 0
    if scalar.way == ZIGZAG:
        value = (value >> 1) ^ -(value & 1)
    field_class = scalar.field_class
    assert isinstance(field_class, IntegerClass | FloatClass)
    if isinstance(field_class, FloatClass):
        return (
            np.uint64(value).view(np.float64).item()
            if field_class.bits == 64
            else float(np.uint32(value & 0xFFFF_FFFF).view(np.float32))
        )
    value &= (1 << field_class.bits) - 1
    if field_class.signed and value >> (field_class.bits - 1):
        value -= 1 << field_class.bits
    return value
