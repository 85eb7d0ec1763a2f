"""The format of an event class's text, and what is escaped in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import zip_longest
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ftrace.event_format.new_formats import (
    COMMON_LINES,
    COMMON_SIZE,
    field_lines,
)
from converter.formats.ftrace.event_format.syntax import (
    EventFormat,
    event_format_text,
    parse_event_format,
)
from converter.formats.ftrace.lines.inverse import STEP_LITERAL, STEP_TEXT
from converter.formats.ftrace.lines.programs import NotInvertibleError, Program, ProgramMaker
from converter.ir.distinct_values import values_of
from converter.ir.events import Field
from converter.kernels.tables.strings import StringTable

#: Bits of states that a switch's text has.
STATE_BITS: Final = 0x1FF
_CONTROL: Final = bytes(range(0x20)) + b"\x7f\\"


class TextFormat(NamedTuple):
    """The format whose texts a class's events have, and what inverts them; strings of fields are escaped."""

    format: EventFormat
    program: Program
    #: By field: the bytes that are escaped besides those that always are.
    escaped: dict[str, bytes]

    @property
    def form(self) -> list[str]:
        """The declaration of the format: its system and its text."""
        text = event_format_text(self.format)
        return [self.format.system, text.decode("utf-8", "surrogateescape")]

    @property
    def remark(self) -> bytes:
        """The remark that declares the format; the label of its events precedes it."""
        return json.dumps(self.form).encode("ascii")


def make_text_format(
    point: tuple[str, str], fields: tuple[Field, ...], print_fmt: str
) -> TextFormat:
    """Return the format of fields with a print format; NotInvertibleError where that does not say enough."""
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


def escaper(more: bytes) -> Callable[[bytes], bytes]:
    """Return a function that escapes bytes of texts: control characters, spaces at the ends, and some more."""
    pattern = re.compile(b"[" + re.escape(_CONTROL + more) + rb"]|^ | $")
    return lambda text: pattern.sub(lambda found: b"\\x%02x" % found[0][0], text)


def declared_program(form: object) -> Program:
    """Return the program of an event that a text declares (`TextFormat.form`, or its JSON)."""
    try:
        found: Any = json.loads(form) if isinstance(form, bytes) else form
        system, text = found
        data = text.encode("utf-8", "surrogateescape")
        return ProgramMaker(parse_event_format(data, str(system))).print_format()
    except (ValueError, TypeError, AttributeError, RecursionError, NotInvertibleError) as error:
        raise TraceError("a remark that declares no event", found=str(error)) from error


class EscapedTexts:
    """Columns of texts, escaped: each text once."""

    def __init__(self, strings: StringTable) -> None:
        self._strings = strings
        #: By the bytes that are escaped besides those that always are: the ids of escaped texts.
        self._known: dict[bytes, dict[int, int]] = {}

    def of(self, ids: NDArray[np.int32], more: bytes) -> NDArray[np.int32]:
        """Return the ids of escaped texts; `more` are bytes that are escaped besides those that always are."""
        known = self._known.setdefault(more, {})
        escape, strings = escaper(more), self._strings
        distinct = values_of(ids).tolist()
        for id in distinct:
            if id not in known:
                text = strings[id]
                escaped = escape(text)
                known[id] = id if escaped == text else strings.intern(escaped)
        if all(known[id] == id for id in distinct):
            return ids
        order = np.sort(np.array(distinct, np.int32))
        targets = np.array([known[id] for id in order.tolist()], np.int32)
        result: NDArray[np.int32] = targets[np.searchsorted(order, ids)]
        return result
