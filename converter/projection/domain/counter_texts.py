"""Values of counters that are text: in JSON, importers take those that are numbers as such."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import string_ids
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import FloatClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition

_FLOAT: Final = FloatClass(64)


def has_texts(event_class: EventClass) -> bool:
    """Return True for a counter with arguments that are text."""
    return event_class.kind is Kind.COUNTER and any(map(is_text, event_class.fields))


def is_text(field: Field) -> bool:
    """Return True if a counter's field is text, which in JSON may be a number."""
    return field.role is Role.NONE and isinstance(field.type, StringClass)


def texts_as_values(partition: Partition, projection: Projection) -> list[Partition]:
    """Return the counters with texts that are numbers as values; rows whose texts are not are apart."""
    parts = [partition]
    for index, field in enumerate(partition.event_class.fields):
        if is_text(field):
            parts = [half for part in parts for half in _halves(part, index, projection)]
    return parts


def _halves(partition: Partition, index: int, projection: Projection) -> list[Partition]:
    """Return the rows whose text is a number, with that, and the others."""
    column = partition.table.column(index)
    numbers = _numbers(string_ids(column, projection.source.strings), projection)
    known = np.flatnonzero(~np.isnan(numbers))
    if not len(known):
        return [partition]
    others = np.flatnonzero(np.isnan(numbers))
    rows = partition.select(known) if len(others) else partition
    fields = partition.event_class.fields
    field = fields[index]
    projection.lose("field-type", rows, field=field.name)

    def new_class() -> EventClass:
        value = replace(field, type=_FLOAT, role=Role.VALUE)
        own = (*fields[:index], value, *fields[index + 1 :])
        return replace(partition.event_class, fields=own, native=b"")

    columns: list[Any] = rows.lazy_columns()
    columns[index] = numbers[known]
    event_class = partition.derive(("number", index), new_class)
    halves = [rows.rewritten(event_class, columns)]
    return [*halves, partition.select(others)] if len(others) else halves


def _numbers(ids: NDArray[np.int32], projection: Projection) -> NDArray[np.float64]:
    """Return texts as numbers, NaN where they are not numbers."""
    strings = projection.source.strings
    distinct, which = np.unique(ids, return_inverse=True)
    return np.array([_number(strings[id]) for id in distinct.tolist()], np.float64)[which]


def _number(text: bytes) -> float:
    """Return the number that C's ``strtod`` reads if that takes the whole text."""
    if b"_" in text or text[-1:].isspace():
        return float("nan")
    try:
        return float(int(text, 16)) if text[:2] in (b"0x", b"0X") else float(text)
    except (ValueError, OverflowError):
        return float("nan")
