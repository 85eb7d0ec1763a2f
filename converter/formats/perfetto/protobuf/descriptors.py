"""The messages of the `perfetto` package as programs: the column of each field number of a message."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from converter.formats.perfetto.layout import FtraceField
from converter.formats.perfetto.protobuf.messages import (
    BYTES,
    ENUM,
    MESSAGE,
    STRING,
    FieldType,
    enumeration,
    message_type,
    parse_field,
)
from converter.formats.perfetto.protobuf.scan import split_fields
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
from converter.kernels.protobuf.decode import (
    BOOLEAN,
    FIXED32,
    FIXED64,
    SPAN,
    VARINT,
    ZIGZAG,
)
from converter.limits import limit

_MAX_NUMBER: Final = 1 << 29


@dataclass(frozen=True, slots=True)
class ScalarType:
    """The decoding of a protobuf type: its field class, and the kernel's operation."""

    field_class: FieldClass
    way: int


_SIGNED_32 = IntegerClass(32, signed=True)
_SIGNED_64 = IntegerClass(64, signed=True)

#: By number of google.protobuf.FieldDescriptorProto.Type; groups (10) do not occur, messages (11) are bytes here.
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
    """A field of a message: its number on the wire, and its decoding."""

    number: int
    name: str
    field_class: FieldClass
    way: int
    repeated: bool = False


@cache
def program_of(message: str) -> tuple[ProgramField, ...]:
    """Return the fields of a message (``"AndroidLogPacket.LogEvent"``), in the order of their declaration.

    Raises:
        LookupError: the package has no such message.

    """
    return tuple(map(_program_field, _fields_by_number(message).values()))


@cache
def field_name(message: str, number: int) -> str:
    """Return the name of a message's field by its number; the number if the package has no such field."""
    field = _fields_by_number(message).get(number)
    return str(number) if field is None else field.name


@dataclass(frozen=True, slots=True)
class TypedEvent:
    """A typed event of FtraceEvent: the name of its field, and of its message."""

    number: int
    field_name: str
    message: str

    @property
    def fields(self) -> tuple[ProgramField, ...]:
        """The fields of its message."""
        return program_of(self.message)


@cache
def typed_event(number: int) -> TypedEvent | None:
    """Return the typed event of a field number of FtraceEvent, None if the installed package has none."""
    field = _fields_by_number("FtraceEvent").get(number)
    if field is None or field.type != MESSAGE:
        return None
    return TypedEvent(number, field.name, field.type_name)


def typed_events_by_name() -> dict[str, TypedEvent]:
    """Return all typed events by the names of their fields in FtraceEvent."""
    return {
        field.name: TypedEvent(number, field.name, field.type_name)
        for number, field in _fields_by_number("FtraceEvent").items()
        if field.type == MESSAGE and number != FtraceField.GENERIC
    }


@cache
def _fields_by_number(message: str) -> dict[int, FieldType]:
    declared = message_type(message)
    if declared is None:
        raise LookupError(f"the perfetto package has no message {message}")
    return {field.number: field for field in declared.fields}


def described_event(
    descriptor: bytes,
) -> tuple[str, tuple[ProgramField, ...]] | None:
    """Return name and fields of an event from a serialized google.protobuf.DescriptorProto; None if it is damaged."""
    data = np.frombuffer(descriptor, np.uint8)
    name = ""
    fields = []
    try:
        for number, wire, start, size in split_fields(data, 0, len(data)):
            if number == 1 and wire == 2:
                name = descriptor[start : start + size].decode("utf-8", "surrogateescape")
            elif number == 2 and wire == 2:
                field = parse_field(data, start, size)
                if field.type in SCALAR_TYPES and 0 < field.number < _MAX_NUMBER:
                    scalar = SCALAR_TYPES[field.type]
                    fields.append(
                        ProgramField(
                            field.number,
                            field.name,
                            scalar.field_class,
                            scalar.way,
                            field.repeated,
                        )
                    )
    except ValueError:
        return None
    return name, tuple(fields)


def _program_field(field: FieldType) -> ProgramField:
    scalar = SCALAR_TYPES[field.type]
    field_class = scalar.field_class
    if field.type == ENUM:
        labels = tuple(Label(number, number, name) for name, number in enumeration(field.type_name))
        field_class = IntegerClass(32, signed=True, labels=labels)
    if field.repeated:
        field_class = ArrayClass(field_class)
    return ProgramField(field.number, field.name, field_class, scalar.way, field.repeated)


def decode(message: str, data: Any, start: int, size: int) -> dict[str, Any]:
    """Decode a message to a dictionary by field name: for metadata, not for events.

    Absent fields are absent; strings and bytes are ``bytes``, repeated fields lists, messages dictionaries. Fields
    that are unknown to the package are omitted.

    Raises:
        ValueError: the message is damaged.
        LookupError: the package has no such message.

    """
    return _decode(message, data, start, size, 0)


def _decode(message: str, data: Any, start: int, size: int, depth: int) -> dict[str, Any]:
    if depth > limit("perfetto.nesting"):
        raise ValueError("messages nest too deep")
    result: dict[str, Any] = {}
    known = _fields_by_number(message)
    for number, wire, value, length in split_fields(data, start, size):
        field = known.get(number)
        if field is None:
            continue
        kind, repeated = field.type, field.repeated
        items: list[Any]
        if wire == 2:
            if kind == MESSAGE:
                items = [_decode(field.type_name, data, value, length, depth + 1)]
            elif kind in (STRING, BYTES):
                items = [bytes(data[value : value + length])]
            elif repeated:
                items = _packed(kind, data, value, length)
            else:
                continue
        elif kind in (STRING, MESSAGE, BYTES):
            continue
        else:
            items = [scalar_value(kind, value)]
        if repeated:
            result.setdefault(field.name, []).extend(items)
        else:
            result[field.name] = items[0]
    return result


def _packed(kind: int, data: Any, start: int, size: int) -> list[Any]:
    raw = bytes(data[start : start + size])
    scalar = SCALAR_TYPES[kind]
    if scalar.way in (FIXED64, FIXED32):
        assert isinstance(scalar.field_class, IntegerClass | FloatClass)
        width = 8 if scalar.way == FIXED64 else 4
        stored = scalar.field_class.dtype.newbyteorder("<")
        return list(np.frombuffer(raw[: len(raw) // width * width], stored).tolist())
    values = []
    value = shift = 0
    for byte in raw:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            values.append(scalar_value(kind, value & 0xFFFF_FFFF_FFFF_FFFF))
            value = shift = 0
        elif shift > 63:
            raise ValueError("damaged number")
    return values


def scalar_value(kind: int, value: int) -> Any:
    """Convert the 64-bit value of a varint or fixed-width field to its declared type."""
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
