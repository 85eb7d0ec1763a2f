"""Computations once per distinct value of a column of integers: another number, a name.

A column with a million rows has few values (ids, system calls, states, tracks), so Python handles each of these once,
and every row is a lookup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, constant_column
from converter.ir.tables import ComputedColumn
from converter.kernels.batches.union import number_values
from converter.kernels.tables.strings import StringTable
from converter.kernels.tables.value_numbers import numbers_of_values

Number = TypeVar("Number", bound=np.integer[Any])


def distinct(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distinct values of a column of integers, in any order, and the index of each row's value
    among them.
    """
    if column.strides == (0,) and len(column):
        return column[:1], constant_column(np.int32(0), len(column))
    small = _small_range(column)
    if small is None:
        return _far_apart(column)
    base, offset, values = small
    number = np.zeros(int(values[-1]) + 1 if len(values) else 1, np.int32)
    number[values] = np.arange(len(values), dtype=np.int32)
    wide = np.dtype(np.uint64 if base >> 63 > 0 else np.int64)
    return (values.astype(wide) + wide.type(base)).astype(column.dtype), number[offset]


def values_of(column: NDArray[Number]) -> NDArray[Number]:
    """Return the distinct values of a column of integers, in ascending order.

    `numpy.unique` does the same, and imports NumPy's masked arrays to do it, which takes 10 ms.
    """
    if column.strides == (0,):
        return column[:1]
    ordered = np.sort(column)
    is_new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]


def counts_of(column: NDArray[np.integer[Any]]) -> dict[int, int]:
    """Return the distinct values of a column of integers, and how often each occurs."""
    low = int(column.min(initial=0))
    if int(column.max(initial=0)) - low >= 64 * len(column) + 1024:
        values, indices = _far_apart(column)
        counts = np.bincount(indices)
    else:
        counts = np.bincount(column.astype(np.int64) - low)
        values = np.flatnonzero(counts)
        values, counts = values + low, counts[values]
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def map_distinct(column: NDArray[Any], number: Callable[[int], int]) -> NDArray[np.int32]:
    """Return an int32 column made from a column of integers; `number` is called once per distinct value."""
    if column.strides == (0,) and len(column):
        return constant_column(np.int32(number(int(column[0]))), len(column))
    small = _small_range(column)
    if small is None:
        values, inverse = _far_apart(column)
        return np.array([number(item) for item in values.tolist()], np.int32)[inverse]
    base, offset, values = small
    table = np.zeros(int(values[-1]) + 1 if len(values) else 1, np.int32)
    table[values] = [number(item + base) for item in values.tolist()]
    return table[offset]


def _far_apart(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    wide = column.astype(np.int64) if column.dtype.itemsize < 8 else column
    values, numbers = number_values(wide.view(np.uint64))
    return values.view(wide.dtype).astype(column.dtype), numbers


def _small_range(
    column: NDArray[Any],
) -> tuple[int, NDArray[np.intp], NDArray[np.intp]] | None:
    """Return a base, each value's distance from it, and the distances that occur, or None if the range is too large.

    Small ranges (ids, vectors, numbers of system calls) use a lookup table instead of a sort.
    """
    if not len(column):
        return 0, np.zeros(0, np.intp), np.zeros(0, np.intp)
    low, high = int(column.min()), int(column.max())
    if high - low >= min(1 << 20, 64 * len(column) + 1024):
        return None
    # Values that are small themselves need no subtraction.
    base = 0 if low >= 0 and high < 4096 else low
    wide = column if column.dtype.itemsize == 8 else column.astype(np.int64)
    offset = (wide - wide.dtype.type(base) if base else wide).astype(np.intp, copy=False)
    present = np.zeros(high - base + 1, np.bool_)
    present[offset] = True
    return base, offset, np.flatnonzero(present)


#: Results are cached for values from -1 up to this.
_MOST_REMEMBERED = 1 << 16
_UNKNOWN = -(1 << 31)


class ByValue:
    """Maps columns of integers to int32 columns; `number` is called once for each small value, across batches."""

    def __init__(self, number: Callable[[int], int]) -> None:
        self._number = number
        self._numbers = np.full(0, _UNKNOWN, np.int32)

    def __call__(self, _context: object, column: NDArray[Any]) -> NDArray[np.int32]:
        """Return the number of each value."""
        if column.strides == (0,) and len(column):
            return constant_column(np.int32(self._number_of(int(column[0]))), len(column))
        numbers = np.empty(len(column), np.int32)
        if numbers_of_values(column, self._numbers, _UNKNOWN, numbers):
            return numbers
        return map_distinct(column, self._number_of)

    def _number_of(self, value: int) -> int:
        if not -1 <= value < _MOST_REMEMBERED:
            return self._number(value)
        if value + 1 >= len(self._numbers):
            more = np.full(max(2 * value, 64) - len(self._numbers), _UNKNOWN, np.int32)
            self._numbers = np.append(self._numbers, more)
        number = int(self._numbers[value + 1])
        if number == _UNKNOWN:
            number = self._numbers[value + 1] = self._number(value)
        return number


def names_by_value(
    column: NDArray[Any], name: Callable[[int], str | bytes], strings: StringTable
) -> NDArray[np.int32]:
    """Return a string column made from a column of integers; `name` is called once per distinct value."""
    return map_distinct(column, lambda value: strings.intern(name(value)))


def lazy_names(
    context: object,
    column: Column | Callable[[], Column],
    name: Callable[[int], str | bytes],
    strings: StringTable,
) -> ComputedColumn:
    """Like `names_by_value`, but computed on demand."""
    return ComputedColumn(ByValue(lambda value: strings.intern(name(value))), (column,), context)
