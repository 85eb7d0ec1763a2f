"""The event classes of texts: one for each program that inverts them, and those of lines without an event."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from converter.formats.ftrace.event_format.event_classes import DISCARDED
from converter.formats.ftrace.event_format.fields import fields_of
from converter.formats.ftrace.event_format.gathers import BytesAt, Gather, IntegerAt, columns_of
from converter.formats.ftrace.event_format.record_tables import RecordClasses
from converter.formats.ftrace.event_format.syntax import event_format_text
from converter.formats.ftrace.lines.event_texts import MESSAGE, EventTexts
from converter.formats.ftrace.text_buffers import OTHER_LINE
from converter.ir.events import EventClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

LONG_SIZE: Final = 8
_PRINTS: Final = {("ftrace", "bprint"), ("ftrace", "bputs")}


class TextClasses(RecordClasses):
    """Classes by program and by whether lines have flags."""

    def __init__(self, trace: Trace, texts: EventTexts) -> None:
        super().__init__(trace.strings)
        self._trace = trace
        self._texts = texts
        self._numbers: dict[tuple[int, bool], int] = {}
        self._known: dict[tuple[EventClass, tuple[Gather, ...]], int] = {}

    def of_program(self, program: int, *, flags: bool) -> int:
        """Return the class of a program's events."""
        key = program, flags
        if key not in self._numbers:
            self._numbers[key] = self.add(*self.class_of_program(program, flags=flags))
        return self._numbers[key]

    def lost(self) -> int:
        """Return the class of lost events, whose number is all of a record."""
        return self.add(DISCARDED, (IntegerAt(0, 8, np.dtype(np.int64)),))

    def other(self) -> int:
        """Return the class of lines without an event."""
        return self.add(OTHER_LINE, (BytesAt(0, -1),))

    def class_of_program(
        self, program: int, *, flags: bool
    ) -> tuple[EventClass, tuple[Gather, ...]]:
        """Return the declaration of a program's events, and how their columns are gathered."""
        format = self._texts.programs[program].format
        native = b"" if self._texts.whole[program] else event_format_text(format)
        if not flags:
            format = replace(format, common_fields=())
        kind, fields, gathers = fields_of(
            format, LONG_SIZE, None, of_kernel=not self._texts.is_declared(program)
        )
        if self._texts.whole[program]:
            fields = tuple(
                replace(field, role=Role.MESSAGE) if field.name == MESSAGE else field
                for field in fields
            )
            if not format.name:
                kind = Kind.LOG
        elif (format.system, format.name) in _PRINTS:
            # Their message is made of what their records have, which texts do not show.
            kind = Kind.MARK
            roles = {"ip": Role.INSTRUCTION, MESSAGE: Role.MESSAGE}
            fields = tuple(
                replace(field, role=roles.get(field.name, field.role)) for field in fields
            )
        event_class = EventClass(kind, format.name, format.system, fields, native=native)
        return event_class, gathers

    def add(self, event_class: EventClass, gathers: tuple[Gather, ...]) -> int:
        """Return the number of a class, which is declared when it is new."""
        key = event_class, gathers
        if key not in self._known:
            self._known[key] = self._trace.add_class(event_class)
            self.add_columns(self._known[key], columns_of(gathers))
        return self._known[key]
