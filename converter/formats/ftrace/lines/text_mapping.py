"""The texts of event classes: their print formats, which the reader inverts, and what is escaped in them."""

from __future__ import annotations

from functools import cache
from typing import Final

from converter.formats.ftrace.capabilities import own_fields
from converter.formats.ftrace.event_format.new_formats import (
    COMMON_FIELDS,
)
from converter.formats.ftrace.kernel_formats import kernel_format
from converter.formats.ftrace.lines.exactness import comes_back
from converter.formats.ftrace.lines.programs import NotInvertibleError
from converter.formats.ftrace.lines.text_formats import TextFormat, make_text_format
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass, Style
from converter.ir.kinds import Kind

#: The first lines of a text that this converter wrote, and the lines that other programs take for remarks.
OWN: Final = b"# traceconv: 1\n"
EVENT_REMARK: Final = b"# traceconv.event "
TABLES_REMARK: Final = b"# traceconv.tables "
END_REMARK: Final = b"# traceconv.end "
#: The task of events that have none.
NO_TASK: Final = "<none>"
#: The name of markers: the function that writes them.
MARK: Final = "tracing_mark_write"
_COMMON_NAMES: Final = tuple(field.name for field in COMMON_FIELDS)


def own_arguments(event_class: EventClass) -> tuple[Field, ...]:
    """Return the fields of a class that its text has."""
    return tuple(field for field in event_class.fields if field.name not in _COMMON_NAMES)


def text_format(event_class: EventClass) -> TextFormat:
    """Return the format of a class that was projected to the format's capabilities."""
    point = event_class.category, event_class.name
    fields = own_arguments(event_class)
    if is_exact(point) and fields == own_fields(point):
        kernel = kernel_format(*point)
        assert kernel is not None
        return make_text_format(point, fields, kernel.print_fmt)
    return make_text_format(point, fields, _generated(fields))


def _generated(fields: tuple[Field, ...]) -> str:
    pieces, values = [], []
    for field in fields:
        match field.type:
            case IntegerClass(64, False, Style.POINTER):
                pieces.append(f"{field.name}=0x%llx")
                values.append(f"(unsigned long long)REC->{field.name}")
            case IntegerClass(_, signed):
                pieces.append(f"{field.name}=%ll{'d' if signed else 'u'}")
                values.append(f"REC->{field.name}")
            case _:
                pieces.append(f'{field.name}=\\"%s\\"')
                values.append(f"__get_str({field.name})")
    return ", ".join([f'"{" ".join(pieces)}"', *values])


@cache
def is_exact(point: tuple[str, str]) -> bool:
    """Return True if the text of a kernel's event says all of its record."""
    kernel = kernel_format(*point)
    if kernel is None or point[0] == "ftrace":
        return False
    fields = own_fields(point)
    if not all(_is_plain(field) for field in fields):
        return False
    try:
        found = make_text_format(point, fields, kernel.print_fmt)
    except NotInvertibleError:
        return False
    if len(found.program.format.fields) != len(fields):
        return False
    return comes_back(found, fields)


def _is_plain(field: Field) -> bool:
    match field.type:
        case IntegerClass(style=style):
            return style is not Style.SYMBOL
        case StringClass():
            return True
    return False


def is_mark(event_class: EventClass) -> bool:
    """Return True for markers, whose text is the program's."""
    return event_class.kind is Kind.MARK
