"""Event classes and field classes as messages of schemas/ir.proto, and back."""

from __future__ import annotations

from typing import TypeVar

from converter.errors import TraceError
from converter.formats.ir import messages as pb
from converter.formats.ir.values import decoded, encoded, signed
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Label,
    Member,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.ir.invariants import class_faults
from converter.ir.kinds import Kind, Role
from converter.limits import allowed, limit

_Enumeration = TypeVar("_Enumeration", Kind, Role, Style)


def pack_class(event_class: EventClass) -> pb.EventClass:
    """Return the message for an event class."""
    return pb.EventClass(
        kind=event_class.kind,
        name=encoded(event_class.name),
        category=encoded(event_class.category),
        field=[
            pb.Field(
                name=encoded(field.name),
                type=_pack_type(field.type),
                role=field.role,
                unit=encoded(field.unit),
            )
            for field in event_class.fields
        ],
        untimed=not event_class.timed,
        native=event_class.native,
    )


def unpack_class(message: pb.EventClass) -> EventClass:
    """Return the event class of a message.

    Raises:
        TraceError: a kind, role or type that does not exist, or an invalid class.

    """
    event_class = EventClass(
        kind=_member(Kind, message.kind, "kind"),
        name=decoded(message.name),
        category=decoded(message.category),
        fields=tuple(
            Field(
                decoded(field.name),
                _unpack_type(field.type),
                _member(Role, field.role, "role"),
                decoded(field.unit),
            )
            for field in message.field
        ),
        timed=not message.untimed,
        native=message.native,
    )
    fault = next(class_faults(event_class), None)
    if fault is not None:
        raise TraceError(f"such a class cannot be: {fault}", field="event_class")
    return event_class


def _pack_type(field_class: FieldClass) -> pb.FieldClass:
    match field_class:
        case IntegerClass(bits, is_signed, style, labels, flags):
            return pb.FieldClass(
                integer=pb.IntegerClass(
                    bits=bits,
                    signed=is_signed,
                    style=style,
                    label=[
                        pb.Label(
                            low=signed(label.low), high=signed(label.high), text=encoded(label.text)
                        )
                        for label in labels
                    ],
                    flags=flags,
                )
            )
        case FloatClass(bits):
            return pb.FieldClass(float=bits)
        case BooleanClass():
            return pb.FieldClass(boolean=pb.Nothing())
        case StringClass():
            return pb.FieldClass(string=pb.Nothing())
        case BytesClass(media_type):
            return pb.FieldClass(blob=encoded(media_type))
        case NullClass():
            return pb.FieldClass(null=pb.Nothing())
        case ArrayClass(element, length):
            return pb.FieldClass(array=pb.ArrayClass(element=_pack_type(element), length=length))
        case StructureClass(members):
            return pb.FieldClass(structure=_pack_members(members))
        case VariantClass(options):
            return pb.FieldClass(variant=_pack_members(options))
        case OptionalClass(element):
            return pb.FieldClass(optional=_pack_type(element))


def _pack_members(members: tuple[Member, ...]) -> pb.Members:
    return pb.Members(
        member=[
            pb.Member(name=encoded(member.name), type=_pack_type(member.type)) for member in members
        ]
    )


def _unpack_type(message: pb.FieldClass) -> FieldClass:
    match message.WhichOneof("type"):
        case "integer":
            return _unpack_integer(message.integer)
        case "float" if message.float in (32, 64):
            return FloatClass(message.float)
        case "boolean":
            return BooleanClass()
        case "string":
            return StringClass()
        case "blob":
            return BytesClass(decoded(message.blob))
        case "null":
            return NullClass()
        case "array":
            array = message.array
            length = array.length if array.HasField("length") else None
            if length is not None and length > limit("ir.length"):
                expected = allowed("ir.length")
                raise TraceError(field="array.length", expected=expected, found=length)
            return ArrayClass(_unpack_type(array.element), length)
        case "structure":
            return StructureClass(_unpack_members(message.structure))
        case "variant" if message.variant.member:
            return VariantClass(_unpack_members(message.variant))
        case "optional":
            return OptionalClass(_unpack_type(message.optional))
        case other:
            raise TraceError(field="type", expected="a field class", found=other or "none")


def _unpack_members(message: pb.Members) -> tuple[Member, ...]:
    return tuple(
        Member(decoded(member.name), _unpack_type(member.type)) for member in message.member
    )


def _unpack_integer(message: pb.IntegerClass) -> IntegerClass:
    if not 1 <= message.bits <= 64:
        raise TraceError(field="integer.bits", expected="1 to 64", found=message.bits)
    mask = -1 if message.signed else (1 << 64) - 1
    return IntegerClass(
        message.bits,
        message.signed,
        _member(Style, message.style, "style"),
        tuple(
            Label(label.low & mask, label.high & mask, decoded(label.text))
            for label in message.label
        ),
        message.flags,
    )


def _member(enumeration: type[_Enumeration], number: int, what: str) -> _Enumeration:
    try:
        return enumeration(number)
    except ValueError:
        raise TraceError(field=what, expected="a known number", found=number) from None
