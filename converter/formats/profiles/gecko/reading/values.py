"""Data of markers as columns: JSON values to field classes, and values of a class to a column."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np

from converter.errors import TraceError
from converter.formats.json_values.value_text import Pairs, from_json
from converter.formats.profiles.gecko.mapping import INTEGER
from converter.formats.profiles.gecko.reading.document import Repeated
from converter.ir.columns import Column, NullColumn, column_from_values
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Member,
    NullClass,
    StringClass,
    StructureClass,
)
from converter.kernels.tables.strings import StringTable
from converter.projection.timeline_fields import JSON_TEXT

_UNSIGNED: Final = IntegerClass(64)
_REAL: Final = FloatClass(64)
_TEXT: Final = StringClass()
_BOOLEAN: Final = BooleanClass()
_NULL: Final = NullClass()
#: Objects nested deeper are text of JSON.
_DEEPEST: Final = 16
_LEAST, _MOST, _MOST_UNSIGNED = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1


def class_of_value(value: Any, level: int = 0) -> FieldClass:
    """Return the class of a value: lists of several classes, and of lists, are text of JSON."""
    match value:
        case str():
            return _TEXT
        case bool():
            return _BOOLEAN
        case int():
            if _LEAST <= value <= _MOST:
                return INTEGER
            return _UNSIGNED if 0 < value <= _MOST_UNSIGNED else _REAL
        case float() | Decimal():
            return _REAL
        case None:
            return _NULL
        case dict() if level < _DEEPEST:
            members = [Member(name, class_of_value(one, level + 1)) for name, one in value.items()]
            return StructureClass(tuple(members))
        case list() if level < _DEEPEST:
            inner = {class_of_value(one, level + 1) for one in value}
            if len(inner) == 1 and not _has_list(element := inner.pop()):
                return ArrayClass(element)
            if not value:
                return ArrayClass(_NULL)
    return JSON_TEXT


def _has_list(element: FieldClass) -> bool:
    match element:
        case ArrayClass():
            return True
        case StructureClass(members):
            return any(_has_list(member.type) for member in members)
    return element == JSON_TEXT


def column_of(values: Sequence[Any], held: FieldClass, strings: StringTable) -> Column:
    """Return the column of values of a class.

    Raises:
        TraceError: they are not of this class, which the file declares.

    """
    try:
        match held:
            case StringClass():
                ids = {text: strings.intern(_bytes_of(text)) for text in set(values)}
                return np.array([ids[text] for text in values], np.int32)
            case NullClass():
                return NullColumn(len(values))
            case BooleanClass():
                return np.array([_checked(one, bool) for one in values], np.bool_)
        return column_from_values(held, [_converted(one, held) for one in values], strings)
    except (ValueError, TypeError, OverflowError, ArithmeticError, RecursionError) as error:
        raise TraceError(
            format="gecko", field="markers.data", expected=f"values of {held}", found=str(error)
        ) from None


def _bytes_of(text: Any) -> bytes:
    return str(_checked(text, str)).encode("utf-8", "replace")


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(value)
    return value


def _converted(value: Any, held: FieldClass) -> Any:
    """Return a value as columns are made of it."""
    match held:
        case FloatClass() if isinstance(value, float):
            return value
        case FloatClass() if isinstance(value, int) and not isinstance(value, bool):
            return float(value) if abs(value) < 1 << 1023 else math.copysign(math.inf, value)
        case FloatClass():
            return from_json(_plain(value), held)
        case IntegerClass() if isinstance(value, int) and not isinstance(value, bool):
            if not held.least <= value <= held.most:
                raise ValueError(value)
            return value
        case StringClass():
            return _bytes_of(value)
    if held == JSON_TEXT:
        text = json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "replace")
    return from_json(_pairs(value), held)


def _plain(value: Any) -> Any:
    """Return a value whose numbers are those of JSON."""
    match value:
        case Decimal():
            return float(value)
        case dict():
            return {name: _plain(one) for name, one in value.items()}
        case list():
            return [_plain(one) for one in value]
    return value


def _pairs(value: Any) -> Any:
    """Return a value whose objects are lists of their members."""
    match value:
        case Decimal():
            return float(value)
        case Repeated():
            return Pairs((name, _pairs(one)) for name, one in value.pairs)
        case dict():
            return Pairs((name, _pairs(one)) for name, one in value.items())
        case list():
            return [_pairs(one) for one in value]
    return value
