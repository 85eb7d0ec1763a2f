"""Converts columns to field classes that CTF does not have from those in which they are written.

Integers are written in whole bytes. CTF 1.8 lacks some field classes: booleans are written as integers, bytes as
arrays, a name without a value as an empty structure, optionals as variants. In both versions, an element or option
that needs a length or a selector of its own is the only member of a structure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import (
    Column,
    ListColumn,
    NullColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    take,
)
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    IntegerClass,
    NullClass,
    OptionalClass,
    StructureClass,
    VariantClass,
)

#: Converts a column as read to one of another field class.
Transform = Callable[[Column], Column]


def transform(recorded: FieldClass, derived: FieldClass) -> Transform | None:
    """Return the conversion of columns of `derived` to columns of `recorded`, None if they are the same.

    Raises:
        ValueError: values of `recorded` are not written as `derived`.

    """
    match recorded, derived:
        case StructureClass(members), StructureClass(others) if len(members) == len(others):
            return _structure_transform(
                [transform(a.type, b.type) for a, b in zip(members, others, strict=True)]
            )
        case NullClass(), StructureClass(()):
            return lambda column: NullColumn(len(column))
        case _, StructureClass((only,)):
            return _only_member_transform(transform(recorded, only.type))
        case ArrayClass(element, length), ArrayClass(other_element, other_length):
            if length == other_length:
                return _elements_transform(transform(element, other_element))
        case VariantClass(options), VariantClass(others):
            if len(options) == len(others):
                return _options_transform(
                    [transform(a.type, b.type) for a, b in zip(options, others, strict=True)]
                )
        case OptionalClass(element), OptionalClass(other_element):
            return _present_transform(transform(element, other_element))
        case OptionalClass(element), VariantClass((absent, present)):
            if absent.type == StructureClass(()):
                return _optional_transform(transform(element, present.type))
        case _:
            return _scalar_transform(recorded, derived)
    raise ValueError("written in another way")


def _scalar_transform(recorded: FieldClass, derived: FieldClass) -> Transform | None:
    match recorded, derived:
        case IntegerClass(bits, signed), IntegerClass(other, sign):
            if (bits, signed) == (other, sign):
                return None
            if signed == sign and bits < other and recorded.dtype == derived.dtype:
                return _fewer_bits_transform(recorded.dtype.itemsize * 8 - bits)
        case BooleanClass(), IntegerClass(8, False):
            return _as_booleans
        case (BytesClass(), ArrayClass(IntegerClass(8, False), None)) | (
            BytesClass(),
            BytesClass(),
        ):
            return None
        case _:
            if recorded == derived:
                return None
    raise ValueError("written in another way")


def _applied(inner: Transform | None, column: Column) -> Column:
    return column if inner is None else inner(column)


def _fewer_bits_transform(unused: int) -> Transform:
    def apply(column: Column) -> Column:
        assert isinstance(column, np.ndarray)
        result: NDArray[np.integer[Any]] = (column << unused) >> unused
        return result

    return apply


def _as_booleans(column: Column) -> Column:
    assert isinstance(column, np.ndarray)
    truths: NDArray[np.bool_] = column != 0
    return truths


def _structure_transform(inner: list[Transform | None]) -> Transform | None:
    if not any(inner):
        return None

    def apply(column: Column) -> Column:
        assert isinstance(column, StructColumn)
        members = [_applied(one, member) for one, member in zip(inner, column.members, strict=True)]
        return StructColumn(column.length, tuple(members))

    return apply


def _only_member_transform(inner: Transform | None) -> Transform:
    def apply(column: Column) -> Column:
        assert isinstance(column, StructColumn)
        return _applied(inner, column.members[0])

    return apply


def _elements_transform(inner: Transform | None) -> Transform | None:
    if inner is None:
        return None

    def apply(column: Column) -> Column:
        assert isinstance(column, ListColumn)
        return ListColumn(column.offsets, inner(column.values))

    return apply


def _options_transform(inner: list[Transform | None]) -> Transform | None:
    if not any(inner):
        return None

    def apply(column: Column) -> Column:
        assert isinstance(column, UnionColumn)
        options = [_applied(one, held) for one, held in zip(inner, column.options, strict=True)]
        return UnionColumn(column.tags, column.rows, tuple(options))

    return apply


def _present_transform(inner: Transform | None) -> Transform | None:
    if inner is None:
        return None

    def apply(column: Column) -> Column:
        assert isinstance(column, OptionalColumn)
        return OptionalColumn(column.valid, inner(column.values))

    return apply


def _optional_transform(inner: Transform | None) -> Transform:
    """Convert a variant of nothing or a value to an optional; the values in its absent rows mean nothing."""

    def apply(column: Column) -> Column:
        assert isinstance(column, UnionColumn)
        valid = column.tags == 1
        values = _applied(inner, column.options[1])
        rows = np.where(valid, column.rows, 0)
        if not len(values) and len(rows):
            # There is no value to fill the absent rows with: use a dummy, which is never read.
            return OptionalColumn(valid, _absent(values, len(rows)))
        return OptionalColumn(valid, take(values, rows))

    return apply


def _absent(column: Column, length: int) -> Column:
    """Return a column like an empty one but with `length` dummy values."""
    match column:
        case np.ndarray():
            return np.zeros(length, column.dtype)
        case NullColumn():
            return NullColumn(length)
        case ListColumn(_, values):
            return ListColumn(np.zeros(length + 1, np.int64), values)
        case StructColumn(_, members):
            return StructColumn(length, tuple(_absent(member, length) for member in members))
        case OptionalColumn(_, values):
            return OptionalColumn(np.zeros(length, np.bool_), _absent(values, length))
        case UnionColumn(_, _, options):
            tags, rows = np.zeros(length, np.int16), np.zeros(length, np.int32)
            return UnionColumn(tags, rows, (_absent(options[0], length), *options[1:]))
