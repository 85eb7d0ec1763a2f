"""Converts values that JSON cannot express to ones that it can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.json_values.mixed_lists import mixed_lists_as_json
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    FieldClass,
    IntegerClass,
    Member,
    OptionalClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.ir.tables import ComputedColumn
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition
from converter.projection.unseen import lose_empty

#: Written as text like "0x1f", which holds all 64 bits.
HEXADECIMAL: Final = IntegerClass(64, style=Style.HEXADECIMAL)


def narrowed(partition: Partition, projection: Projection) -> Partition:
    """Convert values that JSON cannot express without a declaration.

    Unsigned integers of less than 64 bits become signed ones, addresses hexadecimal, lists of mixed types JSON text.
    """
    partition = mixed_lists_as_json(partition, projection)
    own = partition.event_class
    lose_empty(partition, projection)
    narrow = partition.derive((narrowed,), lambda: _narrowed_class(own))
    if narrow is own:
        return partition
    columns = [
        ComputedColumn(_signed, (column,), partition) if is_signed else column
        for column, is_signed in zip(
            partition.lazy_columns(), _become_signed(own.fields, narrow.fields), strict=True
        )
    ]
    return partition.rewritten(narrow, columns)


def _narrowed_class(event_class: EventClass) -> EventClass:
    fields = tuple(replace(one, type=_narrow(one.type)) for one in event_class.fields)
    return event_class if fields == event_class.fields else replace(event_class, fields=fields)


def _narrow(field_class: FieldClass) -> FieldClass:
    match field_class:
        case IntegerClass(bits, False, Style.SYMBOL):
            return IntegerClass(bits, style=Style.HEXADECIMAL)
        case IntegerClass(bits, False, style, labels, flags) if bits < 64 and style not in (
            Style.HEXADECIMAL,
            Style.POINTER,
        ):
            return IntegerClass(64, True, style, labels, flags)
    return _with_hexadecimal(field_class)


def _with_hexadecimal(field_class: FieldClass) -> FieldClass:
    """Return a class whose addresses are hexadecimal numbers, those inside it included."""
    match field_class:
        case IntegerClass(bits, False, Style.POINTER):
            return IntegerClass(bits, style=Style.HEXADECIMAL)
        case ArrayClass(element):
            return replace(field_class, element=_with_hexadecimal(element))
        case OptionalClass(element):
            return replace(field_class, element=_with_hexadecimal(element))
        case StructureClass(members):
            return replace(field_class, members=_members_with_hexadecimal(members))
        case VariantClass(options):
            return replace(field_class, options=_members_with_hexadecimal(options))
    return field_class


def _members_with_hexadecimal(members: tuple[Member, ...]) -> tuple[Member, ...]:
    return tuple(replace(one, type=_with_hexadecimal(one.type)) for one in members)


def _become_signed(own: Sequence[Field], narrow: Sequence[Field]) -> Iterator[bool]:
    """Yield True for each field that is signed in `narrow` and was not in `own`."""
    for before, after in zip(own, narrow, strict=True):
        is_signed = isinstance(after.type, IntegerClass) and after.type.signed
        yield is_signed and isinstance(before.type, IntegerClass) and not before.type.signed


def _signed(_partition: Partition, column: NDArray[Any]) -> NDArray[np.int64]:
    return column.astype(np.int64)
