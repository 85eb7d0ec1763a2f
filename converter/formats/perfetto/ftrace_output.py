"""Kernel events as FtraceEvents: the message of their name, or the generic encoding with a descriptor."""

from __future__ import annotations

from typing import Any, Final

from converter.errors import UnsupportedError
from converter.formats.perfetto import tracepoints
from converter.formats.perfetto.descriptors import TypedEvent, typed_event
from converter.formats.perfetto.layout import FtraceField
from converter.formats.perfetto.metadata_output import framed, new_packet
from converter.formats.perfetto.steps import (
    BYTES,
    VARINT,
    Getter,
    Steps,
    as_array,
    as_offsets,
    as_text,
    elements,
    field_getter,
    tag_of,
    text_field,
)
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    StringClass,
    Style,
)
from converter.ir.kinds import Role
from converter.kernels import proto_emit as kernel

#: The message of a typed event of a lower number stands in front of common_flags.
_FLAGS: Final = FtraceField.COMMON_FLAGS
#: google.protobuf.FieldDescriptorProto.Type of what a described field can be.
_TYPES: Final[dict[FieldClass, int]] = {
    IntegerClass(64, signed=True): 3,
    IntegerClass(64): 4,
    IntegerClass(32, signed=True): 5,
    IntegerClass(32): 13,
    FloatClass(64): 1,
    FloatClass(32): 2,
    BooleanClass(): 8,
    StringClass(): 9,
    BytesClass(): 12,
}
_LAST_DESCRIBED: Final = 131_071


class FtraceOutput:
    """Programs of classes of kernel events; numbers those that are described."""

    def __init__(self) -> None:
        self._next = int(FtraceField.FIRST_DESCRIBED)

    def program(self, event_class: EventClass) -> tuple[int, Steps, bytes]:
        """The field number of a class's message in FtraceEvent, its steps, and what goes in front of the first event.

        Raises:
            UnsupportedError: no kernel event holds the class.

        """
        number = tracepoints.number_of_tracepoint().get((event_class.category, event_class.name))
        typed = None if number is None else typed_event(number)
        if typed is not None and number is not None and _is_of(event_class, typed):
            return number, _framed_by_flags(number, event_class, _typed(event_class, typed)), b""
        if event_class.category == tracepoints.UNKNOWN_SYSTEM and _is_number(event_class.name):
            return self._unknown(event_class)
        if event_class.native == tracepoints.GENERIC_EVENT:
            number = int(FtraceField.GENERIC)
            return number, _framed_by_flags(number, event_class, _self_contained(event_class)), b""
        return self._described(event_class)

    def _unknown(self, event_class: EventClass) -> tuple[int, Steps, bytes]:
        """An event that the package does not declare either: its message as it was."""
        steps = Steps()
        getter = field_getter(len(event_class.fields) - 1)
        number = int(event_class.name)
        steps.add(kernel.TEXT, tag_of(number, BYTES), lambda table: as_text(getter(table)))
        return number, _framed_by_flags(number, event_class, steps), b""

    def _described(self, event_class: EventClass) -> tuple[int, Steps, bytes]:
        from google.protobuf.descriptor_pb2 import DescriptorProto

        if self._next > _LAST_DESCRIBED:
            raise _unsupported(event_class, "there are more classes than numbers for them")
        number = self._next
        self._next += 1
        descriptor = DescriptorProto(name=event_class.name)
        steps = Steps()
        place = 0
        for index, field in enumerate(event_class.fields):
            if field.role is Role.CONTEXT_FLAGS:
                continue
            place += 1
            plain = field.type
            if isinstance(plain, IntegerClass):
                plain = IntegerClass(plain.bits, plain.signed)
            kind = _TYPES.get(plain)
            if kind is None:
                raise _unsupported(event_class, f"no generic event holds field {field.name!r}")
            # LABEL_OPTIONAL.
            descriptor.field.add(name=field.name, number=place, type=kind, label=1)
            _add_field(steps, place, field, field_getter(index))
        packet = new_packet()
        packet.ftrace_events.cpu = 0
        described = packet.ftrace_events.generic_event_descriptors.add()
        described.field_id = number
        described.group_name = event_class.category
        described.event_descriptor = descriptor.SerializeToString()
        message = Steps()
        message.message(number, steps)
        head = framed(packet.SerializeToString())
        return number, _framed_by_flags(number, event_class, message), head


def _is_of(event_class: EventClass, typed: TypedEvent) -> bool:
    declared = tracepoints.tracepoint_class(event_class.category, event_class.name, typed.fields)
    return event_class.fields == declared.fields


def _typed(event_class: EventClass, typed: TypedEvent) -> Steps:
    steps = Steps()
    for item, index in sorted(
        zip(typed.fields, range(1, len(event_class.fields)), strict=True),
        key=lambda pair: pair[0].number,
    ):
        _add_field(steps, item.number, event_class.fields[index], field_getter(index))
    message = Steps()
    message.message(typed.number, steps)
    return message


def _is_number(name: str) -> bool:
    """Whether it is the number of a field; events without a message are called "0", which is none."""
    digits = name.isascii() and name.isdigit() and len(name) < 10 and not name.startswith("0")
    return digits and int(name) < 1 << 29


def _framed_by_flags(number: int, event_class: EventClass, message: Steps) -> Steps:
    """The event's message and, in order of their numbers, common_flags where there are any."""
    steps = Steps()
    index = event_class.index_of(Role.CONTEXT_FLAGS)
    if number < _FLAGS:
        steps.extend(message)
    if index is not None:
        flags = event_class.fields[index].type
        steps.scalar(_FLAGS, flags, field_getter(index), sparse=True)
    if number > _FLAGS:
        steps.extend(message)
    return steps


def _self_contained(event_class: EventClass) -> Steps:
    """GenericFtraceEvent: names and values (generic.proto)."""
    steps = Steps()
    steps.literal(text_field(1, event_class.name.encode("utf-8", "surrogateescape")))
    for index, field in enumerate(event_class.fields):
        if field.role is Role.CONTEXT_FLAGS:
            continue
        inner = Steps()
        inner.literal(text_field(1, field.name.encode("utf-8", "surrogateescape")))
        number = 5
        if isinstance(field.type, StringClass):
            number = 3
        elif isinstance(field.type, IntegerClass) and field.type.signed:
            number = 4
        _add_field(inner, number, field, field_getter(index))
        steps.message(2, inner)
    message = Steps()
    message.message(FtraceField.GENERIC, steps)
    return message


def _add_field(steps: Steps, number: int, field: Field, getter: Getter) -> None:
    match field.type:
        case IntegerClass(64, False, Style.SYMBOL):
            dtype = field.type.dtype
            steps.add(
                kernel.SYMBOL,
                tag_of(number, VARINT),
                lambda table: as_array(getter(table), dtype),
            )
        case IntegerClass() | BooleanClass() | FloatClass():
            steps.scalar(number, field.type, getter)
        case StringClass() | BytesClass():
            steps.add(kernel.TEXT, tag_of(number, BYTES), lambda table: as_text(getter(table)))
        case ArrayClass(element):
            inner = Steps()
            _add_field(inner, number, Field("", element), elements(getter))
            steps.enclosing(kernel.EACH, inner, lambda table: as_offsets(getter(table)))
        case _:
            raise UnsupportedError(
                f"no kernel event holds field {field.name!r}", format="perfetto", field=field.name
            )


def _unsupported(event_class: EventClass, message: str) -> UnsupportedError:
    found: Any = f"{event_class.category}:{event_class.name}"
    return UnsupportedError(message, format="perfetto", found=found)
