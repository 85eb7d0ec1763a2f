"""Fields of event formats: their classes, and the gathering of their columns from records."""

from __future__ import annotations

import re
from dataclasses import replace

from converter.formats.ftrace.event_format.addresses import (
    AddressAt,
    address_suffixes,
    function_fields,
)
from converter.formats.ftrace.event_format.gathers import (
    ArrayAt,
    BytesAt,
    Gather,
    IntegerAt,
    StringAt,
)
from converter.formats.ftrace.event_format.syntax import EventFormat, FormatField, Location
from converter.formats.ftrace.mapping import (
    BINARY_FIELDS,
    COMMON_ROLES,
    PID_FIELD,
    STACK_STYLES,
    TYPE_FIELD,
)
from converter.ir.events import Field
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    IntegerClass,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.projection.domain.linux_tracepoints import checked_kind, meaning
from converter.projection.domain.symbol_names import SYMBOL_ROLES

#: The numbers that a format may print as the function at this address.
_ADDRESSES = frozenset(
    IntegerClass(bits, style=style) for bits in (32, 64) for style in (Style.DECIMAL, Style.POINTER)
)
_WIDTHS = frozenset({1, 2, 4, 8})
#: The helper with which synthetic events print a stack.
_STACKTRACE = re.compile(r"__get_(?:rel_)?stacktrace\(\s*(\w+)\s*\)")


def fields_of(
    format: EventFormat, long_size: int, message: Gather | None, *, of_kernel: bool = True
) -> tuple[Kind, tuple[Field, ...], tuple[Gather, ...]]:
    """Return kind, fields and gathers of an event format: its own fields in order, then the common ones as context.

    With `message`, a field of that name, rendered from the others, comes between them. Formats that are not `of_kernel`
    say what fields are by their types alone: none is the address of a function, or binary, by its name.
    """
    known = meaning(format.system, format.name)
    # If several fields have one name, the name means the first.
    roles = dict(known.roles)
    styles = _stack_styles(format)
    forms = address_suffixes(format)
    functions = function_fields(format)
    fields: list[Field] = []
    gathers: list[Gather] = []
    for item in format.fields:
        role = roles.pop(item.name, Role.NONE)
        binary = of_kernel and (format.system, format.name, item.name) in BINARY_FIELDS
        frames = styles.get(item.name)
        field_class: FieldClass
        gather: Gather
        if item.name in forms:
            field_class = StringClass()
            gather = AddressAt(_place(item)[0], forms[item.name], long_size)
        elif frames is not None:
            field_class, gather = _frames(item, long_size, frames)
        else:
            field_class, gather = _field_class(item, long_size, role, binary=binary)
            if item.name in functions and field_class in _ADDRESSES:
                field_class = replace(field_class, style=Style.SYMBOL)
            if not of_kernel and isinstance(field_class, IntegerClass):
                style = Style.POINTER if item.is_pointer else Style.DECIMAL
                field_class = replace(field_class, style=style)
        fields.append(Field(item.name, field_class, role))
        gathers.append(gather)
    if message is not None:
        fields.append(Field("message", StringClass(), Role.MESSAGE))
        gathers.append(message)
    kind = checked_kind(known, fields)
    if kind is Kind.TYPED:
        fields = [Field(field.name, field.type) for field in fields]
    for item in format.common_fields:
        if item.name in (TYPE_FIELD, PID_FIELD):
            continue
        role = COMMON_ROLES.get(item.name, Role.CONTEXT)
        field_class, gather = _field_class(item, long_size, role, binary=False)
        fields.append(Field(item.name, field_class, role))
        gathers.append(gather)
    return kind, tuple(fields), tuple(gathers)


def _stack_styles(format: EventFormat) -> dict[str, Style]:
    """Return the fields that are call stacks (ftrace's and those of synthetic events), with their address style."""
    if format.system == "ftrace":
        style = STACK_STYLES.get(format.name)
        return {} if style is None else {"caller": style}
    if "stacktrace" not in format.print_fmt:
        return {}
    return dict.fromkeys(_STACKTRACE.findall(format.print_fmt), Style.SYMBOL)


def _frames(item: FormatField, long_size: int, style: Style) -> tuple[FieldClass, Gather]:
    element = IntegerClass(8 * long_size, style=style)
    location, length = _place(item)
    if length is not None and length * long_size != item.size:
        length = None
    return ArrayClass(element, length), ArrayAt(location, element.dtype, length)


def _place(item: FormatField) -> tuple[BytesAt, int | None]:
    """Return the location of a field's bytes, and the number of elements if the record does not contain it."""
    if item.location is not Location.INLINE:
        return BytesAt(item.offset, -1, item.location, 2 if item.size == 2 else 4), None
    if item.is_tail:
        return BytesAt(item.offset, -1), None
    return BytesAt(item.offset, item.size), item.array_length or None


def _field_class(
    item: FormatField, long_size: int, role: Role, *, binary: bool
) -> tuple[FieldClass, Gather]:
    """Return the class of a field, by its size and declaration, and its gather."""
    width = item.element_bytes(long_size)
    location, length = _place(item)
    array = item.is_array or item.is_tail or item.is_bitmask or item.location is not Location.INLINE
    if item.is_bitmask:
        width = long_size
    elif item.is_string and "char" in item.type and not binary:
        # Texts that a program writes rarely repeat; names of tasks, files and devices do.
        return StringClass(), StringAt(location, interned=not item.is_tail)
    if binary or width not in _WIDTHS or item.is_string:
        return BytesClass(), location
    if array:
        style = Style.HEXADECIMAL if item.is_bitmask else Style.DECIMAL
        element = IntegerClass(8 * width, item.signed and not item.is_bitmask, style)
        if length is not None and length * width != item.size:
            length = None
        return ArrayClass(element, length), ArrayAt(location, element.dtype, length)
    style = Style.DECIMAL
    if role in SYMBOL_ROLES:
        style = Style.SYMBOL
    elif item.is_pointer:
        style = Style.POINTER
    integer = IntegerClass(8 * width, item.signed, style)
    return integer, IntegerAt(item.offset, width, integer.dtype)
