"""Values of a column as NumPy represents them: numbers in their type, everything else as Python objects."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import (
    Column,
    ListColumn,
    NullColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
)
from converter.ir.display.text import label_of, unique_names, utf8_text
from converter.ir.distinct_values import distinct
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    IntegerClass,
    OptionalClass,
    StringClass,
    StructureClass,
    VariantClass,
)
from converter.kernels.tables.strings import StringTable


def resolved(field_class: FieldClass, column: Column, strings: StringTable) -> NDArray[Any]:
    """Return the values of a column: numbers and truth values as they are, texts ``str``, bytes ``bytes``, arrays
    arrays, structures ``dict``, variants (option, value); None where there is nothing. Numbers that may be absent are
    masked.
    """
    match field_class, column:
        case (StringClass(), np.ndarray()):
            return texts(column, strings)
        case (_, np.ndarray()):
            return column
        case (_, NullColumn(length)):
            return np.full(length, None, object)
        case (StringClass(), ListColumn()):
            return objects((utf8_text(item) for item in _spans(column)), len(column))
        case (BytesClass(), ListColumn()):
            return objects(_spans(column), len(column))
        case (ArrayClass(element), ListColumn(offsets, values)):
            flat = resolved(element, values, strings)
            bounds = offsets.tolist()
            spans = (flat[a:b] for a, b in pairwise(bounds))
            return objects(spans, len(column))
        case (StructureClass(members), StructColumn(length, columns)):
            names = unique_names([member.name for member in members])
            parts = [
                resolved(member.type, inner, strings).tolist()
                for member, inner in zip(members, columns, strict=True)
            ]
            rows = zip(*parts, strict=True) if parts else ((),) * length
            return objects((dict(zip(names, row, strict=True)) for row in rows), length)
        case (VariantClass(options), UnionColumn(tags, rows_of, columns)):
            held = [
                resolved(option.type, inner, strings)
                for option, inner in zip(options, columns, strict=True)
            ]
            chosen = zip(tags.tolist(), rows_of.tolist(), strict=True)
            pairs = ((options[tag].name, held[tag][row]) for tag, row in chosen)
            return objects(pairs, len(column))
        case (OptionalClass(element), OptionalColumn(valid, values)):
            found = resolved(element, values, strings)
            if found.dtype == object:
                found[~valid] = None
                return found
            return np.ma.MaskedArray(found, ~valid | np.ma.getmaskarray(found))
    raise TypeError(f"a {type(column).__name__} does not hold {field_class}")


def texts(ids: NDArray[np.int32], strings: StringTable) -> NDArray[Any]:
    """Return texts by their ids in `strings` (-1: None)."""
    used, indices = distinct(ids)
    found = objects((None if i < 0 else utf8_text(strings[i]) for i in used.tolist()), len(used))
    return found[indices]


def labels_of(field_class: IntegerClass, column: NDArray[Any]) -> NDArray[Any]:
    """Return the labels of the values of a column, by an enumeration or its flags; None where there is none."""
    used, indices = distinct(column)
    found = (label_of(field_class, value) or None for value in used.tolist())
    return objects(found, len(used))[indices]


def plain(value: Any) -> Any:
    """Return a value of a column as Python's own: lists in place of arrays, within dicts and tuples as well."""
    match value:
        case np.ndarray():
            return [plain(one) for one in value.tolist()]
        case dict():
            return {name: plain(one) for name, one in value.items()}
        case tuple():
            return tuple(plain(one) for one in value)
        case np.generic():
            return value.item()
    return value


def _spans(column: ListColumn) -> Iterable[bytes]:
    assert isinstance(column.values, np.ndarray)
    data = column.values.tobytes()
    bounds = column.offsets.tolist()
    return (data[a:b] for a, b in pairwise(bounds))


def objects(items: Iterable[Any], count: int) -> NDArray[Any]:
    """Return an array of objects, none of which is mistaken for an array itself."""
    result = np.empty(count, object)
    for i, item in enumerate(items):
        result[i] = item
    return result
