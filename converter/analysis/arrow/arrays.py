"""Columns as Arrow arrays: the type for a field class, and the array for a column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from converter.analysis.arrow.buffers import array_of, text_array_of
from converter.ir.columns import (
    Column,
    ListColumn,
    NullColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    constant_column,
    renumbered,
)
from converter.ir.display.text import column_name, label_of, unique_names, utf8_text
from converter.ir.distinct_values import distinct
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
from converter.kernels.batches.union import number_values
from converter.kernels.tables.strings import StringTable

#: Texts repeat: they are dictionary-encoded.
TEXT = pa.dictionary(pa.int32(), pa.string())


#: The plain type that `EventTables` of a file, which must be restorable, use for texts nested in others.
_INNER_TEXT = pa.string()
#: Precedes escaped texts of a file.
_ESCAPED = "\N{REPLACEMENT CHARACTER}"
_ESCAPE = re.compile(rb"\\x([0-9a-f]{2})")


def arrow_type(
    field_class: FieldClass, *, exact: bool = False, text: pa.DataType = TEXT
) -> pa.DataType:
    """Return the Arrow type of values of a field class.

    Texts are dictionary-encoded. A variant is a structure with a member for each option, all of which except the chosen
    one are null: few programs that read Arrow support unions.

    Args:
        field_class: the field class.
        exact: True for values that can be restored (`restored`): a variant also has its option's name, an optional is
            in a structure if its value may itself be null, and nested texts are plain.
        text: the type of texts.
    """
    inner = _INNER_TEXT if exact else TEXT
    match field_class:
        case IntegerClass() | FloatClass():
            return pa.from_numpy_dtype(field_class.dtype)
        case BooleanClass():
            return pa.bool_()
        case StringClass():
            return text
        case BytesClass():
            return pa.large_binary()
        case NullClass():
            return pa.null()
        case ArrayClass(element):
            return pa.large_list(arrow_type(element, exact=exact, text=inner))
        case StructureClass(members) | VariantClass(members):
            return pa.struct(struct_fields(field_class, members, exact=exact))
        case OptionalClass(element) if exact and is_nullable(element):
            return pa.struct([pa.field("value", arrow_type(element, exact=True, text=inner))])
        case OptionalClass(element):
            return arrow_type(element, exact=exact, text=text)


def is_nullable(field_class: FieldClass) -> bool:
    """Return True if values of a field class may be null in Arrow."""
    return isinstance(field_class, NullClass | OptionalClass)


def struct_fields(
    field_class: StructureClass | VariantClass, members: Sequence[Member], *, exact: bool = False
) -> list[pa.Field]:
    """Return the fields of the structure for a structure or variant."""
    own = exact and isinstance(field_class, VariantClass)
    names = unique_names([*["option"][:own], *(column_name(member.name) for member in members)])
    inner = _INNER_TEXT if exact else TEXT
    types = [arrow_type(member.type, exact=exact, text=inner) for member in members]
    fields = [*[pa.string()][:own], *types]
    if exact and not fields:
        # Parquet has no structures without members.
        return [pa.field("none", pa.null())]
    return [pa.field(*one) for one in zip(names, fields, strict=True)]


def arrow_array(
    field_class: FieldClass,
    column: Column,
    strings: StringTable,
    *,
    exact: bool = False,
    text: pa.DataType = TEXT,
) -> pa.Array:
    r"""Return the values of a column; buffers are shared if Arrow's are the same (contiguous numbers, lists, bytes).

    Bytes that are not UTF-8, which Arrow requires of texts, are written ``\xNN``. Other arguments are those of
    `arrow_type`.
    """

    def inside(held: FieldClass, inner: Column) -> pa.Array:
        within = _INNER_TEXT if exact else TEXT
        return arrow_array(held, inner, strings, exact=exact, text=within)

    as_text = exact_text if exact else utf8_text
    match field_class, column:
        case (IntegerClass() | FloatClass() | BooleanClass(), np.ndarray()):
            return array_of(column)
        case (StringClass(), np.ndarray()):
            array = text_array(column, strings, exact=exact)
            return array if text == TEXT else array.dictionary_decode()
        case (StringClass(), ListColumn(offsets, values)):
            plain = text_array_of([as_text(one) for one in _spans(offsets, values).to_pylist()])
            return plain.dictionary_encode() if text == TEXT else plain
        case (BytesClass(), ListColumn(offsets, values)):
            return _spans(offsets, values)
        case (NullClass(), NullColumn(length)):
            return pa.nulls(length)
        case (ArrayClass(element), ListColumn(offsets, values)):
            return pa.LargeListArray.from_arrays(array_of(offsets), inside(element, values))
        case (StructureClass(members), StructColumn(length, columns)):
            arrays = [
                inside(member.type, inner) for member, inner in zip(members, columns, strict=True)
            ]
            if not arrays:
                return _empty_structures(length, arrow_type(field_class, exact=exact))
            fields = struct_fields(field_class, members, exact=exact)
            return pa.StructArray.from_arrays(arrays, fields=fields)
        case (VariantClass(options), UnionColumn(tags, rows, columns)):
            arrays = [
                taken(inside(option.type, inner), rows, tags == tag)
                for tag, (option, inner) in enumerate(zip(options, columns, strict=True))
            ]
            fields = struct_fields(field_class, options, exact=exact)
            if exact:
                names = text_array_of([one.name for one in fields[1:]])
                arrays.insert(0, names.take(array_of(tags)))
            return pa.StructArray.from_arrays(arrays, fields=fields)
        case (OptionalClass(element), OptionalColumn(valid, values)):
            array = arrow_array(element, values, strings, exact=exact, text=text)
            if exact and is_nullable(element):
                array = inside(element, values)
                fields = [pa.field("value", array.type)]
                return pa.StructArray.from_arrays([array], fields=fields, mask=array_of(~valid))
            return taken(array, np.arange(len(valid)), valid)
    raise TypeError(f"a {type(column).__name__} does not hold {field_class}")


def exact_text(data: bytes) -> str:
    r"""Return a text from which `text_bytes` restores the same bytes. If it is not UTF-8, invalid bytes are written
    ``\xNN``, backslashes are escaped too, and a leading character marks the escaping.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    else:
        if not text.startswith(_ESCAPED):
            return text
    return _ESCAPED + data.replace(b"\\", rb"\x5c").decode("utf-8", "backslashreplace")


def text_bytes(text: str) -> bytes:
    """Return the bytes from which `exact_text` made a text."""
    data = text.encode()
    if not text.startswith(_ESCAPED):
        return data
    return _ESCAPE.sub(
        lambda found: bytes.fromhex(found[1].decode()), data[len(_ESCAPED.encode()) :]
    )


def text_array(
    ids: NDArray[np.int32], strings: StringTable, *, exact: bool = False
) -> pa.DictionaryArray:
    """Return texts by their ids in `strings` (shape (n,), -1: none), with a dictionary of those that occur.

    The dictionary has them in the order of their first rows: ids follow the order in which threads decoded columns.
    """
    as_text = exact_text if exact else utf8_text
    used, indices = _in_order_of_rows(ids)
    return _looked_up(indices, [None if i < 0 else as_text(strings[i]) for i in used.tolist()])


def texts_of(ids: NDArray[np.int32], strings: StringTable, *, exact: bool = False) -> list[str]:
    """Return the dictionary of a `text_array`."""
    as_text = exact_text if exact else utf8_text
    return [as_text(strings[i]) for i in _in_order_of_rows(ids)[0].tolist() if i >= 0]


def _in_order_of_rows(ids: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct values by the first row that has each, and the index of each row's value among them."""
    if ids.strides == (0,):
        return ids[:1].astype(np.int64), constant_column(np.int32(0), len(ids))
    used, indices = number_values(ids.astype(np.int64).view(np.uint64))
    return used.view(np.int64), indices


def named_array(
    indices: NDArray[np.int32], names: Sequence[bytes | str | None]
) -> pa.DictionaryArray:
    """Return ``names[indices[i]]`` (None: null), with a dictionary in which each name occurs once."""
    return _looked_up(indices, [None if name is None else utf8_text(name) for name in names])


def _looked_up(indices: NDArray[np.int32], texts: Sequence[str | None]) -> pa.DictionaryArray:
    known = [text for text in dict.fromkeys(texts) if text is not None]
    if not known:
        return pa.nulls(len(indices), TEXT)
    numbers = {text: number for number, text in enumerate(known)}
    found = renumbered(indices, [-1 if text is None else numbers[text] for text in texts])
    valid = found >= 0 if None in texts else None
    return pa.DictionaryArray.from_arrays(array_of(found, valid=valid), text_array_of(known))


def label_array(field_class: IntegerClass, column: NDArray[Any]) -> pa.DictionaryArray:
    """Return the labels of the values of a column, by an enumeration or its flags; null where there is none."""
    used, indices = distinct(column)
    return named_array(indices, [label_of(field_class, value) or None for value in used.tolist()])


def taken(array: pa.Array, rows: NDArray[np.integer[Any]], valid: NDArray[np.bool_]) -> pa.Array:
    """Return the values at `rows` (shape (n,)), null where not `valid`."""
    return array.take(array_of(rows, valid=valid))


def _empty_structures(length: int, kind: pa.DataType) -> pa.Array:
    """Return structures without members, or with one that is null (`struct_fields`)."""
    nulls = [pa.nulls(length, held.type) for held in kind]
    return pa.Array.from_buffers(kind, length, [None], children=nulls)


def _spans(offsets: NDArray[np.int64], values: Column) -> pa.Array:
    assert isinstance(values, np.ndarray)
    buffers = [
        None,
        pa.py_buffer(np.ascontiguousarray(offsets)),
        pa.py_buffer(np.ascontiguousarray(values)),
    ]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
