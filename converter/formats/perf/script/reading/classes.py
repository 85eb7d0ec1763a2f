"""The event classes of texts: samples by their event and the parts that they have, and those of tracepoints."""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum, unique
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.lines.event_texts import MESSAGE, EventTexts
from converter.formats.ftrace.lines.scan.line_scan import LINE_OTHER
from converter.formats.ftrace.lines.text_classes import TextClasses
from converter.formats.perf.fields import CATEGORY
from converter.formats.perf.script.mapping import (
    AFTER,
    BEFORE,
    LINES,
    MISC,
    OFFSETS,
    sample_class,
    weight_field,
)
from converter.formats.perf.script.reading.records import MEANINGS, PID_OFFSET, TID_OFFSET
from converter.formats.perf.script.reading.scan import LINE_SAMPLE, ScriptLines
from converter.ir.events import EventClass, Field
from converter.ir.kinds import Role
from converter.ir.trace import Trace
from converter.projection.timeline_fields import CALLSTACK


@unique
class Part(IntEnum):
    """A part that a line may have in addition to its task, its CPU and its event."""

    WEIGHT = 0
    MISC = 1
    BEFORE = 2
    AFTER = 3
    STACK = 4
    OFFSETS = 5
    LINES = 6
    NO_TIME = 7
    FRAMES = 8


#: The classes of a program or event, by the bits of its parts.
_PARTS: Final = 10
_FIELDS: Final = {
    Part.MISC: MISC,
    Part.BEFORE: BEFORE,
    Part.AFTER: AFTER,
    Part.STACK: CALLSTACK,
    Part.OFFSETS: OFFSETS,
    Part.LINES: LINES,
}
_SAYS_PROCESS: Final = frozenset({"comm", "fork"})


class ScriptClasses(TextClasses):
    """Classes by event or program, and by the parts that lines have."""

    #: Where the process and the number of a task are in the records of those that say both.
    task_offsets = PID_OFFSET, TID_OFFSET

    def __init__(self, trace: Trace, texts: EventTexts) -> None:
        super().__init__(trace, texts)
        self._script = trace
        self._names = texts
        #: By class: the parts whose columns follow those of records.
        self.parts: list[tuple[Part, ...]] = []
        self.is_sample: list[bool] = []
        self._of_key: dict[int, int] = {}
        self._says: list[bool] = []

    def of_lines(
        self,
        lines: ScriptLines,
        rows: NDArray[np.intp],
        kind: NDArray[np.uint8],
        parts: NDArray[np.int64],
        program: NDArray[np.int32],
    ) -> NDArray[np.int32]:
        """Return the class of each of some lines."""
        is_sample = kind == LINE_SAMPLE
        # Samples by their event's name, others by their program; lines of neither have number -1.
        number = np.where(is_sample, lines.name[rows], program[rows]).astype(np.int64) + 1
        key = (number << _PARTS | parts) << 2 | is_sample.astype(np.int64) << 1
        key[kind == LINE_OTHER] = 1
        distinct, inverse = np.unique(key, return_inverse=True)
        classes = np.array([self._class(one) for one in distinct.tolist()], np.int32)
        found: NDArray[np.int32] = classes[inverse.reshape(-1)]
        return found

    def says_process(self, program: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return the records that say the process of a task."""
        for one in self._names.programs[len(self._says) :]:
            format = one.format
            self._says.append(
                format.system == CATEGORY
                and format.name in _SAYS_PROCESS
                and not self._names.whole[len(self._says)]
            )
        says: NDArray[np.bool_] = np.array(self._says, np.bool_)[program]
        return says

    def _class(self, key: int) -> int:
        if key not in self._of_key:
            found = self._made(key)
            self._of_key[key] = found
        return self._of_key[key]

    def _made(self, key: int) -> int:
        if key == 1:
            return self._declared(self.other(), (), is_sample=False)
        parts = [part for part in Part if key >> 2 >> part & 1]
        number = (key >> 2 + _PARTS) - 1
        timed = Part.NO_TIME not in parts
        if Part.NO_TIME in parts:
            parts.remove(Part.NO_TIME)
        if key & 2:
            name = (
                "" if number < 0 else self._names.names[number].decode("utf-8", "surrogateescape")
            )
            fields = tuple(
                weight_field(name) if part is Part.WEIGHT else _FIELDS[part] for part in parts
            )
            id = self._script.add_class(sample_class(name, fields, timed=timed))
            return self._declared(id, (Part.FRAMES, *parts), is_sample=True)
        parts = [Part.WEIGHT, *parts] if Part.WEIGHT in parts else parts
        return self._of_text(number, tuple(dict.fromkeys(parts)), timed=timed)

    def _of_text(self, program: int, parts: tuple[Part, ...], *, timed: bool) -> int:
        event_class, gathers = self.class_of_program(program, flags=False)
        known = MEANINGS.get(event_class.name) if event_class.category == CATEGORY else None
        if known is not None and not self._names.whole[program]:
            fields = tuple(
                replace(field, role=known.roles.get(field.name, Role.NONE))
                for field in event_class.fields
            )
            event_class = replace(event_class, kind=known.kind, fields=fields)
        more = tuple(_context(event_class, part) for part in parts)
        event_class = replace(event_class, fields=(*event_class.fields, *more), timed=timed)
        return self._declared(self.add(event_class, gathers), parts, is_sample=False)

    def _declared(self, id: int, parts: tuple[Part, ...], *, is_sample: bool) -> int:
        while len(self.parts) <= id:
            self.parts.append(())
            self.is_sample.append(False)
        self.parts[id], self.is_sample[id] = parts, is_sample
        return id


def _context(event_class: EventClass, part: Part) -> Field:
    """Return the field of a part of a tracepoint."""
    field = weight_field("") if part is Part.WEIGHT else _FIELDS[part]
    name = "period" if part is Part.WEIGHT else field.name
    taken = {one.name for one in event_class.fields} | {MESSAGE}
    return replace(field, name=f"_{name}" if name in taken else name, role=Role.CONTEXT)
