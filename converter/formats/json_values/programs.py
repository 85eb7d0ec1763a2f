"""Compiles programs that emit values as JSON text, and returns the columns that they run on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.json_values import emit_programs as op
from converter.formats.json_values.emit_programs import Program
from converter.formats.json_values.narrowing import HEXADECIMAL
from converter.ir.columns import Column, ListColumn, StructColumn
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    NullClass,
    StringClass,
    StructureClass,
)
from converter.kernels.tables.strings import StringTable
from converter.projection.timeline_fields import JSON_TEXT

#: A column as an operation accepts it: values, or the values of lists with their offsets.
Bindable = NDArray[Any] | tuple[NDArray[Any], NDArray[np.int64]]


def bindable(column: Column) -> Iterator[Bindable]:
    """Yield a column and those inside it, in the order in which programs number them."""
    match column:
        case np.ndarray():
            yield column
        case ListColumn(offsets, values):
            offsets = np.ascontiguousarray(offsets)
            if isinstance(values, np.ndarray) and values.dtype == np.uint8:
                yield np.ascontiguousarray(values), offsets
            else:
                yield offsets
                yield from bindable(values)
        case StructColumn(_, members):
            for member in members:
                yield from bindable(member)


@dataclass(slots=True)
class Compiler:
    """Makes one program."""

    #: An operation's number, its column, a literal or count, and the literal before it.
    _code: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    _literals: bytearray = field(default_factory=bytearray)
    #: The text that is written before the next operation.
    _front: str = ""
    _column: int = 0

    def program(self, strings: StringTable) -> Program:
        """Return the program of all operations so far."""
        self._flush()
        code = np.array(self._code, np.int32).reshape(-1)
        return Program(code, bytes(self._literals), self._column, strings)

    def literal(self, text: str) -> None:
        """Emit a text."""
        self._front += text

    def operation(self, number: int, column: int = 0, text: str = "") -> None:
        """Emit by an operation, which may have a literal."""
        front, self._front = self._front, ""
        self._code.append((number, column, *self._place(text), *self._place(front)))

    def next_column(self, count: int = 1) -> int:
        """Number the next columns and return the first number."""
        self._column += count
        return self._column - count

    def string_if(self, text: str) -> None:
        """Emit a text and a string column, or nothing where the string is empty."""
        self.operation(op.STRING_IF, self.next_column(), text)

    def plain_string(self) -> None:
        """Emit a string column that readers parse as text whatever it looks like."""
        self.operation(op.PLAIN_STRING, self.next_column())

    def value(self, field_class: FieldClass, *, time: bool = False) -> None:
        """Emit a column of a class as JSON."""
        match field_class:
            case NullClass():
                self.literal("null")
            case StructureClass(members):
                self.literal("{")
                for index, member in enumerate(members):
                    self.literal(f"{',' if index else ''}{json_text(member.name)}:")
                    self.value(member.type)
                self.literal("}")
            case ArrayClass(element):
                self._array(element)
            case _:
                self.operation(op.TIME if time else _operation(field_class), self.next_column())

    def _array(self, element: FieldClass) -> None:
        at = len(self._code)
        self.operation(op.ARRAY, self.next_column())
        self.value(element)
        self._flush()
        code, column, _, _, *front = self._code[at]
        self._code[at] = (code, column, 0, len(self._code) - at - 1, front[0], front[1])

    def members(self) -> None:
        """Emit a column of members that are not standard."""
        self.operation(op.MEMBERS, self.next_column())

    def skip(self) -> None:
        """Number a column that is not emitted."""
        self.next_column()

    def _flush(self) -> None:
        if self._front:
            self.operation(op.LITERAL)

    def _place(self, text: str) -> tuple[int, int]:
        data = text.encode("utf-8", "replace")
        self._literals += data
        return len(self._literals) - len(data), len(data)


def json_text(text: str) -> str:
    """Return a text as JSON."""
    return json.dumps(text, ensure_ascii=False)


def _operation(field_class: FieldClass) -> int:
    match field_class:
        case StringClass():
            return op.STRING
        case BytesClass():
            return op.JSON if field_class == JSON_TEXT else op.BASE64
        case IntegerClass(_, True):
            return op.SIGNED
        case IntegerClass():
            return op.HEXADECIMAL if field_class == HEXADECIMAL else op.UNSIGNED
        case FloatClass():
            return op.FLOAT
        case BooleanClass():
            return op.BOOLEAN
    raise TypeError(field_class)
