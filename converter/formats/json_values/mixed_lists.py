"""Lists whose elements have mixed types or are missing become JSON text, as the reader returns such lists."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from converter.formats.json_values.value_text import value_text
from converter.ir.columns import Column, StructColumn, list_of_bytes, value
from converter.ir.events import Field
from converter.ir.field_classes import (
    ArrayClass,
    FieldClass,
    OptionalClass,
    StructureClass,
    VariantClass,
)
from converter.kernels.tables.strings import StringTable
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition
from converter.projection.timeline_fields import JSON_TEXT


def mixed_lists_as_json(partition: Partition, projection: Projection) -> Partition:
    """Return the partition with its mixed lists as JSON text."""
    fields = partition.event_class.fields
    mixed = [index for index, field in enumerate(fields) if _has_mixed(field.type)]
    if not mixed:
        return partition
    columns: list[Any] = partition.lazy_columns()
    changed: list[Field] = list(fields)
    for index in mixed:
        field = fields[index]
        projection.lose("field-type", partition, field=field.name)
        changed[index] = replace(field, type=_as_json(field.type))
        columns[index] = _thunk(partition, index, projection.source.strings)
    event_class = partition.derive(
        ("mixed lists",), lambda: replace(partition.event_class, fields=tuple(changed))
    )
    return partition.rewritten(event_class, columns)


def _thunk(partition: Partition, index: int, strings: StringTable) -> Any:
    declared = partition.event_class.fields[index].type
    return lambda: _texts(partition.table.column(index), declared, strings)


def _has_mixed(field_class: FieldClass) -> bool:
    match field_class:
        case ArrayClass(element):
            return _varies(element)
        case StructureClass(members):
            return any(_has_mixed(member.type) for member in members)
    return False


def _varies(element: FieldClass) -> bool:
    match element:
        case VariantClass() | OptionalClass():
            return True
        case ArrayClass(inner):
            return _varies(inner)
        case StructureClass(members):
            return any(_varies(member.type) for member in members)
    return False


def _as_json(field_class: FieldClass) -> FieldClass:
    """Return the class with its mixed lists as text."""
    match field_class:
        case ArrayClass() if _has_mixed(field_class):
            return JSON_TEXT
        case StructureClass(members):
            return StructureClass(
                tuple(replace(member, type=_as_json(member.type)) for member in members)
            )
    return field_class


def _texts(column: Column, field_class: FieldClass, strings: StringTable) -> Column:
    """Return a column with its mixed lists as text."""
    if isinstance(field_class, StructureClass):
        assert isinstance(column, StructColumn)
        parts = zip(column.members, field_class.members, strict=True)
        inner = tuple(_texts(part, member.type, strings) for part, member in parts)
        return StructColumn(column.length, inner)
    if not _has_mixed(field_class):
        return column
    items = (value(column, field_class, row, strings) for row in range(len(column)))
    # Bytes that are not UTF-8 cannot be in JSON text.
    texts = [value_text(item, field_class).encode("utf-8", "surrogateescape") for item in items]
    return list_of_bytes([text.decode("utf-8", "replace").encode() for text in texts])
