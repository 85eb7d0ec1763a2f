"""Arrays as arguments: arrays are kept if annotations can name the type of their elements; others become text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from converter.formats.perfetto import mapping
from converter.formats.perfetto.json_sidecar import was_json
from converter.formats.perfetto.mapping import JSON_VALUE
from converter.formats.perfetto.protobuf.event_schemas import type_text
from converter.ir.columns import Column
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    NullClass,
    StringClass,
    StructureClass,
)
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition
from converter.projection.engine.texts import rendered


def keep_lists(partition: Partition, projection: Projection) -> Partition:
    """Keep arrays of numbers and texts, and nested ones, of any length; others become text, for JSON its own text."""
    fields = partition.event_class.fields
    if not any(field not in mapping.PARTS and _has_list(field.type) for field in fields):
        return partition
    columns: list[Any] = partition.lazy_columns()
    changed: list[Field] = []
    for index, field in enumerate(fields):
        kept = field
        if field not in mapping.PARTS and _has_list(field.type):
            kind = _kept(field.type)
            if kind is None and was_json(projection.source):
                kind = JSON_VALUE
                projection.lose("field-type", partition, field=field.name)
                columns[index] = _as_text(partition, index, field.name, projection)
            elif kind is None:
                projection.lose("field-as-text", partition, field=field.name)
                columns[index] = _as_text(partition, index, field.name, projection)
            elif kind != field.type:
                projection.lose("field-type", partition, field=field.name)
            kept = replace(field, type=kind or StringClass())
        changed.append(kept)

    def new_class() -> EventClass:
        return replace(partition.event_class, fields=tuple(changed))

    return partition.rewritten(partition.derive(("lists",), new_class), columns)


def _as_text(partition: Partition, index: int, what: str, projection: Projection) -> Any:
    def text() -> Column:
        kind = partition.event_class.fields[index].type
        return rendered(partition.table.column(index), kind, what, partition, projection)

    return text


def _has_list(field_class: FieldClass) -> bool:
    match field_class:
        case ArrayClass():
            return True
        case StructureClass(members):
            return any(_has_list(member.type) for member in members)
    return False


def _kept(field_class: FieldClass) -> FieldClass | None:
    """Return the type in which a list, or a structure of lists, is kept; None where it is not kept."""
    match field_class:
        case ArrayClass(element, _):
            inner = element if isinstance(element, NullClass) else _element(element)
            return None if inner is None else ArrayClass(inner)
        case StructureClass(members):
            types = [_kept(member.type) for member in members]
            if any(kind is None for kind in types):
                return None
            return StructureClass(
                tuple(
                    replace(member, type=kind)
                    for member, kind in zip(members, types, strict=True)
                    if kind is not None
                )
            )
    return field_class


def _element(element: FieldClass) -> FieldClass | None:
    """Return the type of elements that an empty list can name (`annotations.EMPTY_LIST_OF`)."""
    match element:
        case IntegerClass(_, signed, style):
            return element if type_text(IntegerClass(64, signed, style)) else None
        case FloatClass() | BooleanClass() | StringClass():
            return element
        case ArrayClass(inner, _) if not isinstance(inner, FloatClass | NullClass):
            kept = _element(inner)
            return None if kept is None else ArrayClass(kept)
    return None
