"""Kernel events as FtraceEvents: the message of their name, or the generic encoding with a descriptor."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from converter.errors import UnsupportedError
from converter.formats.perfetto import tracepoints
from converter.formats.perfetto.layout import FtraceField
from converter.formats.perfetto.protobuf.descriptors import ProgramField
from converter.formats.perfetto.protobuf.event_schemas import (
    EVENTS_ATTRIBUTE,
    SHAPE,
    PlacedField,
    declaration,
    flags_field,
    has_required_roles,
    place_described,
    place_typed,
)
from converter.formats.perfetto.protobuf.messages import varint
from converter.formats.perfetto.writing.instructions import (
    BYTES,
    VARINT,
    Getter,
    Steps,
    array_getter,
    as_offsets,
    elements,
    field_getter,
    tag_of,
    text_field,
    text_getter,
)
from converter.formats.perfetto.writing.kernels import emit as kernel
from converter.formats.perfetto.writing.metadata import attributes, new_packet
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
from converter.ir.trace import Trace

# google.protobuf.FieldDescriptorProto.Type of the values of generic events.
_DOUBLE, _FLOAT, _INT64, _UINT64, _STRING, _BYTES = 1, 2, 3, 4, 9, 12
#: Importers accept fields of this type without showing them; an event without any field is an error for them.
_MESSAGE = 11
_LAST_DESCRIBED: Final = 131_071


class FtraceOutput:
    """Programs of classes of kernel events; describes and declares those whose message is missing or incomplete."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._next = int(FtraceField.FIRST_DESCRIBED)
        #: By number of the event: the shape of each of its classes, by fields.
        self._shapes: dict[int, dict[tuple[Field, ...], int]] = {}
        self._declared: list[dict[str, Any]] = []

    def program(self, event_class: EventClass) -> tuple[Steps, bytes]:
        """Return the instructions of a class, and the bytes that precede its first event.

        Raises:
            UnsupportedError: no kernel event can hold the class.

        """
        point = (event_class.category, event_class.name)
        number = tracepoints.number_of_tracepoint().get(point)
        if event_class.native == tracepoints.DESCRIBED_EVENT:
            number = None
        if number is not None and tracepoints.kind_of(*point) is event_class.kind:
            placed = place_typed(event_class.fields, tracepoints.message_fields(*point))
            if _fields(placed) == event_class.fields and has_required_roles(
                event_class.kind, placed
            ):
                return self._typed(number, event_class, placed), b""
        if event_class.category == tracepoints.UNKNOWN_SYSTEM and _is_number(event_class.name):
            return self._unknown(event_class)
        if event_class.native == tracepoints.GENERIC_EVENT:
            number = int(FtraceField.GENERIC)
            return _self_contained(event_class), b""
        return self._described(event_class)

    def take_declarations(self) -> bytes:
        """Return the packet that declares the classes since the last call, where messages do not."""
        if not self._declared:
            return b""
        declared, self._declared = self._declared, []
        return new_packet(trace_attributes=attributes(EVENTS_ATTRIBUTE, declared))

    def _typed(
        self, number: int, event_class: EventClass, placed: tuple[PlacedField, ...]
    ) -> Steps:
        shapes = self._shapes.setdefault(number, {})
        shape = shapes.get(event_class.fields)
        if shape is None:
            shape = shapes[event_class.fields] = len(shapes)
            if shape or not tracepoints.is_plain(event_class):
                self._declared.append(declaration(number, shape, placed))
        steps = Steps()
        inside = _in_order(placed)
        symbols = _numbers_of_symbols(event_class)
        for item, getter in inside:
            if item.number < SHAPE:
                _add_field(steps, item.number, item.field, getter, symbol=item.number in symbols)
        if shape:
            steps.literal(varint(tag_of(SHAPE, VARINT)) + varint(shape))
        for item, getter in inside:
            if item.number > SHAPE:
                _add_field(steps, item.number, item.field, getter, sparse=True)
        message = Steps()
        message.message(number, _with_flags(event_class, steps))
        return message

    def _unknown(self, event_class: EventClass) -> tuple[Steps, bytes]:
        """Return the instructions of an event that the package does not declare: its unchanged message."""
        steps = Steps()
        getter = field_getter(len(event_class.fields) - 1)
        number = int(event_class.name)
        steps.add(kernel.TEXT, tag_of(number, BYTES), text_getter(getter))
        return _with_flags(event_class, steps), b""

    def _described(self, event_class: EventClass) -> tuple[Steps, bytes]:
        placed = place_described(event_class.fields)
        if self._next > _LAST_DESCRIBED:
            raise _unsupported(event_class, "there are more classes than numbers for them")
        if _fields(placed) != event_class.fields:
            raise _unsupported(event_class, "no generic event holds its fields")
        number = self._next
        self._next += 1
        steps = Steps()
        inside = _in_order(placed)
        for item, getter in sorted(inside, key=lambda pair: pair[0].shown_number):
            if item.text_number:
                steps.add(kernel.TEXT, tag_of(item.text_number, BYTES), self._text(item, getter))
            else:
                _add_field(steps, item.number, item.field, getter)
        for item, getter in inside:
            if item.text_number:
                _add_field(steps, item.number, item.field, getter)
        described = {
            "field_id": number,
            "group_name": event_class.category,
            "event_descriptor": _descriptor(_shown_name(event_class), placed),
        }
        head = new_packet(ftrace_events={"cpu": 0, "generic_event_descriptors": [described]})
        has_texts = any(item.text_number for item in placed)
        if has_texts or not _matches_descriptor(event_class):
            self._declared.append(declaration(number, 0, placed))
        message = Steps()
        message.message(number, _with_flags(event_class, steps))
        return message, head

    def _text(self, item: PlacedField, getter: Getter) -> Getter:
        """Return the text that importers show of a list or of bytes."""
        field_class = item.field.type
        from converter.formats.perfetto.writing.list_texts import list_texts

        return text_getter(lambda table: list_texts(getter(table), field_class, self._trace))


def _numbers_of_symbols(event_class: EventClass) -> frozenset[int]:
    """Return the fields of a message that importers resolve by `kernel_symbols`, however the source encodes them."""
    return frozenset(
        number
        for number, field in tracepoints.message_fields(event_class.category, event_class.name)
        if isinstance(field.type, IntegerClass) and field.type.style is Style.SYMBOL
    )


def _fields(placed: tuple[PlacedField, ...]) -> tuple[Field, ...]:
    return tuple(item.field for item in placed)


def _in_order(placed: tuple[PlacedField, ...]) -> list[tuple[PlacedField, Getter]]:
    """Return the fields of a message in the order of their numbers, each with its column."""
    inside = [(item, field_getter(i)) for i, item in enumerate(placed) if item.number]
    return sorted(inside, key=lambda pair: pair[0].number)


def _shown_name(event_class: EventClass) -> str:
    """Return the name of an event in importers: its own for ftrace, others with their provider as a prefix.

    Importers do not show the group. Providers of programs use the same names for different events.
    """
    of_ftrace = any(field.role is Role.CONTEXT_FLAGS for field in event_class.fields)
    category, name = event_class.category, event_class.name
    return name if of_ftrace or category in ("", "ftrace") else f"{category}:{name}"


def _descriptor(name: str, placed: tuple[PlacedField, ...]) -> bytes:
    """Return a google.protobuf.DescriptorProto of an event and its fields (google/protobuf/descriptor.proto)."""
    parts = [text_field(1, name.encode("utf-8"))]
    for item, _ in _in_order(placed):
        kind, repeated = _described_type(item.field.type)
        if item.text_number:
            parts.append(
                _field_descriptor(f"{item.field.name}.values", item.number, _MESSAGE, True)
            )
            kind, repeated = _STRING, False
        parts.append(_field_descriptor(item.field.name, item.shown_number, kind, repeated))
    return b"".join(parts)


def _field_descriptor(name: str, number: int, kind: int, repeated: bool) -> bytes:
    """Return a google.protobuf.FieldDescriptorProto as a field of the descriptor of its message."""
    field = text_field(1, name.encode("utf-8"))
    for part, value in ((3, number), (4, 3 if repeated else 1), (5, kind)):
        field += varint(tag_of(part, VARINT)) + varint(value)
    return text_field(2, field)


def _described_type(field_class: FieldClass) -> tuple[int, bool]:
    """Return the type of a generic event's field (google.protobuf.FieldDescriptorProto.Type), and True if repeated."""
    match field_class:
        case ArrayClass(element):
            return _described_type(element)[0], True
        case IntegerClass(signed=True):
            return _INT64, False
        case IntegerClass() | BooleanClass():
            return _UINT64, False
        case FloatClass(bits):
            return _DOUBLE if bits == 64 else _FLOAT, False
        case StringClass():
            return _STRING, False
    return _BYTES, False


def _matches_descriptor(event_class: EventClass) -> bool:
    """Return True if the reader derives the same class from the descriptor alone."""
    fields = [field for field in event_class.fields if field.role is not Role.CONTEXT_FLAGS]
    program = tuple(
        ProgramField(0, field.name, field.type, 0, isinstance(field.type, ArrayClass))
        for field in fields
    )
    wide = {
        IntegerClass(64),
        IntegerClass(64, signed=True),
        FloatClass(32),
        FloatClass(64),
        StringClass(),
        BytesClass(),
    }
    plain = all(field.type in wide for field in fields)
    declared = tracepoints.tracepoint_class(event_class.category, event_class.name, program)
    return plain and declared.fields == event_class.fields


def _is_number(name: str) -> bool:
    """Return True if a name is the number of a field; events without a message are named "0", which is not one."""
    digits = name.isascii() and name.isdigit() and len(name) < 10 and not name.startswith("0")
    # The writer assigns higher numbers itself.
    return digits and int(name) < FtraceField.FIRST_DESCRIBED


def _with_flags(event_class: EventClass, message: Steps) -> Steps:
    """Return the instructions of an event's message, and of its common_flags, which are stored elsewhere, if any."""
    steps = Steps()
    flags = flags_field(event_class.fields)
    if flags is not None:
        steps.flags(field_getter(event_class.fields.index(flags)))
    steps.extend(message)
    return steps


def _self_contained(event_class: EventClass) -> Steps:
    """Return the instructions of a GenericFtraceEvent: names and values (generic.proto)."""
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
    message.message(FtraceField.GENERIC, _with_flags(event_class, steps))
    return message


def _add_field(
    steps: Steps,
    number: int,
    field: Field,
    getter: Getter,
    *,
    sparse: bool = False,
    symbol: bool = False,
) -> None:
    match field.type:
        case IntegerClass(_, False, style) if symbol or style is Style.SYMBOL:
            steps.add(
                kernel.SYMBOL,
                tag_of(number, VARINT),
                array_getter(getter, np.dtype(np.uint64)),
                table=int(sparse),
            )
        case IntegerClass() | BooleanClass() | FloatClass():
            steps.scalar(number, field.type, getter, sparse=sparse)
        case StringClass() | BytesClass():
            steps.add(kernel.TEXT, tag_of(number, BYTES), text_getter(getter))
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
