"""Columns: the values of one field over many events, in Arrow's layout.

A scalar column is a NumPy array (any stride: a constant is a broadcast array of stride 0). Strings are int32 ids. The
rest is built from the classes below; export to Arrow is a view of their buffers (Arrow Columnar Format, "Physical
Memory Layout").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    VariantClass,
)
from converter.kernels.batches.union import looked_up
from converter.kernels.tables.strings import StringTable, taken_lists


@dataclass(frozen=True, slots=True)
class NullColumn:
    """`length` values of a `NullClass`."""

    length: int

    def __len__(self) -> int:
        return self.length


@dataclass(frozen=True, slots=True)
class ListColumn:
    """Value i is ``values[offsets[i]:offsets[i + 1]]``; the n + 1 offsets are int64 and non-decreasing."""

    offsets: NDArray[np.int64]
    values: Column

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True)
class StructColumn:
    """One column per member, all of `length` values."""

    length: int
    members: tuple[Column, ...]

    def __len__(self) -> int:
        return self.length


class TakenColumn(StructColumn):
    """The values `rows` of `table`, of numbers and ids of strings; its members are made when they are asked for.

    Equal rows of columns of one `origin` are equal values, whichever of its tables they have.
    """

    __slots__ = ("origin", "rows", "table")
    rows: NDArray[np.int32]
    table: StructColumn
    origin: object

    def __init__(self, rows: NDArray[np.int32], table: StructColumn, origin: object) -> None:
        object.__setattr__(self, "length", len(rows))
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "origin", origin)

    @property
    def members(self) -> tuple[Column, ...]:
        """The columns, made again each time."""
        return tuple(take(member, self.rows) for member in self.table.members)


class TakenListColumn(ListColumn):
    """The lists `rows` of `table`; their values are gathered when they are asked for.

    Equal rows of columns of one `origin` are equal lists, as they are in `TakenColumn`.
    """

    __slots__ = ("_lists", "origin", "rows", "table")
    rows: NDArray[np.int32]
    table: ListColumn
    origin: object
    _lists: ListColumn | None

    def __init__(self, rows: NDArray[np.int32], table: ListColumn, origin: object) -> None:
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "origin", origin)
        object.__setattr__(self, "_lists", None)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The start of each gathered list, and the end."""
        return self._gathered().offsets

    @property
    def values(self) -> Column:
        """The values of the gathered lists."""
        return self._gathered().values

    def _gathered(self) -> ListColumn:
        if self._lists is None:
            object.__setattr__(self, "_lists", take(self.table, self.rows))
        assert self._lists is not None
        return self._lists


@dataclass(frozen=True, slots=True)
class UnionColumn:
    """Value i is value ``rows[i]`` of ``options[tags[i]]`` (Arrow's dense union); tags int16, rows int32."""

    tags: NDArray[np.int16]
    rows: NDArray[np.int32]
    options: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.tags)


@dataclass(frozen=True, slots=True)
class OptionalColumn:
    """Value i is ``values[i]`` where ``valid[i]``, else absent (``values`` is arbitrary there)."""

    valid: NDArray[np.bool_]
    values: Column

    def __len__(self) -> int:
        return len(self.valid)


Column = NDArray[Any] | NullColumn | ListColumn | StructColumn | UnionColumn | OptionalColumn


def constant_column(value: np.generic, length: int) -> NDArray[Any]:
    """Return a value repeated `length` times: a read-only array of stride 0, faster than `np.broadcast_to`."""
    return np.ndarray((length,), value.dtype, value, 0, (0,))


def renumbered(column: NDArray[np.int32], numbers: list[int]) -> NDArray[np.int32]:
    """Map a column of indices of one table (-1: none) by `numbers`; returns the column itself if nothing changes."""
    if column.strides == (0,) and len(column):
        number = int(column[0])
        return constant_column(np.int32(numbers[number] if number >= 0 else -1), len(column))
    if numbers == list(range(len(numbers))):
        return column
    return looked_up(np.array([*numbers, -1], np.int32), column)


def order_of(ts: NDArray[np.int64]) -> NDArray[np.intp] | None:
    """Return the stable order of times; None if they are sorted already."""
    return None if np.all(ts[:-1] <= ts[1:]) else np.argsort(ts, kind="stable")


def bytes_held(column: Column) -> int:
    """Return the memory in bytes that the values of a column use."""
    match column:
        case np.ndarray():
            return column.itemsize if column.strides == (0,) else column.nbytes
        case NullColumn():
            return 0
        case TakenListColumn():
            return column.rows.nbytes
        case ListColumn(offsets, values):
            return offsets.nbytes + bytes_held(values)
        case TakenColumn():
            return column.rows.nbytes
        case StructColumn(_, members):
            return sum(map(bytes_held, members))
        case UnionColumn(tags, rows, options):
            return tags.nbytes + rows.nbytes + sum(map(bytes_held, options))
        case OptionalColumn(valid, values):
            return valid.nbytes + bytes_held(values)


def take(column: Column, rows: NDArray[np.integer[Any]]) -> Column:
    """Return the values of `column` at `rows`, in that order (shape of `rows`)."""
    match column:
        case np.ndarray():
            selected: NDArray[Any] = column.take(rows, axis=0)
            return selected
        case NullColumn():
            return NullColumn(len(rows))
        case TakenListColumn():
            return TakenListColumn(column.rows[rows], column.table, column.origin)
        case ListColumn(offsets, np.ndarray() as values):
            indices = np.ascontiguousarray(rows, np.int64)
            return ListColumn(*taken_lists(values, offsets, indices))
        case ListColumn(offsets, TakenColumn() as values):
            indices = np.ascontiguousarray(rows, np.int64)
            taken_offsets, taken = taken_lists(values.rows, offsets, indices)
            return ListColumn(taken_offsets, TakenColumn(taken, values.table, values.origin))
        case ListColumn(offsets, values):
            starts = offsets[:-1][rows]
            lengths = offsets[1:][rows] - starts
            new_offsets = np.zeros(len(rows) + 1, np.int64)
            np.cumsum(lengths, out=new_offsets[1:])
            # Position k of the result comes from (start of its list) + (k - new start of its list).
            inner = np.arange(new_offsets[-1], dtype=np.int64)
            inner += np.repeat(starts - new_offsets[:-1], lengths)
            return ListColumn(new_offsets, take(values, inner))
        case TakenColumn():
            return TakenColumn(column.rows[rows], column.table, column.origin)
        case StructColumn(_, members):
            return StructColumn(len(rows), tuple(take(member, rows) for member in members))
        case UnionColumn(tags, inner_rows, options):
            return UnionColumn(tags[rows], inner_rows[rows], options)
        case OptionalColumn(valid, values):
            return OptionalColumn(valid[rows], take(values, rows))


def sizes_of(column: ListColumn) -> NDArray[np.int64]:
    """Return the number of values in each list."""
    if isinstance(column, TakenListColumn):
        return np.diff(column.table.offsets)[column.rows]
    return np.diff(column.offsets)


def without_optional(
    column: Column, field_class: FieldClass
) -> tuple[Column, FieldClass, NDArray[np.bool_] | None]:
    """Return the values of a column and their class, without optionals around them, and which rows have
    one (None: all).
    """
    valid: NDArray[np.bool_] | None = None
    while isinstance(column, OptionalColumn) and isinstance(field_class, OptionalClass):
        valid = column.valid if valid is None else valid & column.valid
        column, field_class = column.values, field_class.element
    return column, field_class, valid


def with_integers(column: Column, values: NDArray[np.int64]) -> Column:
    """Return a column of integers, which may be optional, with other values."""
    if isinstance(column, OptionalColumn):
        return OptionalColumn(column.valid, with_integers(column.values, values))
    assert isinstance(column, np.ndarray), "the values are integers"
    return values.astype(column.dtype)


def concatenate(columns: Sequence[Column]) -> Column:
    """Concatenate several columns of one field class that are stored in the same way."""
    match columns[0]:
        case np.ndarray():
            return np.concatenate([column for column in columns if isinstance(column, np.ndarray)])
        case NullColumn():
            return NullColumn(sum(len(column) for column in columns))
        case ListColumn():
            lists = [column for column in columns if isinstance(column, ListColumn)]
            pieces = [column.offsets[1:] - column.offsets[0] for column in lists]
            bases = np.cumsum(
                [0] + [int(column.offsets[-1] - column.offsets[0]) for column in lists]
            )
            offsets = np.concatenate(
                [np.zeros(1, np.int64)]
                + [piece + base for piece, base in zip(pieces, bases[:-1], strict=True)]
            )
            values = [
                _slice_of(column.values, column.offsets[0], column.offsets[-1]) for column in lists
            ]
            return ListColumn(offsets, concatenate(values))
        case StructColumn(_, members):
            structs = [column for column in columns if isinstance(column, StructColumn)]
            return StructColumn(
                sum(len(column) for column in structs),
                tuple(
                    concatenate([column.members[i] for column in structs])
                    for i in range(len(members))
                ),
            )
        case UnionColumn(_, _, options):
            unions = [column for column in columns if isinstance(column, UnionColumn)]
            bases_of = np.zeros(len(options), np.int32)
            rows = []
            for column in unions:
                rows.append(column.rows + bases_of[column.tags])
                bases_of += np.array([len(option) for option in column.options], np.int32)
            return UnionColumn(
                np.concatenate([column.tags for column in unions]),
                np.concatenate(rows),
                tuple(
                    concatenate([column.options[i] for column in unions])
                    for i in range(len(options))
                ),
            )
        case OptionalColumn():
            optionals = [column for column in columns if isinstance(column, OptionalColumn)]
            return OptionalColumn(
                np.concatenate([column.valid for column in optionals]),
                concatenate([column.values for column in optionals]),
            )


def _slice_of(column: Column, start: Any, end: Any) -> Column:
    if isinstance(column, np.ndarray):
        return column[start:end]
    return take(column, np.arange(start, end))


def value(column: Column, field_class: FieldClass, row: int, strings: StringTable) -> Any:
    """Return value `row` of `column` as a Python object.

    Strings and bytes are ``bytes``, structures a list of (name, value), arrays a list, variants (option, value), absent
    optionals and nulls None.
    """
    match field_class, column:
        case (StringClass(), np.ndarray()):
            return strings[int(column[row])]
        case (StringClass() | BytesClass(), ListColumn(offsets, values)):
            assert isinstance(values, np.ndarray)
            return values[offsets[row] : offsets[row + 1]].tobytes()
        case (_, np.ndarray()):
            return column[row].item()
        case (NullClass(), _):
            return None
        case (ArrayClass(element), ListColumn(offsets, values)):
            return [
                value(values, element, i, strings)
                for i in range(int(offsets[row]), int(offsets[row + 1]))
            ]
        case (StructureClass(members), StructColumn(_, columns)):
            return [
                (member.name, value(inner, member.type, row, strings))
                for member, inner in zip(members, columns, strict=True)
            ]
        case (VariantClass(options), UnionColumn(tags, rows, columns)):
            tag = int(tags[row])
            option = options[tag]
            return (option.name, value(columns[tag], option.type, int(rows[row]), strings))
        case (OptionalClass(element), OptionalColumn(valid, values)):
            return value(values, element, row, strings) if valid[row] else None
    raise TypeError(f"a {type(column).__name__} does not hold {field_class}")


def column_from_values(
    field_class: FieldClass, values: Sequence[Any], strings: StringTable
) -> Column:
    """Return the column with these `values`, the inverse of `value` (for small data: loading, tests)."""
    match field_class:
        case IntegerClass() | FloatClass():
            return np.array(values, field_class.dtype)
        case BooleanClass():
            return np.array(values, np.bool_)
        case StringClass():
            return np.array([strings.intern(text) for text in values], np.int32)
        case BytesClass():
            return list_of_bytes(values)
        case NullClass():
            return NullColumn(len(values))
        case ArrayClass(element):
            flat = [item for items in values for item in items]
            return ListColumn(_offsets(values), column_from_values(element, flat, strings))
        case StructureClass(members):
            columns = tuple(
                column_from_values(member.type, [row[i][1] for row in values], strings)
                for i, member in enumerate(members)
            )
            return StructColumn(len(values), columns)
        case VariantClass(options):
            number = {option.name: i for i, option in enumerate(options)}
            items_by_option: list[list[Any]] = [[] for _ in options]
            tags = np.zeros(len(values), np.int16)
            rows = np.zeros(len(values), np.int32)
            for i, (name, item) in enumerate(values):
                tags[i] = number[name]
                rows[i] = len(items_by_option[number[name]])
                items_by_option[number[name]].append(item)
            columns = tuple(
                column_from_values(option.type, items, strings)
                for option, items in zip(options, items_by_option, strict=True)
            )
            return UnionColumn(tags, rows, columns)
        case OptionalClass(element):
            valid = np.array([item is not None for item in values], np.bool_)
            filled = [neutral(element) if item is None else item for item in values]
            return OptionalColumn(valid, column_from_values(element, filled, strings))


def string_ids(column: Column, strings: StringTable) -> NDArray[np.int32]:
    """Return a column of strings as ids, whichever way it is stored."""
    if isinstance(column, np.ndarray):
        return column
    assert isinstance(column, ListColumn)
    ids = np.empty(len(column), np.int32)
    strings.intern_spans(
        np.ascontiguousarray(column.values), column.offsets[:-1], np.diff(column.offsets), ids
    )
    return ids


def list_of_bytes(values: Sequence[bytes]) -> ListColumn:
    """Return a `ListColumn` of uint8 with these `values`."""
    return ListColumn(_offsets(values), np.frombuffer(b"".join(values), np.uint8))


def neutral(field_class: FieldClass) -> Any:
    """Return the placeholder value of a class where there is none (zero, empty)."""
    match field_class:
        case IntegerClass():
            return 0
        case FloatClass():
            return 0.0
        case BooleanClass():
            return False
        case StringClass() | BytesClass():
            return b""
        case NullClass() | OptionalClass():
            return None
        case ArrayClass(element, length):
            return [neutral(element) for _ in range(length or 0)]
        case StructureClass(members):
            return [(member.name, neutral(member.type)) for member in members]
        case VariantClass(options):
            return (options[0].name, neutral(options[0].type))


def _offsets(values: Sequence[Sequence[Any]]) -> NDArray[np.int64]:
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(items) for items in values], out=offsets[1:])
    return offsets
