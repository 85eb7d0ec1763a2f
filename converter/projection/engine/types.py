"""Field classes that a format can hold, and the conversion of columns to them.

`fitted_class` maps a field class, down to the leaves of nested ones; `converted` converts the column.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from converter.ir.columns import (
    Column,
    ListColumn,
    OptionalColumn,
    StructColumn,
    TakenColumn,
    UnionColumn,
    list_of_bytes,
)
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Member,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.projection.capabilities import Capabilities, Projection
from converter.projection.engine.partitions import Partition
from converter.projection.engine.texts import (
    all_fit,
    column_texts,
    fit_identifier,
    fit_strings,
    rendered,
)
from converter.projection.losses import LossClass


def is_stack(field_class: FieldClass) -> bool:
    """Return True if values are lists of addresses of functions: a call stack, which only names make readable."""
    match field_class:
        case ArrayClass(IntegerClass(style=Style.SYMBOL)):
            return True
    return False


def fitted_class(field_class: FieldClass, capabilities: Capabilities) -> FieldClass:
    """Return the class in which a format holds values of `field_class`; text is the last resort."""
    match field_class:
        case IntegerClass():
            return fit_integer(field_class, capabilities)
        case FloatClass(bits) if bits not in capabilities.floats and capabilities.floats:
            return FloatClass(max(capabilities.floats))
        case FloatClass() if capabilities.floats:
            return field_class
        case BooleanClass():
            if capabilities.booleans:
                return field_class
            return fit_integer(IntegerClass(8), capabilities)
        case BytesClass(media_type) if media_type in capabilities.media_types:
            return field_class
        case BytesClass() if capabilities.blobs:
            return BytesClass()
        case NullClass() if capabilities.nulls:
            return field_class
        case ArrayClass(element, length) if capabilities.arrays and (
            not is_stack(field_class) or Style.SYMBOL in capabilities.styles
        ):
            return ArrayClass(fitted_class(element, capabilities), length)
        case StructureClass(members) if capabilities.structures:
            return StructureClass(_fitted_members(members, capabilities))
        case VariantClass(options) if capabilities.variants:
            return VariantClass(_fitted_members(options, capabilities))
        case OptionalClass(element) if capabilities.optionals:
            return OptionalClass(fitted_class(element, capabilities))
    return StringClass()


def _fitted_members(members: tuple[Member, ...], capabilities: Capabilities) -> tuple[Member, ...]:
    return tuple(
        Member(fit_identifier(member.name, capabilities), fitted_class(member.type, capabilities))
        for member in members
    )


def fit_integer(field_class: IntegerClass, capabilities: Capabilities) -> IntegerClass:
    """Return the narrowest integer class of the format that holds every value of `field_class`."""
    style = field_class.style if field_class.style in capabilities.styles else Style.DECIMAL
    labels = field_class.labels if capabilities.labels else ()
    flags = field_class.flags and bool(labels)
    if style in capabilities.wide_styles:
        return IntegerClass(64, False, style, labels, flags)
    bits, signed = min(
        (
            (bits, signed)
            for bits, signed in capabilities.integers
            if (signed == field_class.signed and bits >= field_class.bits)
            or (signed and bits > field_class.bits)
        ),
        key=lambda choice: (choice[0], choice[1] != field_class.signed),
        default=max(capabilities.integers, default=(64, True)),
    )
    return IntegerClass(bits, signed, style, labels, flags)


def converts(source: FieldClass, target: FieldClass) -> bool:
    """Return True if `converted` can convert a column of `source` to `target`."""
    match source, target:
        case (
            (IntegerClass() | BooleanClass() | StringClass(), IntegerClass())
            | (IntegerClass() | BooleanClass() | FloatClass(), FloatClass())
            | (BooleanClass(), BooleanClass())
            | (BytesClass(), BytesClass())
            | (NullClass(), NullClass())
            | (_, StringClass())
        ):
            return True
        case (ArrayClass(element, length), ArrayClass(wanted, fixed)):
            return fixed in (None, length) and converts(element, wanted)
        case (OptionalClass(element), OptionalClass(wanted)):
            return converts(element, wanted)
        case (StructureClass(members), StructureClass(wanted)) | (
            VariantClass(members),
            VariantClass(wanted),
        ):
            return len(members) == len(wanted) and all(
                converts(one.type, other.type) for one, other in zip(members, wanted, strict=True)
            )
    return False


def keeps_all(source: FieldClass, target: FieldClass) -> bool:
    """Return True if conversion is injective: each value of `source` in the range of `target` can be restored."""
    match source, target:
        case (IntegerClass(), IntegerClass()):
            if source.labels:
                return not target.labels or target.labels == source.labels
            # Labels of values outside the range do not matter.
            return all(
                label.high < source.least or label.low > source.most for label in target.labels
            )
        case (StringClass(), IntegerClass()):
            return False
    return True


def converted(
    column: Column,
    source: FieldClass,
    target: FieldClass,
    name: str,
    partition: Partition,
    projection: Projection,
) -> Column:
    """Convert a column of `source` to `target`, which `converts` must allow; values that change are counted."""
    match source, target, column:
        case (StringClass(), StringClass(), _):
            return fit_strings(column, name, partition, projection)
        case (_, StringClass(), _):
            return rendered(column, source, name, partition, projection)
        case (StringClass(), IntegerClass(), _):
            return _hashed(column, target.dtype, name, partition, projection)
        case (_, IntegerClass() | FloatClass(), np.ndarray()):
            return _cast(column, target.dtype, name, partition, projection)
        case (BytesClass(), BytesClass(), ListColumn()):
            return _cut_bytes(column, name, partition, projection)
        case (ArrayClass(element), ArrayClass(wanted), ListColumn(offsets, values)):
            inner = converted(values, element, wanted, name, partition, projection)
            return column if inner is values else ListColumn(offsets, inner)
        case (OptionalClass(element), OptionalClass(wanted), OptionalColumn(valid, values)):
            inner = converted(values, element, wanted, name, partition, projection)
            return column if inner is values else OptionalColumn(valid, inner)
        case (StructureClass(members), StructureClass(), TakenColumn()) if (
            source == target and all_fit(column.table, members, projection)
        ):
            return column
        case (StructureClass(members), StructureClass(wanted), StructColumn(length, columns)):
            return StructColumn(
                length, _converted_members(columns, members, wanted, name, partition, projection)
            )
        case (VariantClass(options), VariantClass(wanted), UnionColumn(tags, rows, columns)):
            inners = _converted_members(columns, options, wanted, name, partition, projection)
            return UnionColumn(tags, rows, inners)
    return column


def _converted_members(
    columns: tuple[Column, ...],
    members: tuple[Member, ...],
    wanted: tuple[Member, ...],
    name: str,
    partition: Partition,
    projection: Projection,
) -> tuple[Column, ...]:
    return tuple(
        converted(column, member.type, target.type, f"{name}.{member.name}", partition, projection)
        for column, member, target in zip(columns, members, wanted, strict=True)
    )


def _cast(
    column: np.ndarray[Any, Any],
    dtype: np.dtype[Any],
    name: str,
    partition: Partition,
    projection: Projection,
) -> Column:
    """Cast numbers to another type, integers modulo its range; values that do not round-trip are counted as changed."""
    if column.dtype == dtype:
        return column
    if column.dtype.kind != "f" and np.can_cast(column.dtype, dtype):
        return column.astype(dtype)
    if len(column) and column.dtype.kind != "f" and dtype.kind != "f":
        held = np.iinfo(dtype)
        if held.min <= int(column.min()) and int(column.max()) <= held.max:
            return column.astype(dtype)
    # Converting signalling NaNs raises these.
    with np.errstate(over="ignore", invalid="ignore"):
        result = column.astype(dtype)
    if np.can_cast(column.dtype, dtype):
        return result
    if len(column):
        with np.errstate(invalid="ignore"):
            # Exact if it round-trips with the same sign.
            same = (result.astype(column.dtype) == column) & ((result < 0) == (column < 0))
        if column.dtype.kind == "f":
            same |= np.isnan(column)
        lost = ~same if len(column) == len(partition) else None
        count = len(column) - int(np.count_nonzero(same))
        projection.lose(
            "number-out-of-range", partition, count, rows=lost, field=name, type=str(dtype)
        )
    return result


def _hashed(
    column: Column, dtype: np.dtype[Any], name: str, partition: Partition, projection: Projection
) -> Column:
    """Return text identities as numbers: text of a number as its value, other text as a hash.

    Events that match by their ids match by the numbers as they did by the texts.
    """
    from converter.projection.identities import MATCHED, matched_number, plain_number

    texts = column_texts(column, projection)
    kind = partition.event_class.kind
    matches = kind in MATCHED and bool(projection.source.semantics.json_arguments)
    number = partial(matched_number, kind=kind) if matches else plain_number
    numbers = {text: number(text) & 0xFFFF_FFFF_FFFF_FFFF for text in set(texts)}
    loss_class = LossClass.KEPT if matches else None
    projection.lose("id-text-as-number", partition, loss_class=loss_class, field=name)
    return np.array([numbers[text] for text in texts], np.uint64).astype(dtype)


def _cut_bytes(
    column: ListColumn, name: str, partition: Partition, projection: Projection
) -> ListColumn:
    limit = projection.capabilities.max_blob_bytes
    if limit is None:
        return column
    sizes = np.diff(column.offsets)
    count = int(np.count_nonzero(sizes > limit))
    if not count:
        return column
    assert isinstance(column.values, np.ndarray)
    projection.lose("bytes-cut", partition, count, field=name, limit=limit)
    pairs = zip(column.offsets[:-1].tolist(), np.minimum(sizes, limit).tolist(), strict=True)
    return list_of_bytes([column.values[at : at + size].tobytes() for at, size in pairs])
