"""Texts of lists and bytes in generic kernel events: importers show the last element of a list, and bytes as text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, ListColumn, string_ids, value
from converter.ir.distinct_values import map_distinct
from converter.ir.field_classes import ArrayClass, BytesClass, FieldClass, IntegerClass, Style
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable, format_integers
from converter.projection.engine.texts import stack_texts
from converter.projection.engine.types import is_stack

#: The styles of numbers that are read in hexadecimal.
_HEXADECIMAL: Final = frozenset({Style.HEXADECIMAL, Style.POINTER})
#: Each byte as two hexadecimal digits and a blank.
_DIGITS: Final = np.frombuffer(bytes(range(256)).hex(" ").encode() + b" ", np.uint8).reshape(256, 3)


def list_texts(column: Column, field_class: FieldClass, trace: Trace) -> Column:
    """Return lists of numbers as in JSON, call stacks as names of functions, bytes as the kernel prints them."""
    assert isinstance(column, ListColumn)
    values = column.values
    if is_stack(field_class):
        return stack_texts(column, trace)
    if isinstance(field_class, BytesClass):
        assert isinstance(values, np.ndarray)
        return _hexadecimal(column.offsets, values)
    assert isinstance(field_class, ArrayClass)
    element = field_class.element
    if not isinstance(element, IntegerClass) or not isinstance(values, np.ndarray):
        return _each(column, field_class, trace)
    if element.style in _HEXADECIMAL:
        return _each_distinct(column, values, _as_hexadecimal(values.dtype), trace.strings)
    signed = values.dtype.kind == "i"
    wide = np.ascontiguousarray(values, np.int64 if signed else np.uint64)
    text, offsets = format_integers(
        np.asarray(column.offsets, np.int64), wide.view(np.uint64), signed
    )
    return ListColumn(offsets, text)


def _hexadecimal(offsets: NDArray[np.int64], values: NDArray[np.generic]) -> ListColumn:
    """Return bytes as two digits each, with blanks between them."""
    texts = _DIGITS[values.view(np.uint8)].reshape(-1)
    sizes = np.diff(offsets)
    kept = np.ones(len(texts), np.bool_)
    ends = offsets[1:][sizes > 0]
    kept[3 * ends - 1] = False
    shown = np.zeros(len(offsets), np.int64)
    np.cumsum(np.maximum(3 * sizes - 1, 0), out=shown[1:])
    first, last = (3 * int(offsets[at]) for at in (0, -1))
    return ListColumn(shown, texts[first:last][kept[first:last]])


def _as_hexadecimal(dtype: np.dtype[np.generic]) -> Callable[[bytes], str]:
    def text(memory: bytes) -> str:
        numbers = np.frombuffer(memory, f"u{dtype.itemsize}").tolist()
        return f"[{', '.join(map(hex, numbers))}]"

    return text


def _each_distinct(
    column: ListColumn,
    values: NDArray[np.generic],
    text: Callable[[bytes], str],
    strings: StringTable,
) -> NDArray[np.int32]:
    """Return the text of each list, which is made once for equal lists."""
    size = values.itemsize
    known = StringTable()
    memory = ListColumn(column.offsets * size, np.ascontiguousarray(values).view(np.uint8))
    return map_distinct(string_ids(memory, known), lambda id: strings.intern(text(known[id])))


def _each(column: ListColumn, field_class: FieldClass, trace: Trace) -> NDArray[np.int32]:
    """Return lists of texts, of bytes, and of lists as JSON."""
    texts = [
        json.dumps(_jsonable(value(column, field_class, row, trace.strings)), ensure_ascii=False)
        for row in range(len(column))
    ]
    return np.array([trace.strings.intern(text) for text in texts], np.int32)


def _jsonable(item: object) -> object:
    if isinstance(item, bytes):
        return item.decode("utf-8", "replace")
    return [_jsonable(one) for one in item] if isinstance(item, list | tuple) else item
