"""Values of fields that callers pass: determines their field class, and makes their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from converter.errors import ArgumentError
from converter.ir.columns import Column, NullColumn, column_from_values, list_of_bytes
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Member,
    NullClass,
    StringClass,
    StructureClass,
)
from converter.kernels.tables.strings import StringTable

Scalar = bool | int | float | str | bytes | np.generic
#: The value of a field of one event, or of many: a column then, or one value for all of them.
Values = Scalar | Sequence[Any] | Mapping[str, Any] | NDArray[Any] | None
Integers = int | Sequence[int] | NDArray[np.integer[Any]]

INTEGER = IntegerClass(64, signed=True)
UNSIGNED = IntegerClass(64)
TEXT = StringClass()
_FLOAT = FloatClass()
_ONE = "an int, float, bool, str, bytes, None, a list of one of these, or a dict of them"
#: Dicts may be in one another as deeply.
_DEEPEST = 64


def is_many(values: object) -> bool:
    """Return True for values of many events."""
    return not isinstance(values, Scalar | Mapping | None)


def count_of(values: object) -> int | None:
    """Return the number of events that these values are for, or None if they are for one."""
    if not is_many(values):
        return None
    try:
        return len(values)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(f"{values!r} is neither an integer nor a column of them") from None


def integer(what: str, value: object, *, least: int = -(1 << 63)) -> int:
    """Return a 64-bit number that a caller passed."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ArgumentError(f"{what} is an integer, not {value!r}; round it first")
    number = int(value)
    if not least <= number < 1 << 63:
        raise ArgumentError(f"{what} is from {least} to {(1 << 63) - 1}, not {number}")
    return number


def integers(
    what: str, values: Integers, count: int | None, *, least: int = -(1 << 63)
) -> NDArray[np.int64]:
    """Return numbers of `count` events (None: any number of them); a single one applies to all."""
    if not is_many(values):
        one = integer(what, values, least=least)
        return np.full(1 if count is None else count, one, np.int64)
    array = _one_dimension(what, values, count)
    if array.dtype.kind not in "iu" and len(array):
        raise ArgumentError(f"{what} are integers, not {array.dtype}; round them first")
    if len(array):
        low, high = int(array.min()), int(array.max())
        if low < least or high >= 1 << 63:
            wrong = low if low < least else high
            raise ArgumentError(f"{what} are from {least} to {(1 << 63) - 1}, not {wrong}")
    return array.astype(np.int64)


def text(what: str, value: object) -> str:
    """Return a name that a caller passed."""
    if not isinstance(value, str):
        raise ArgumentError(f"{what} is a text, not {value!r}")
    return value


def class_of(what: str, value: object, depth: int = 0) -> FieldClass:
    """Return the field class of a value of one event."""
    if depth > _DEEPEST:
        name = what.partition("[")[0]
        raise ArgumentError(f"{name} has dicts or lists in one another to a depth over {_DEEPEST}")
    match value:
        case bool() | np.bool_():
            return BooleanClass()
        case np.integer() | np.floating():
            return _class_of_numbers(what, value.dtype)
        case int():
            if not -(1 << 63) <= value < 1 << 64:
                raise ArgumentError(f"{what} is an integer of 64 bits, not {value}")
            return INTEGER if value < 1 << 63 else UNSIGNED
        case float():
            return _FLOAT
        case str():
            return TEXT
        case bytes():
            return BytesClass()
        case None:
            return NullClass()
        case np.ndarray() if value.ndim == 1 and value.dtype.kind in "iufb":
            return ArrayClass(_class_of_numbers(what, value.dtype))
        case list() | tuple():
            elements = {class_of(what, item, depth + 1) for item in value}
            if elements == {INTEGER, UNSIGNED} and min(value) >= 0:
                elements = {UNSIGNED}
            if len(elements) > 1:
                raise ArgumentError(f"{what} is a list of values of several types; use one type")
            return ArrayClass(elements.pop() if elements else INTEGER)
        case Mapping():
            return StructureClass(
                tuple(
                    Member(
                        text(f"a name in {what}", name),
                        class_of(f"{what}[{name!r}]", item, depth + 1),
                    )
                    for name, item in value.items()
                )
            )
    raise ArgumentError(f"{what} is {_ONE}, not a {type(value).__name__}")


def stored(field_class: FieldClass, value: Any) -> Any:
    """Return a value of one event in the representation of `columns.column_from_values`."""
    match field_class:
        case StringClass():
            return value.encode("utf-8", "surrogateescape")
        case ArrayClass(element):
            return [stored(element, item) for item in value]
        case StructureClass(members):
            return [(one.name, stored(one.type, value[one.name])) for one in members]
    return value


def fitted(what: str, field_class: FieldClass, value: Any) -> Any:
    """Return a value, or a column, as the integers that a class has declared."""
    if (
        not isinstance(field_class, IntegerClass)
        or getattr(value, "dtype", None) == field_class.dtype
    ):
        return value
    if isinstance(value, np.ndarray):
        low, high = int(value.min(initial=0)), int(value.max(initial=0))
    else:
        low = high = int(value)
    if low < field_class.least or high > field_class.most:
        wrong = low if low < field_class.least else high
        raise ArgumentError(
            f"{what} is from {field_class.least} to {field_class.most}, not {wrong}"
        )
    return value.astype(field_class.dtype) if isinstance(value, np.ndarray) else value


def column_of(
    what: str, values: Values, count: int, strings: StringTable
) -> tuple[FieldClass, Column]:
    """Return the field class and column of values of `count` events."""
    if not is_many(values):
        field_class = class_of(what, values)
        match field_class:
            case StringClass():
                return field_class, np.full(count, strings.intern(text(what, values)), np.int32)
            case IntegerClass() | FloatClass():
                return field_class, np.full(count, values, field_class.dtype)
            case BooleanClass():
                return field_class, np.full(count, values, np.bool_)
            case NullClass():
                return field_class, NullColumn(count)
            case StructureClass():
                same = [stored(field_class, values)] * count
                return field_class, column_from_values(field_class, same, strings)
        values = [values] * count
    array = _one_dimension(what, values, count)
    if array.dtype.kind == "b":
        return BooleanClass(), array
    if array.dtype.kind in "iuf":
        numbers = _class_of_numbers(what, array.dtype)
        assert isinstance(numbers, IntegerClass | FloatClass)
        return numbers, array.astype(numbers.dtype, copy=True)
    if array.dtype.kind == "U":
        array = array.astype(object)
    if array.dtype.kind == "S":
        return BytesClass(), list_of_bytes(array.tolist())
    if array.dtype != object:
        raise ArgumentError(f"{what} are {array.dtype}, which is no type of a field; convert them")
    return _objects(what, array, strings)


def _objects(what: str, array: NDArray[Any], strings: StringTable) -> tuple[FieldClass, Column]:
    types = set(map(type, array))
    if types <= {str}:
        distinct, numbers = np.unique(array, return_inverse=True)
        ids = np.array([strings.intern(one) for one in distinct], np.int32)
        return TEXT, ids[numbers] if len(ids) else np.empty(0, np.int32)
    if types == {bytes}:
        return BytesClass(), list_of_bytes(array.tolist())
    if types <= {dict}:
        classes = {class_of(what, one) for one in array}
        if len(classes) != 1:
            raise ArgumentError(f"{what} are dicts with different names or types of values")
        (field_class,) = classes
        rows = [stored(field_class, one) for one in array]
        return field_class, column_from_values(field_class, rows, strings)
    names = ", ".join(sorted(one.__name__ for one in types))
    raise ArgumentError(f"{what} are of {names}; a column has values of one type")


def _one_dimension(what: str, values: object, count: int | None) -> NDArray[Any]:
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
            # NumPy's own texts and bytes drop trailing zeros.
            array = np.array(values, object)
    except (ValueError, OverflowError) as error:
        _refuse(what, str(error))
    if array.ndim != 1:
        _refuse(what, f"an array of {array.ndim} dimensions")
    if count is not None and len(array) != count:
        raise ArgumentError(f"{what} has {len(array)} values for {count} events")
    return array


def _refuse(what: str, found: str) -> NoReturn:
    raise ArgumentError(f"{what} is no column of values: {found}; give one value an event")


def _class_of_numbers(what: str, dtype: np.dtype[Any]) -> FieldClass:
    if dtype.kind == "b":
        return BooleanClass()
    if dtype.kind in "iu":
        return IntegerClass(8 * dtype.itemsize, signed=dtype.kind == "i")
    if dtype.itemsize not in (2, 4, 8):
        raise ArgumentError(f"{what} are {dtype}; use float64")
    return FloatClass(32 if dtype.itemsize < 8 else 64)
