"""Programs of `emit`: instructions, and the sources of their columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from converter.formats.perfetto.protobuf.messages import varint
from converter.formats.perfetto.writing.kernels import emit as kernel
from converter.ir.columns import Column, ListColumn
from converter.ir.events import Table
from converter.ir.field_classes import BooleanClass, FieldClass, FloatClass, IntegerClass
from converter.ir.tables import ConvertedColumn, WholeColumn

#: Wire types (protobuf.dev, "Encoding").
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

#: The tables of interned texts, by their numbers in the kernel.
CATEGORIES, NAMES, ANNOTATION_NAMES, STRINGS = range(4)

#: Returns a column of a table, or a part of one.
Getter = Callable[[Table], Column]

#: The type of the ids of strings.
_IDS: Final = np.dtype(np.int32)

_OPS: Final = {
    np.dtype(np.uint8): kernel.U8,
    np.dtype(np.uint16): kernel.U16,
    np.dtype(np.uint32): kernel.U32,
    np.dtype(np.uint64): kernel.U64,
    np.dtype(np.int8): kernel.I8,
    np.dtype(np.int16): kernel.I16,
    np.dtype(np.int32): kernel.I32,
    np.dtype(np.int64): kernel.I64,
}


def tag_of(number: int, wire: int) -> int:
    """Return the tag of a field."""
    return number << 3 | wire


def text_field(number: int, text: bytes) -> bytes:
    """Return an encoded text field, for literals."""
    return varint(tag_of(number, BYTES)) + varint(len(text)) + text


@dataclass(slots=True)
class Steps:
    """Instructions in order, and the columns to bind to those that need them."""

    steps: list[tuple[int, int, int, int, int, bytes]] = field(default_factory=list)
    columns: list[Callable[[Table], Any]] = field(default_factory=list)

    def add(
        self,
        op: int,
        tag: int = 0,
        column: Callable[[Table], Any] | None = None,
        *,
        inline: int = 0,
        table: int = 0,
        data: bytes = b"",
    ) -> None:
        """Add an instruction, with its column if it needs one."""
        self.steps.append((op, tag, inline, table, 0, data))
        if column is not None:
            self.columns.append(column)

    def extend(self, others: Steps) -> None:
        """Append the instructions of `others`."""
        self.steps += others.steps
        self.columns += others.columns

    def enclosing(self, op: int, inner: Steps, column: Callable[[Table], Any] | None) -> None:
        """Add an instruction that runs others: for each element of a list, or where there is a value."""
        self.steps.append((op, 0, 0, 0, len(inner.steps), b""))
        if column is not None:
            self.columns.append(column)
        self.extend(inner)

    def message(self, number: int, inner: Steps) -> None:
        """Add a nested message."""
        self.add(kernel.OPEN, tag_of(number, BYTES))
        self.extend(inner)
        self.add(kernel.CLOSE)

    def literal(self, data: bytes) -> None:
        """Add bytes that are the same in all rows."""
        self.add(kernel.LITERAL, data=data)

    def flags(self, getter: Getter) -> None:
        """Add the common_flags of a kernel event, which are stored in the bundle."""
        self.add(kernel.FLAGS, 0, array_getter(getter, np.dtype(np.uint32)))

    def scalar(
        self, number: int, field_class: FieldClass, getter: Getter, *, sparse: bool = False
    ) -> None:
        """Add a number as a field of its protobuf type; zeros are omitted if `sparse`.

        Raises:
            TypeError: the class is not a number.

        """
        match field_class:
            case IntegerClass():
                dtype = field_class.dtype
                self.add(
                    _OPS[dtype],
                    tag_of(number, VARINT),
                    array_getter(getter, dtype),
                    table=int(sparse),
                )
            case BooleanClass():
                self.add(
                    kernel.U8,
                    tag_of(number, VARINT),
                    lambda table: as_array(getter(table), np.dtype(np.bool_)).view(np.uint8),
                )
            case FloatClass(bits):
                op, wire = (kernel.FIXED64, FIXED64) if bits == 64 else (kernel.FIXED32, FIXED32)
                self.add(op, tag_of(number, wire), array_getter(getter, field_class.dtype))
            case _:
                raise TypeError(f"no number: {field_class}")


def field_getter(index: int) -> Getter:
    """Return a getter of a column of a table."""
    return WholeColumn(index)


def array_getter(getter: Getter, dtype: np.dtype[Any]) -> Callable[[Table], Any]:
    """Return a column of numbers in the type that an instruction expects."""
    return ConvertedColumn(getter, dtype, lambda column: as_array(column, dtype))


def text_getter(getter: Getter) -> Callable[[Table], Any]:
    """Return a getter of a column of strings or bytes, as an instruction expects it."""
    return ConvertedColumn(getter, _IDS, as_text)


def as_array(column: Column, dtype: np.dtype[Any]) -> Any:
    """Return a column of numbers in the type that an instruction expects."""
    assert isinstance(column, np.ndarray)
    return column.astype(dtype, copy=False)


def as_text(column: Column) -> Any:
    """Return a column of strings or bytes: ids, or bytes with offsets."""
    if isinstance(column, np.ndarray):
        return column.astype(_IDS, copy=False)
    assert isinstance(column, ListColumn)
    return np.ascontiguousarray(column.values, np.uint8), as_offsets(column)


def as_offsets(column: Column) -> Any:
    """Return the ends of a column's lists."""
    assert isinstance(column, ListColumn)
    return np.ascontiguousarray(column.offsets, np.int64)


def elements(getter: Getter) -> Getter:
    """Return a getter of the elements of a column of lists."""

    def inner(table: Table) -> Column:
        column = getter(table)
        assert isinstance(column, ListColumn)
        return column.values

    return inner
