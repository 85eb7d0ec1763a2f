"""Cuts names and values to the size of uftrace's print buffers, which it does not check: it crashes on overflow.

`dump --chrome` escapes a name into 2,048 bytes, and the values of a function into 4,096: a quote needs two bytes, a
byte that is not printable ASCII five. `replay` has about 2,100 bytes for the values, and shows 1,024. The halves of the
names in events.txt are read into 512 bytes each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.capabilities import MAX_ARGUMENTS
from converter.ir.columns import Column, ListColumn, string_ids
from converter.ir.events import EventClass
from converter.ir.field_classes import FloatClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition
from converter.projection.engine.texts import cut_utf8
from converter.projection.engine.types import converted, fitted_class

#: The limit for an escaped name, and for each half of the name of an event of the program, in bytes.
_NAME_SIZE: Final = 2000
_EVENT_NAME_SIZE: Final = 500
#: The limit for all values of a function together, including numbers, and the factor for escaped values.
_VALUES_SIZE: Final = 1000
_NUMBER_SIZE: Final = 24
_ESCAPED: Final = 4
#: The size of each byte when escaped, and its maximum.
_MOST_ESCAPED: Final = 5
_ESCAPED_SIZES: Final = np.full(256, _MOST_ESCAPED, np.int64)
_ESCAPED_SIZES[0x20:0x7F] = 1
_ESCAPED_SIZES[list(b'"\\')] = 2
#: Numbers below this are printed (%f) in `_NUMBER_SIZE` bytes.
_LARGE: Final = 1e16


def split_large_numbers(partition: Partition, projection: Projection) -> list[Partition]:
    """Split off events with floating-point numbers that are too long without an exponent, and make these texts."""
    fields = partition.event_class.fields
    floats = [i for i, field in enumerate(fields) if isinstance(field.type, FloatClass)]
    if not floats:
        return [partition]
    digits = np.zeros(len(partition), np.int64)
    for index in floats:
        column = partition.table.column(index)
        assert isinstance(column, np.ndarray)
        digits += _digits(column)
    only_floats = len(floats) + sum(_is_named(field.role) for field in fields) == len(fields)
    limit = _VALUES_SIZE - _NUMBER_SIZE * min(len(floats), MAX_ARGUMENTS) if only_floats else 0
    rows = np.flatnonzero(digits > limit)
    if not len(rows):
        return [partition]
    large = partition.select(rows) if len(rows) < len(partition) else partition
    parts = [_with_texts(large, floats, projection)]
    if len(rows) < len(partition):
        parts.insert(0, partition.select(np.flatnonzero(digits <= limit)))
    return parts


def _digits(numbers: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
    """Return the number of digits before the point of each number in excess of those that always fit."""
    wide = np.abs(numbers.astype(np.float64))
    wide[~(wide >= _LARGE) | np.isinf(wide)] = 1
    return np.ceil(np.log10(wide)).astype(np.int64)


def _is_named(role: Role) -> bool:
    return role in (Role.NAME, Role.CATEGORY)


def with_room(partition: Partition, projection: Projection) -> Partition:
    """Cut the name and values of a function's begin or end so that they can be printed."""
    held = projection.capabilities.kinds[Kind.SLICE_BEGIN].holds
    assert held is not None
    fields = partition.event_class.fields
    values = [i for i, field in enumerate(fields) if not _is_named(field.role)]
    texts = [i for i in values if fitted_class(fields[i].type, held) == StringClass()]
    others = [i for i in texts if fields[i].type != StringClass()]
    if others:
        partition = _with_texts(partition, others, projection)
    columns = partition.lazy_columns()
    for index, field in enumerate(fields):
        if field.role is Role.NAME:
            columns[index] = _cut(partition, projection, index, _NAME_SIZE, _NAME_SIZE)
    if texts:
        numbers = min(len(values) - len(texts), MAX_ARGUMENTS)
        limit = (_VALUES_SIZE - _NUMBER_SIZE * numbers) // min(len(texts), MAX_ARGUMENTS)
        for index in texts:
            columns[index] = _cut(partition, projection, index, limit, _ESCAPED * limit)
    return partition.rewritten(partition.event_class, columns)


def with_event_name(partition: Partition, projection: Projection) -> Partition:
    """Cut the name of an event of the program so that it can be read."""
    columns = partition.lazy_columns()
    for index, field in enumerate(partition.event_class.fields):
        if _is_named(field.role) and isinstance(field.type, StringClass):
            columns[index] = _cut(partition, projection, index, _EVENT_NAME_SIZE, None)
    return partition.rewritten(partition.event_class, columns)


def _with_texts(partition: Partition, which: list[int], projection: Projection) -> Partition:
    """Return the partition with some fields as text."""
    event_class = partition.event_class
    columns = partition.lazy_columns()
    for index in which:
        name = event_class.fields[index].name
        projection.lose("field-as-text", partition, field=name)
        columns[index] = _text(partition, index, name, projection)

    def declared() -> EventClass:
        fields = list(event_class.fields)
        for index in which:
            fields[index] = replace(fields[index], type=StringClass())
        return replace(event_class, fields=tuple(fields))

    return partition.rewritten(partition.derive(("texts", *which), declared), columns)


def _text(
    partition: Partition, index: int, what: str, projection: Projection
) -> Callable[[], Column]:
    def text() -> Column:
        column, field_class = (
            partition.table.column(index),
            partition.event_class.fields[index].type,
        )
        return converted(column, field_class, StringClass(), what, partition, projection)

    return text


def _cut(
    partition: Partition, projection: Projection, index: int, limit: int, escaped: int | None
) -> Callable[[], Column]:
    """Cut the texts of a column to `room` bytes, and to `escaped` bytes when escaped."""
    source = partition.lazy_columns()[index]

    def cut() -> Column:
        strings = projection.source.strings
        column = source() if callable(source) else source
        # A text up to this size fits, whatever its bytes are.
        safe = limit if escaped is None else min(limit, escaped // _MOST_ESCAPED)
        if isinstance(column, ListColumn) and int(np.diff(column.offsets).max(initial=0)) <= safe:
            return column
        ids = string_ids(column, strings)
        shorter = {}
        for id in strings.unfit(ids, safe, False).tolist():
            text = strings[id]
            fitting = _fitting(text, limit, escaped)
            if fitting != text:
                shorter[id] = strings.intern(fitting)
        if not shorter:
            return column
        rows = np.isin(ids, list(shorter))
        name = partition.event_class.fields[index].name
        projection.lose("text-cut-for-viewer", partition, rows=rows, field=name)
        result = ids.copy()
        result[rows] = [shorter[id] for id in ids[rows].tolist()]
        return result

    return cut


def _fitting(text: bytes, limit: int, escaped: int | None) -> bytes:
    """Return the longest prefix of a text that fits."""
    text = cut_utf8(text, limit)
    if escaped is None:
        return text
    return cut_utf8(
        text, int(np.searchsorted(np.cumsum(_ESCAPED_SIZES[list(text)]), escaped, "right"))
    )
