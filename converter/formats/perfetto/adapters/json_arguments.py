"""Adapts events from JSON to what importers show for JSON: text like ``0x1f``, and no clock syncs."""

from __future__ import annotations

from dataclasses import replace

from converter.formats.perfetto import mapping
from converter.formats.perfetto.json_sidecar import was_json
from converter.ir.events import Field
from converter.ir.field_classes import (
    ArrayClass,
    FieldClass,
    IntegerClass,
    StructureClass,
    Style,
)
from converter.ir.kinds import Role
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition
from converter.projection.instants import lower_to_instant


def as_pointers(partition: Partition, projection: Projection) -> Partition:
    """Convert hexadecimal text of JSON, which is a number here, to the annotation that importers show the same way."""
    if not was_json(projection.source):
        return partition
    fields = partition.event_class.fields
    new_fields = tuple(_pointer_field(field) for field in fields)
    if new_fields == fields:
        return partition
    for field, one in zip(fields, new_fields, strict=True):
        if field != one:
            projection.lose("field-type", partition, field=field.name)
    event_class = partition.derive(
        ("pointers",), lambda: replace(partition.event_class, fields=new_fields)
    )
    return partition.rewritten(event_class, partition.lazy_columns())


def _pointer_field(field: Field) -> Field:
    is_argument = field.role is Role.NONE and field not in mapping.PARTS
    return replace(field, type=_as_pointer(field.type)) if is_argument else field


def _as_pointer(field_class: FieldClass) -> FieldClass:
    match field_class:
        case IntegerClass(64, False, Style.HEXADECIMAL):
            return replace(field_class, style=Style.POINTER)
        case ArrayClass(element, length):
            return ArrayClass(_as_pointer(element), length)
        case StructureClass(members):
            kept = (replace(member, type=_as_pointer(member.type)) for member in members)
            return StructureClass(tuple(kept))
    return field_class


def without_clock_syncs(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower clock syncs: those of JSON are dropped, as importers do not show them; others become instants."""
    if not was_json(projection.source):
        return lower_to_instant(partition, projection)
    projection.lose("clock-sync-dropped", partition)
    return []
