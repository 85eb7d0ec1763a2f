"""Flattens nested fields, for formats that have only flat ones.

Structures and short fixed arrays become fields of their own. Optionals and variants become classes of their own, one
for each combination that occurs: in such a format, the shape of an event's arguments is its class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from converter.ir.columns import (
    Column,
    ListColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    take,
)
from converter.ir.distinct_values import distinct
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    OptionalClass,
    StringClass,
    StructureClass,
    VariantClass,
)
from converter.ir.kinds import Role
from converter.ir.tables import ComputedColumn
from converter.projection.capabilities import Capabilities
from converter.projection.engine.partitions import Partition, Thunk
from converter.projection.engine.types import converts, is_stack

#: Fixed arrays of at most this many elements become one field per element.
MAX_FLATTENED = 16

_Part = tuple[Field, Thunk]


def is_nested(event_class: EventClass, capabilities: Capabilities) -> bool:
    """Return True if the class has structures or arrays that `flattened` splits."""
    return any(
        _is_split(field, capabilities) and not _is_held(field, event_class, capabilities)
        for field in event_class.fields
    )


def is_varying(event_class: EventClass, capabilities: Capabilities) -> bool:
    """Return True if the class has optionals or variants that `split_by_presence` resolves."""
    return any(_is_resolved(field, capabilities) for field in event_class.fields)


def _is_resolved(field: Field, capabilities: Capabilities) -> bool:
    return (isinstance(field.type, OptionalClass) and not capabilities.optionals) or (
        isinstance(field.type, VariantClass) and not capabilities.variants
    )


def flattened(partition: Partition, capabilities: Capabilities) -> Partition:
    """Return the partition with structures and short arrays split into fields, if the format has none."""
    parts: list[_Part] = []
    for index, field in enumerate(partition.event_class.fields):
        column = partition.table.lazy(index)
        if _is_held(field, partition.event_class, capabilities):
            parts.append((field, column))
        else:
            parts += _flatten(field, column, partition, capabilities)

    def make_class() -> EventClass:
        return replace(partition.event_class, fields=tuple(field for field, _ in parts))

    return partition.rewritten(
        partition.derive(("flattened",), make_class), [column for _, column in parts]
    )


def _is_held(field: Field, event_class: EventClass, capabilities: Capabilities) -> bool:
    """Return True if the format's record has a field for this one as it is."""
    support = capabilities.support(event_class)
    return support is not None and any(
        part.role is field.role
        and (part.role is not Role.NONE or part.name == field.name)
        and type(part.type) is type(field.type)
        and converts(field.type, part.type)
        for part in support.fields
    )


def _is_split(field: Field, capabilities: Capabilities) -> bool:
    match field.type:
        case StructureClass():
            return not capabilities.structures
        case ArrayClass(element, int(length)):
            if capabilities.arrays or is_stack(field.type):
                return False
            return length <= MAX_FLATTENED and _is_flat(element)
    return False


def _flatten(
    field: Field, column: Thunk, partition: Partition, capabilities: Capabilities
) -> Iterator[_Part]:
    if not _is_split(field, capabilities):
        yield field, column
    elif isinstance(field.type, StructureClass):
        for i, member in enumerate(field.type.members):
            inner = Field(f"{field.name}.{member.name}", member.type, field.role, field.unit)
            yield from _flatten(inner, _member(column, i, partition), partition, capabilities)
    elif isinstance(field.type, ArrayClass):
        for i in range(field.type.length or 0):
            inner = Field(f"{field.name}[{i}]", field.type.element, field.role, field.unit)
            yield inner, _element(column, i, field.type.length or 0, partition)


def _is_flat(element: FieldClass) -> bool:
    return isinstance(element, IntegerClass | FloatClass | BooleanClass | StringClass)


def _member(column: Thunk, index: int, partition: Partition) -> Thunk:
    def member(_partition: Partition, parent: Column) -> Column:
        assert isinstance(parent, StructColumn)
        return parent.members[index]

    return ComputedColumn(member, (column,), partition)


def _element(column: Thunk, index: int, length: int, partition: Partition) -> Thunk:
    def element(_partition: Partition, parent: Column) -> Column:
        assert isinstance(parent, ListColumn)
        first = int(parent.offsets[0]) + index
        if isinstance(parent.values, np.ndarray):
            return parent.values[first : first + len(parent) * length : length][: len(parent)]
        return take(parent.values, np.arange(len(parent)) * length + first)

    return ComputedColumn(element, (column,), partition)


def split_by_presence(partition: Partition, capabilities: Capabilities) -> list[Partition]:
    """Return one partition for each combination of present optionals and chosen options."""
    varying = [
        index
        for index, field in enumerate(partition.event_class.fields)
        if _is_resolved(field, capabilities)
    ]
    shape = np.zeros(len(partition), np.int32)
    for index in varying:
        column = partition.table.column(index)
        # Renumbered at each step, so that no number of options makes it overflow.
        if isinstance(column, OptionalColumn):
            _, shape = distinct(shape * 2 + column.valid)
        elif isinstance(column, UnionColumn):
            _, shape = distinct(shape * len(column.options) + column.tags)
    parts = []
    for number in range(int(shape.max()) + 1):
        rows = np.flatnonzero(shape == number)
        part = partition.select(rows) if len(rows) < len(partition) else partition
        parts.append(_resolve(part, set(varying)))
    return parts


def _resolve(partition: Partition, varying: set[int]) -> Partition:
    """Replace optionals and variants, which are the same in all rows, by their values."""
    fields: list[Field] = []
    columns: list[Column | Thunk] = []
    for index, field in enumerate(partition.event_class.fields):
        if index not in varying:
            fields.append(field)
            columns.append(partition.table.lazy(index))
            continue
        column = partition.table.column(index)
        if isinstance(field.type, OptionalClass) and isinstance(column, OptionalColumn):
            if column.valid[0]:
                fields.append(replace(field, type=field.type.element))
                columns.append(column.values)
        elif isinstance(field.type, VariantClass) and isinstance(column, UnionColumn):
            tag = int(column.tags[0])
            fields.append(replace(field, type=field.type.options[tag].type))
            columns.append(take(column.options[tag], column.rows))
    return partition.rewritten(replace(partition.event_class, fields=tuple(fields)), columns)
