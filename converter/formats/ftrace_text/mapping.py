"""The texts of event classes: their print formats, which the reader inverts, and what is escaped in them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from itertools import zip_longest
from typing import Final, NamedTuple

from converter.formats.ftrace.capabilities import own_fields
from converter.formats.ftrace.event_format.new_formats import (
    COMMON_FIELDS,
    COMMON_LINES,
    COMMON_SIZE,
    field_lines,
)
from converter.formats.ftrace.event_format.syntax import (
    EventFormat,
    event_format_text,
    parse_event_format,
)
from converter.formats.ftrace.kernel_formats import kernel_format
from converter.formats.ftrace.lines.inverse import STEP_LITERAL, STEP_TEXT
from converter.formats.ftrace.lines.programs import NotInvertibleError, Program, ProgramMaker
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
#: Bits of states that a switch's text has.
STATE_BITS: Final = 0x1FF
_COMMON_NAMES: Final = tuple(field.name for field in COMMON_FIELDS)
_CONTROL: Final = bytes(range(0x20)) + b"\x7f\\"


class TextFormat(NamedTuple):
    """The format whose texts a class's events have, and what inverts them; strings of fields are escaped."""

    format: EventFormat
    program: Program
    #: By field: the bytes that are escaped besides those that always are.
    escaped: dict[str, bytes]

    @property
    def remark(self) -> bytes:
        """The remark that declares the format; the label of its events precedes it."""
        form = [
            self.format.system,
            event_format_text(self.format).decode("utf-8", "surrogateescape"),
        ]
        return json.dumps(form).encode("ascii")


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
        return _text_format(point, fields, kernel.print_fmt)
    return _text_format(point, fields, _generated(fields))


def _text_format(point: tuple[str, str], fields: tuple[Field, ...], print_fmt: str) -> TextFormat:
    lines, _ = field_lines(fields, COMMON_SIZE)
    text = f"name: {point[1]}\nID: 1\nformat:\n{COMMON_LINES}\n{lines}\nprint fmt: {print_fmt}\n"
    format = parse_event_format(text.encode("utf-8", "surrogateescape"), point[0])
    program = ProgramMaker(format).print_format()
    offsets = {item.offset: item.name for item in format.fields}
    escaped = {}
    for step, following in zip_longest(program.steps, program.steps[1:]):
        if step.code == STEP_TEXT:
            after = b" " if following is None else following.text
            # What ends a text does not occur in it.
            escaped[offsets[step.offset]] = after[-1:]
            if following is not None and following.code != STEP_LITERAL:
                raise NotInvertibleError
    return TextFormat(format, program, escaped)


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
        found = _text_format(point, fields, kernel.print_fmt)
    except NotInvertibleError:
        return False
    if len(found.program.format.fields) != len(fields):
        return False
    # Only now: most traces are of few events.
    from converter.formats.ftrace_text.exactness import comes_back

    return comes_back(found, fields)


def _is_plain(field: Field) -> bool:
    match field.type:
        case IntegerClass(style=style):
            return style is not Style.SYMBOL
        case StringClass():
            return True
    return False


def escaper(more: bytes) -> Callable[[bytes], bytes]:
    """Return a function that escapes bytes of texts: control characters, spaces at the ends, and some more."""
    pattern = re.compile(b"[" + re.escape(_CONTROL + more) + rb"]|^ | $")
    return lambda text: pattern.sub(lambda found: b"\\x%02x" % found[0][0], text)


def is_mark(event_class: EventClass) -> bool:
    """Return True for markers, whose text is the program's."""
    return event_class.kind is Kind.MARK
