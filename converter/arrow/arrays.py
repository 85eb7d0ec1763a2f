"""Columns as Arrow arrays: which type a field class is, and the array of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from converter.ir.columns import (
    Column,
    ListColumn,
    NullColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
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
from converter.ir.text import column_name, label_of, unique_names, utf8_text
from converter.kernels.strings import StringTable

#: Texts repeat: they are numbers into what occurs of them.
TEXT = pa.dictionary(pa.int32(), pa.string())


def arrow_type(field_class: FieldClass) -> pa.DataType:
    """The Arrow type of values of a field class.

    Texts are dictionary-encoded. A variant is a structure with a member for each option, of which all but the chosen
    are null: what reads Arrow seldom knows unions.
    """
    match field_class:
        case IntegerClass() | FloatClass():
            return pa.from_numpy_dtype(field_class.dtype)
        case BooleanClass():
            return pa.bool_()
        case StringClass():
            return TEXT
        case BytesClass():
            return pa.large_binary()
        case NullClass():
            return pa.null()
        case ArrayClass(element):
            return pa.large_list(arrow_type(element))
        case StructureClass(members) | VariantClass(members):
            return pa.struct(_members(members))
        case OptionalClass(element):
            return arrow_type(element)


def arrow_array(field_class: FieldClass, column: Column, strings: StringTable) -> pa.Array:
    r"""The values of a column, whose buffers are shared where Arrow has the same (numbers in a row, lists, bytes).

    Bytes of texts that are not UTF-8, which Arrow's have to be, are written ``\xNN``.
    """
    match field_class, column:
        case (IntegerClass() | FloatClass() | BooleanClass(), np.ndarray()):
            return pa.array(column, arrow_type(field_class))
        case (StringClass(), np.ndarray()):
            return text_array(column, strings)
        case (StringClass(), ListColumn(offsets, values)):
            texts = _spans(offsets, values).to_pylist()
            return pa.array(map(utf8_text, texts), pa.string()).dictionary_encode()
        case (BytesClass(), ListColumn(offsets, values)):
            return _spans(offsets, values)
        case (NullClass(), NullColumn(length)):
            return pa.nulls(length)
        case (ArrayClass(element), ListColumn(offsets, values)):
            return pa.LargeListArray.from_arrays(
                pa.array(offsets), arrow_array(element, values, strings)
            )
        case (StructureClass(members), StructColumn(length, columns)):
            arrays = [
                arrow_array(member.type, inner, strings)
                for member, inner in zip(members, columns, strict=True)
            ]
            return _structure(length, members, arrays)
        case (VariantClass(options), UnionColumn(tags, rows, columns)):
            arrays = [
                taken(arrow_array(option.type, inner, strings), rows, tags == tag)
                for tag, (option, inner) in enumerate(zip(options, columns, strict=True))
            ]
            return _structure(len(tags), options, arrays)
        case (OptionalClass(element), OptionalColumn(valid, values)):
            return taken(arrow_array(element, values, strings), np.arange(len(valid)), valid)
    raise TypeError(f"a {type(column).__name__} does not hold {field_class}")


def text_array(ids: NDArray[np.int32], strings: StringTable) -> pa.DictionaryArray:
    """Texts by their ids in `strings` (shape (n,), -1: none), with a dictionary of those that occur."""
    used, indices = np.unique(ids, return_inverse=True)
    return named_array(indices, [None if i < 0 else strings[i] for i in used.tolist()])


def named_array(
    indices: NDArray[np.integer[Any]], names: Sequence[bytes | str | None]
) -> pa.DictionaryArray:
    """What ``names[indices[i]]`` is (None: null), with a dictionary in which each name is once."""
    texts = [None if name is None else utf8_text(name) for name in names]
    distinct = [text for text in dict.fromkeys(texts) if text is not None]
    numbers = {text: number for number, text in enumerate(distinct)}
    lookup = np.array([-1 if text is None else numbers[text] for text in texts], np.int32)
    found = lookup[indices] if len(lookup) else np.zeros(0, np.int32)
    return pa.DictionaryArray.from_arrays(
        pa.array(found, pa.int32(), mask=found < 0), pa.array(distinct, pa.string())
    )


def label_array(field_class: IntegerClass, column: NDArray[Any]) -> pa.DictionaryArray:
    """What the labels of an enumeration, or of its flags, call the values of a column; null where there is none."""
    used, indices = np.unique(column, return_inverse=True)
    return named_array(indices, [label_of(field_class, value) or None for value in used.tolist()])


def taken(array: pa.Array, rows: NDArray[np.integer[Any]], valid: NDArray[np.bool_]) -> pa.Array:
    """The values at `rows` (shape (n,)), null where not `valid`."""
    return array.take(pa.array(rows, pa.int64(), mask=~valid))


def _members(members: Sequence[Member]) -> list[pa.Field]:
    names = unique_names([column_name(member.name) for member in members])
    return [
        pa.field(name, arrow_type(member.type)) for name, member in zip(names, members, strict=True)
    ]


def _structure(length: int, members: Sequence[Member], arrays: Sequence[pa.Array]) -> pa.Array:
    if not members:
        return pa.array([{}] * length, pa.struct([]))
    return pa.StructArray.from_arrays(arrays, fields=_members(members))


def _spans(offsets: NDArray[np.int64], values: Column) -> pa.Array:
    assert isinstance(values, np.ndarray)
    buffers = [
        None,
        pa.py_buffer(np.ascontiguousarray(offsets)),
        pa.py_buffer(np.ascontiguousarray(values)),
    ]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
