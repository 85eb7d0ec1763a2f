"""The event classes of a file: one for each event type that occurs, and one for lost events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.event_format.fields import fields_of
from converter.formats.ftrace.event_format.formats import EventFormats
from converter.formats.ftrace.event_format.gathers import (
    BytesAt,
    Gather,
    MissedCount,
    columns_of,
)
from converter.formats.ftrace.event_format.messages import KernelTexts, binary_message
from converter.formats.ftrace.event_format.record_tables import RecordClasses
from converter.formats.ftrace.event_format.syntax import EventFormat, Location
from converter.formats.ftrace.ring_buffer.prescan import TYPES
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import BytesClass, IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

#: The class of a page's missed events: their count, -1 if the kernel did not store it.
DISCARDED = EventClass(
    Kind.DISCARDED,
    "discarded",
    fields=(Field("count", IntegerClass(64, signed=True), Role.COUNT),),
)
#: The prefix of the names of classes without a format; the type's number follows.
_UNKNOWN: Final = "unknown:"
_DIGITS: Final = len(str(TYPES))


def unknown_class(type_id: int) -> EventClass:
    """Return the class of a type that no format describes; its records are kept as bytes."""
    payload = Field("payload", BytesClass(), Role.PAYLOAD)
    return EventClass(Kind.NATIVE, f"{_UNKNOWN}{type_id}", fields=(payload,))


def unknown_type(event_class: EventClass) -> int | None:
    """Return the type whose `unknown_class` this is."""
    number = event_class.name.removeprefix(_UNKNOWN)
    if event_class.kind is not Kind.NATIVE or not number.isdecimal() or len(number) > _DIGITS:
        return None
    return int(number) if event_class == unknown_class(int(number)) else None


class EventClasses(RecordClasses):
    """The classes by type number, and the gathering of their columns.

    `of_type` (int32, 65,536) is the class id of each type, -1 for those that do not occur; `missed` is the class id of
    lost events, -1 if there are none.
    """

    def __init__(
        self, trace: Trace, formats: EventFormats, texts: KernelTexts, long_size: int
    ) -> None:
        super().__init__(trace.strings)
        self.of_type: NDArray[np.int32] = np.full(TYPES, -1, np.int32)
        self.missed = -1
        self._trace = trace
        self._formats = formats
        self._texts = texts
        self._long_size = long_size
        self._of_text: dict[str | None, int] = {}

    def add_types(self, types: Sequence[int]) -> None:
        """Declare the types, in this order."""
        for type_id in types:
            format = self._formats.get(type_id)
            if format is None:
                event_class = unknown_class(type_id)
                gathers: Sequence[Gather] = (BytesAt(0, -1, Location.INLINE),)
            else:
                kind, fields, gathers = fields_of(
                    format,
                    self._long_size,
                    binary_message(format, self._texts, self._long_size),
                )
                event_class = EventClass(
                    kind,
                    format.name,
                    format.system,
                    fields,
                    native=self._formats.text(type_id),
                )
            self.of_type[type_id] = self._add(event_class, gathers, format)

    def add_missed(self) -> None:
        """Declare the class of lost events."""
        self.missed = self._add(DISCARDED, (MissedCount(),))

    def of_text(self, event: str | None) -> int:
        """Return the class of a text buffer's lines of this event (None: lines without a time), declared when new."""
        if event not in self._of_text:
            from converter.formats.ftrace.text_buffers import (
                OTHER_GATHERS,
                OTHER_LINE,
                TEXT_GATHERS,
                text_class,
            )

            self._of_text[event] = (
                self._add(OTHER_LINE, OTHER_GATHERS)
                if event is None
                else self._add(text_class(event), TEXT_GATHERS)
            )
        return self._of_text[event]

    def _add(
        self, event_class: EventClass, gathers: Sequence[Gather], format: EventFormat | None = None
    ) -> int:
        id = self._trace.add_class(event_class)
        self.add_columns(id, columns_of(gathers, format, self._long_size, self._texts))
        return id
