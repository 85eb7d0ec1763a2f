"""The source's declarations of kernel events, where Perfetto's messages say less: fields in order, types and roles.

A message of the package has its own fields, with numbers as wide as protobuf's; a recording's kernel may have others.
A field is stored in the message's field if that can hold it; any other is appended under a number that no message has
(importers skip it). A trace attribute maps fields to numbers, so that the event is read back as it was declared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from converter.formats.perfetto.protobuf.descriptors import ProgramField
from converter.ir.display.text import is_unicode
from converter.ir.events import Field
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
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role
from converter.kernels.protobuf.decode import BOOLEAN, FIXED32, FIXED64, SPAN, VARINT
from converter.projection.domain.linux_tracepoints import TEXT_ROLES
from converter.projection.engine.types import converts

#: The trace attribute with declarations, as JSON: a list of {"event": field number in FtraceEvent, "shape": which of
#: the event's declarations, "fields": [[name, number, type, role], ...]}. It is alone in its packet.
EVENTS_ATTRIBUTE: Final = "traceconv.events"
#: Numbers in the message of an event: fields that the message does not have, and the number of the event's
#: declaration (0 is implied).
FIRST_EXTRA: Final = 1000
SHAPE: Final = 999
#: Represents common_flags, a number of 32 bits that is not in the message (`layout.EVENT_NOTES`).
COMMON_FLAGS: Final = 0

#: The highest number of fields of generic events: higher ones are refused (generic_ftrace_pool.cc).
MAX_DESCRIBED: Final = 31

_MAX_FIELDS: Final = 4096
_MAX_LENGTH: Final = 1 << 16
_MAX_NUMBER: Final = 1 << 29

_TEXT_ROLES: Final = TEXT_ROLES | {Role.CATEGORY, Role.SCOPE}
_ANY_TYPE: Final = frozenset({Role.NONE, Role.CONTEXT})
_INTEGER: Final = re.compile(r"([iu])(8|16|32|64)(?: ([a-z_]+))?")
_ARRAY: Final = re.compile(r"(.*)\[(\d{0,5})\]")


@dataclass(frozen=True, slots=True)
class PlacedField:
    """A field of a class of kernel events, and its number in the event's message (`COMMON_FLAGS`: not in it).

    A field that importers cannot show has an additional text, under another number (0: it has none).
    """

    field: Field
    number: int
    text_number: int = 0

    @property
    def shown_number(self) -> int:
        """The number of the field that importers show."""
        return self.text_number or self.number

    @property
    def program_field(self) -> ProgramField:
        """The decoding of the field."""
        field_class = self.field.type
        repeated = isinstance(field_class, ArrayClass)
        scalar = field_class.element if isinstance(field_class, ArrayClass) else field_class
        match scalar:
            case BooleanClass():
                way = BOOLEAN
            case FloatClass(bits):
                way = FIXED64 if bits == 64 else FIXED32
            case IntegerClass():
                way = VARINT
            case _:
                way = SPAN
        return ProgramField(self.number, self.field.name, field_class, way, repeated)


# Types


def type_text(field_class: FieldClass) -> str | None:
    """Return a type's name in declarations ("u8", "u64 pointer", "string", "u64[6]"); None if it has none."""
    match field_class:
        case IntegerClass(8 | 16 | 32 | 64 as bits, signed, style, (), False):
            text = f"{'i' if signed else 'u'}{bits}"
            return text if style is Style.DECIMAL else f"{text} {style.name.lower()}"
        case BooleanClass():
            return "bool"
        case FloatClass(bits):
            return f"f{bits}"
        case StringClass():
            return "string"
        case BytesClass() if field_class == BytesClass():
            return "bytes"
        case ArrayClass(element, length) if not isinstance(element, ArrayClass | FloatClass):
            text_of = type_text(element)
            if text_of is not None and (length is None or length < _MAX_LENGTH):
                return f"{text_of}[{'' if length is None else length}]"
    return None


_PLAIN_TYPES: Final[dict[str, FieldClass]] = {
    "bool": BooleanClass(),
    "f32": FloatClass(32),
    "f64": FloatClass(64),
    "string": StringClass(),
    "bytes": BytesClass(),
}


def parse_type(text: str) -> FieldClass:
    """Parse a type's name in declarations.

    Raises:
        ValueError: it is not the name of a type.

    """
    plain = _PLAIN_TYPES.get(text)
    if plain is not None:
        return plain
    array = _ARRAY.fullmatch(text)
    if array is not None:
        element = parse_type(array[1])
        if not isinstance(element, ArrayClass | FloatClass):
            return ArrayClass(element, int(array[2]) if array[2] else None)
    integer = _INTEGER.fullmatch(text)
    if integer is None:
        raise ValueError(f"no type {text!r}")
    style = Style[(integer[3] or "decimal").upper()] if _is_style(integer[3]) else None
    if style is None:
        raise ValueError(f"no type {text!r}")
    return IntegerClass(int(integer[2]), integer[1] == "i", style)


def _is_style(name: str | None) -> bool:
    return name is None or name.upper() in Style.__members__


def _declarable(field_class: FieldClass) -> FieldClass:
    """Return the type without details that declarations omit: labels, odd numbers of bits, media types."""
    match field_class:
        case IntegerClass(bits, signed, style):
            return IntegerClass(min(64, max(8, 1 << (bits - 1).bit_length())), signed, style)
        case BytesClass():
            return BytesClass()
        case ArrayClass(element, length):
            return ArrayClass(_declarable(element), length)
    return field_class


def _suits(role: Role, field_class: FieldClass) -> bool:
    """Return True if code that reads fields by role can read one of this type."""
    if role in _ANY_TYPE:
        return True
    if role in _TEXT_ROLES:
        return isinstance(field_class, StringClass)
    if role is Role.SYSCALL_ARGUMENTS:
        return isinstance(field_class, ArrayClass) and isinstance(field_class.element, IntegerClass)
    return isinstance(field_class, IntegerClass)


# Placing fields


def is_flags(field: Field) -> bool:
    """Return True if a field is the one in FtraceEvent.common_flags."""
    return field.role is Role.CONTEXT_FLAGS and (
        isinstance(field.type, IntegerClass) and not field.type.signed and field.type.bits <= 32
    )


def flags_field(fields: Iterable[Field]) -> Field | None:
    """Return the first field that is the one in FtraceEvent.common_flags; None if there is none."""
    for field in fields:
        if field.role is Role.CONTEXT_FLAGS and is_flags(field):
            return field
    return None


def distinct(fields: Iterable[Field]) -> list[Field]:
    """Remove fields that cannot be distinguished from an earlier one: same role, or no role and the same name."""
    seen: set[Role | str] = set()
    result = []
    for field in fields:
        key = field.name if field.role is Role.NONE else field.role
        if key not in seen:
            seen.add(key)
            result.append(field)
    return result


def place_typed(
    fields: Sequence[Field], message: Sequence[tuple[int, Field]]
) -> tuple[PlacedField, ...]:
    """Place the fields of a class in a typed event: those that it can hold, in types that it can hold.

    Args:
        fields: the fields of the class.
        message: number and declaration of each field of the message.

    Returns:
        The fields that are held, in their order.

    """
    if len(fields) == len(message) + 1 and is_flags(fields[0]):
        # As in the message, including labels.
        plain = [PlacedField(field, number) for number, field in message]
        if [item.field for item in plain] == list(fields[1:]):
            return (PlacedField(fields[0], COMMON_FLAGS), *plain)
    of_role: dict[Role, tuple[int, Field]] = {
        field.role: (number, field) for number, field in message if field.role is not Role.NONE
    }
    roles = {field.role for field in fields} - {Role.NONE}
    of_name = {field.name: (number, field) for number, field in message if field.role not in roles}
    taken: set[int] = set()
    extra = FIRST_EXTRA
    placed = []
    flags = flags_field(fields)
    for field in distinct(fields):
        if not is_unicode(field.name):
            continue
        if field is flags:
            placed.append(PlacedField(_plain(field), COMMON_FLAGS))
            continue
        wanted = _plain(field)
        found = of_role.get(field.role) or of_name.get(field.name)
        if found is not None and found[0] not in taken:
            number, declared = found
            if not _same_on_wire(wanted.type, declared.type):
                if field.role is not declared.role or not converts(field.type, declared.type):
                    number = 0
                wanted = replace(wanted, type=declared.type) if number else wanted
            if number and _suits(field.role, wanted.type):
                taken.add(number)
                placed.append(PlacedField(wanted, number))
                continue
        if type_text(wanted.type) is not None and _suits(field.role, wanted.type):
            placed.append(PlacedField(wanted, extra))
            extra += 1
    return tuple(placed)


def place_described(fields: Sequence[Field]) -> tuple[PlacedField, ...]:
    """Place the fields of a class in a generic event: numbered in their order, as far as there are numbers.

    Lists and bytes have an additional text for importers, as far as there are numbers for these.
    """
    kept = [(field, _plain(field)) for field in fields if is_unicode(field.name)]
    kept = [(field, wanted) for field, wanted in kept if _suits(field.role, wanted.type)]
    flags = flags_field(fields)
    needed = sum(field is not flags and _is_describable(plain.type) for field, plain in kept)
    #: The numbers that remain for texts.
    left = MAX_DESCRIBED - needed
    placed = []
    number = 0
    for field, wanted in kept:
        if field is flags:
            placed.append(PlacedField(wanted, COMMON_FLAGS))
        elif number < MAX_DESCRIBED and _is_describable(wanted.type):
            number += 1
            if has_text(wanted.type) and left > 0:
                placed.append(PlacedField(wanted, number, number + 1))
                number += 1
                left -= 1
            else:
                placed.append(PlacedField(wanted, number))
    return tuple(placed)


def has_text(field_class: FieldClass) -> bool:
    """Return True if importers need a text to show the values: of a list they show one element, bytes as a text."""
    return isinstance(field_class, ArrayClass | BytesClass)


def _plain(field: Field) -> Field:
    return Field(field.name, _declarable(field.type), field.role)


def _is_describable(field_class: FieldClass) -> bool:
    """Return True if generic events can have the type: numbers, strings, bytes, and lists of all but fractions."""
    return type_text(field_class) is not None


def fits_list(field: Field) -> bool:
    """Return False if a field is an array that generic events cannot hold as one."""
    return not isinstance(field.type, ArrayClass) or _is_describable(_declarable(field.type))


def _same_on_wire(one: FieldClass, other: FieldClass) -> bool:
    """Return True if values of the first type fit unchanged into a field of the second."""
    match one, other:
        case (IntegerClass() | BooleanClass(), IntegerClass()):
            return True
        case (StringClass(), StringClass()) | (BytesClass(), BytesClass()):
            return True
        case (ArrayClass(element), ArrayClass(wanted)):
            return type_text(one) is not None and _same_on_wire(element, wanted)
    return False


# The attribute


def declaration(event: int, shape: int, placed: Sequence[PlacedField]) -> dict[str, Any]:
    """Return a declaration as JSON."""
    fields = []
    for item in placed:
        form: list[Any] = [item.field.name, item.number, type_text(item.field.type)]
        if item.field.role is not Role.NONE:
            form.append(item.field.role.name.lower())
        fields.append(form)
    return {"event": event, "shape": shape, "fields": fields}


#: Declarations by the event's field number in FtraceEvent and the number of the shape.
Declarations = dict[int, dict[int, tuple[PlacedField, ...]]]


def parse_declarations(text: bytes) -> Declarations:
    """Parse the declarations of an attribute.

    Raises:
        ValueError: it is damaged.

    """
    result: Declarations = {}
    try:
        for form in json.loads(text):
            event, shape = form["event"], form["shape"]
            placed = tuple(_placed(*item) for item in form["fields"])
            if not _is_number(event) or not _is_number(shape) or len(placed) > _MAX_FIELDS:
                raise ValueError("no event has this number")
            numbers = [item.number for item in placed]
            if len(set(numbers)) < len(numbers) or SHAPE in numbers:
                raise ValueError("fields of an event share a number")
            result.setdefault(event, {}).setdefault(shape, placed)
    except (KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise ValueError("the declarations are damaged") from error
    return result


def _is_number(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < _MAX_NUMBER


def _placed(name: Any, number: Any, type_name: Any, role_name: Any = "none") -> PlacedField:
    field = Field(name, parse_type(type_name), Role[role_name.upper()])
    if not _is_number(number) or not isinstance(name, str) or not is_unicode(name):
        raise ValueError("a field has no such name or number")
    if not _suits(field.role, field.type) or (number == COMMON_FLAGS and not is_flags(field)):
        raise ValueError("a field's type does not suit its role")
    return PlacedField(field, number)


def has_required_roles(kind: Kind, placed: Sequence[PlacedField]) -> bool:
    """Return True if the fields have the roles that the kind needs."""
    return REQUIRED_ROLES.get(kind, frozenset()) <= {item.field.role for item in placed}
