"""Columns of Arrow arrays that were made to be read back: the inverse of `arrays`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from converter.analysis.arrow.arrays import is_nullable, text_bytes
from converter.analysis.arrow.buffers import array_of, numbers
from converter.errors import TraceError
from converter.ir.columns import (
    Column,
    ListColumn,
    NullColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    column_from_values,
    neutral,
    take,
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
    VariantClass,
)
from converter.kernels.tables.strings import StringTable


def restored(
    field_class: FieldClass, array: pa.Array, strings: StringTable, *, escaped: bool = True
) -> Column:
    """Return the column for an array, which is valid and has the type of the field class (`arrow_type`).

    Args:
        field_class: the field class.
        array: the array.
        strings: of the trace.
        escaped: texts are encoded by `exact_text`.

    Raises:
        TraceError: it contains values that the field class cannot have.
    """
    match field_class:
        case OptionalClass(element):
            return _optional(element, array, strings, escaped)
        case NullClass():
            return NullColumn(len(array))
    if array.null_count:
        raise TraceError(expected="a value for each event", found=f"{array.null_count} nulls")
    match field_class:
        case IntegerClass():
            return _in_range(field_class, numbers(array))
        case FloatClass() | BooleanClass():
            return numbers(array)
        case StringClass():
            return text_ids(array, strings, escaped=escaped)
        case BytesClass():
            return _spans(array)
        case ArrayClass(element, length):
            offsets = numbers(array.offsets)
            inner = array.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
            if length is not None and (np.diff(offsets) != length).any():
                raise TraceError(expected=f"arrays of {length} elements")
            return ListColumn(
                offsets - offsets[0], restored(element, inner, strings, escaped=escaped)
            )
        case StructureClass(members):
            return StructColumn(
                len(array),
                tuple(
                    restored(member.type, array.field(index), strings, escaped=escaped)
                    for index, member in enumerate(members)
                ),
            )
        case VariantClass(options):
            return _union(options, array, strings, escaped)
    raise TypeError(f"no column of {field_class}")


def text_ids(array: pa.Array, strings: StringTable, *, escaped: bool = True) -> NDArray[np.int32]:
    """Return the ids of the texts of an array, -1 for null."""
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    if array.dictionary.type not in (pa.string(), pa.large_string()):
        raise TraceError(expected="texts", found=str(array.dictionary.type))
    texts = array.dictionary.to_pylist()
    ids = [strings.intern(text_bytes(text) if escaped else text) for text in texts]
    lookup = np.array([*ids, -1], np.int32)
    found: NDArray[np.int32] = lookup[numbers(array.indices, null=len(ids))]
    return found


def _in_range(field_class: IntegerClass, values: NDArray[Any]) -> NDArray[Any]:
    if field_class.bits != 8 * values.itemsize and not field_class.holds(values):
        raise TraceError(expected=f"integers of {field_class.bits} bits")
    return values


def _spans(array: pa.Array) -> ListColumn:
    _, offset_buffer, data = array.buffers()
    if offset_buffer is None or not len(array):
        return ListColumn(np.zeros(len(array) + 1, np.int64), np.zeros(0, np.uint8))
    offsets = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
    values = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    first, last = int(offsets[0]), int(offsets[-1])
    return ListColumn(offsets - first, values[first:last])


def _union(
    options: tuple[Member, ...], array: pa.StructArray, strings: StringTable, escaped: bool
) -> UnionColumn:
    """Return a variant: its first member is the name of the option."""
    names = [array.type.field(index).name for index in range(1, array.type.num_fields)]
    chosen = array.field(0).dictionary_encode()
    known = {name: tag for tag, name in enumerate(names)}
    lookup = [known.get(name, -1) for name in chosen.dictionary.to_pylist()]
    if chosen.null_count or -1 in lookup:
        raise TraceError(expected="an option of the variant")
    tags = np.array(lookup, np.int16)[numbers(chosen.indices)]
    rows = np.zeros(len(array), np.int32)
    held: list[Column] = []
    for tag, option in enumerate(options):
        positions = np.flatnonzero(tags == tag)
        rows[positions] = np.arange(len(positions), dtype=np.int32)
        values = array.field(tag + 1).take(array_of(positions))
        held.append(restored(option.type, values, strings, escaped=escaped))
    return UnionColumn(tags, rows, tuple(held))


def _optional(
    element: FieldClass, array: pa.Array, strings: StringTable, escaped: bool
) -> OptionalColumn:
    valid: NDArray[np.bool_] = numbers(array.is_valid())
    there = array.filter(array_of(valid))
    inner = there.field(0) if is_nullable(element) else there
    values = restored(element, inner, strings, escaped=escaped)
    if not valid.all():
        if len(values):
            values = take(values, np.maximum(np.cumsum(valid) - 1, 0))
        else:
            none = column_from_values(element, [neutral(element)], strings)
            values = take(none, np.zeros(len(valid), np.int64))
    return OptionalColumn(valid, values)
