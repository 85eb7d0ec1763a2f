"""Samples of call stacks as ``perf script`` prints them: the weight and the event, then a line for each frame.

app 10 [001]     0.000000100:       1000 cycles:
1198 leaf (/bin/app)
1201 main (/bin/app)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from converter.errors.terminal import printable
from converter.ir.columns import Column, ListColumn, StructColumn, string_ids
from converter.ir.events import EventClass, Field, Table
from converter.ir.field_classes import (
    ArrayClass,
    FieldClass,
    IntegerClass,
    StringClass,
    StructureClass,
)
from converter.ir.kinds import Kind, Role
from converter.kernels.tables.strings import StringTable
from converter.printing import program as op
from converter.printing.code import Code
from converter.printing.directory import Directory
from converter.printing.event_texts import ColumnKey, FieldTexts
from converter.printing.frame_lines import FRAME_LEVEL, UNKNOWN, print_frame, print_weight

#: The label of samples of no event.
_NO_EVENT: Final = "sample"
#: The level of the rows of a class.
_ROW: Final = 1


def is_printed_sample(event_class: EventClass) -> bool:
    """Return True if events of a class are printed as samples."""
    index = event_class.index_of(Role.FRAMES)
    if event_class.kind is not Kind.SAMPLE or index is None:
        return False
    frames = event_class.fields[index].type
    return isinstance(frames, ArrayClass) and _is_frame(frames.element)


def _is_frame(element: FieldClass) -> bool:
    if isinstance(element, StructureClass):
        names = {member.name for member in element.members}
        return {"function", "mapping", "rel_pc", "source", "line"} <= names
    return isinstance(element, IntegerClass | StringClass)


@dataclass(frozen=True, eq=False)
class _Part:
    """A part of all frames of a class, as numbers; texts are their ids."""

    index: int
    element: FieldClass
    name: str
    strings: StringTable

    def of(self, table: Table) -> Any:
        """Return the column in a table."""
        column = table.column(self.index)
        assert isinstance(column, ListColumn)
        values: Column = column.values
        if isinstance(self.element, StructureClass):
            assert isinstance(values, StructColumn)
            names = [member.name for member in self.element.members]
            at = names.index(self.name)
            values = values.members[at]
            if isinstance(self.element.members[at].type, StringClass):
                values = string_ids(values, self.strings)
        elif isinstance(self.element, StringClass):
            values = string_ids(values, self.strings)
        return np.ascontiguousarray(values).astype(np.uint64)


class SampleTexts:
    """Adds operations to programs that print samples; `functions` are names of addresses, fit to be printed."""

    def __init__(self, strings: StringTable, functions: Directory) -> None:
        self._strings = strings
        self._functions = functions
        self._texts = Directory(self._text)

    def _text(self, id: int) -> tuple[bytes, int]:
        text = printable(self._strings[id].decode("utf-8", "surrogateescape"))
        return text.encode("utf-8", "surrogateescape"), 0

    def print(self, code: Code, event_class: EventClass) -> None:
        """Print a sample after its time: its weight and event, the other fields, its frames, and an empty line."""
        frames = event_class.index_of(Role.FRAMES)
        assert frames is not None
        weight = event_class.index_of(Role.COUNT)
        if weight is not None and isinstance(event_class.fields[weight].type, IntegerClass):
            key = ColumnKey("signed", weight)
            print_weight(code, lambda: code.number_of(key, _ROW, signed=True), signed=True)
        label = printable(event_class.name) or _NO_EVENT
        code.literal(f" {label}: ".encode("utf-8", "surrogateescape"))
        hidden = {frames, weight}
        kept = [_shown(field, index in hidden) for index, field in enumerate(event_class.fields)]
        FieldTexts(code, self._functions).fields(replace(event_class, fields=tuple(kept)))
        code.literal(b"\n")
        held = event_class.fields[frames].type
        assert isinstance(held, ArrayClass)
        self._frames(code, frames, held.element)
        code.literal(b"\n")

    def _frames(self, code: Code, index: int, element: FieldClass) -> None:
        def part(name: str) -> _Part:
            return _Part(index, element, name, self._strings)

        def text(name: _Part, otherwise: bytes | None) -> None:
            code.number_of(name, FRAME_LEVEL)
            code.unless_zero(
                lambda: self._named(code, name),
                None if otherwise is None else lambda: code.literal(otherwise),
            )

        def unknown() -> None:
            code.literal(UNKNOWN)

        def frame() -> None:
            if isinstance(element, StringClass):
                print_frame(code, None, lambda: text(function, UNKNOWN), unknown)
            elif isinstance(element, IntegerClass):
                print_frame(code, address, lambda: self._symbol(code, address), unknown)
            else:
                print_frame(code, address, lambda: text(function, UNKNOWN), binary)

        def binary() -> None:
            code.number_of(mapping, FRAME_LEVEL)
            code.unless_zero(lambda: self._named(code, mapping), source_line)

        def source_line() -> None:
            text(source, UNKNOWN)
            code.number_of(line, FRAME_LEVEL)
            code.unless_zero(lambda: self._line(code, line), None)

        function, mapping, address = part("function"), part("mapping"), part("rel_pc")
        source, line = part("source"), part("line")
        code.each(ColumnKey("list", index), _ROW, frame)

    def _named(self, code: Code, part: _Part) -> None:
        code.number_of(part, FRAME_LEVEL)
        code.name(self._texts)

    def _line(self, code: Code, line: _Part) -> None:
        code.literal(b":")
        code.number_of(line, FRAME_LEVEL)
        code.add(op.DECIMAL, 64, 0)

    def _symbol(self, code: Code, address: _Part) -> None:
        """Print the function of an address and the distance from its start."""

        def distance() -> None:
            code.literal(b"+0x")
            code.add(op.FOUND_NUMBER)
            code.add(op.HEXADECIMAL, 64)

        def found() -> None:
            code.add(op.FOUND_TEXT)
            distance()

        code.number_of(address, FRAME_LEVEL)
        code.find(self._functions)
        code.unless_zero(found, lambda: code.literal(UNKNOWN))


def _shown(field: Field, is_hidden: bool) -> Field:
    """Return a field that `FieldTexts` leaves out if it is hidden."""
    return replace(field, role=Role.CONTEXT_FLAGS) if is_hidden else field
