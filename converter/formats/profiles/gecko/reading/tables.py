"""Tables of profiles as columns: raw profiles have rows with a schema, processed ones an array per column."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.profiles.gecko.layout import NANOSECONDS

#: The latest time, in nanoseconds.
_MAX_TIME: Final = 1 << 62
_MAX_MILLISECONDS: Final = float(_MAX_TIME // NANOSECONDS)
_MAX_INDEX: Final = 1 << 31


def dictionary(table: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a member that is an object; empty where there is none."""
    value = table.get(name)
    return value if isinstance(value, dict) else {}


def listed(table: dict[str, Any], name: str) -> list[Any]:
    """Return a member that is an array; empty where there is none."""
    value = table.get(name)
    return value if isinstance(value, list) else []


def strings_of(table: dict[str, Any]) -> list[Any]:
    """Return the texts that a thread's tables refer to by number."""
    return listed(table, "stringArray") or listed(table, "stringTable")


def columns(table: dict[str, Any], *names: str) -> list[list[Any]]:
    """Return columns of a table: arrays, or the items of rows at the schema's indexes; empty where there are none."""
    if not isinstance(schema := table.get("schema"), dict):
        return [listed(table, name) for name in names]
    rows = [row for row in listed(table, "data") if isinstance(row, list)]
    found = []
    for name in names:
        at = schema.get(name)
        at = at if isinstance(at, int) and at >= 0 else None
        found.append([] if at is None else [row[at] if at < len(row) else None for row in rows])
    return found


def padded(column: list[Any], count: int) -> list[Any]:
    """Return a column of `count` values, padded with None at the end."""
    return column[:count] + [None] * (count - len(column))


def _floats(column: list[Any]) -> NDArray[np.float64]:
    try:
        values = np.array(column, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TraceError(format="gecko", field="threads", expected="numbers") from error
    if values.ndim != 1:
        raise TraceError(format="gecko", field="threads", expected="numbers")
    return values


def numbers_of(column: list[Any]) -> NDArray[np.int64]:
    """Return row numbers; -1 where there is none."""
    values = _floats(column)
    return np.where((values >= 0) & (values < _MAX_INDEX), values, -1).astype(np.int64)


def integers_of(column: list[Any], missing: int = 0) -> NDArray[np.int64]:
    """Return integers of 64 bits; others are rounded, or `missing` if they are no numbers."""
    try:
        return (
            np.array(column, np.int64)
            if all(type(one) is int for one in column)
            else _rounded(column, missing)
        )
    except OverflowError:
        return _rounded(column, missing)


def _rounded(column: list[Any], missing: int) -> NDArray[np.int64]:
    result = np.full(len(column), missing, np.int64)
    for index, value in enumerate(column):
        is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        if is_number and -(1 << 63) <= value < 1 << 63:
            result[index] = round(value)
    return result


def addresses_of(column: list[Any], count: int) -> NDArray[np.uint64]:
    """Return addresses; 0 where there is none."""
    known = [
        value if type(value) is int and 0 <= value < 1 << 64 else 0
        for value in padded(column, count)
    ]
    return np.array(known, np.uint64)


def times_of(column: list[Any], later: float = 0.0) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return times in nanoseconds, and which of them are times that a trace can have; others are 0.

    `later` are milliseconds that are added to all.
    """
    if any(type(value) is Decimal for value in column):
        exact = [_exact(value) for value in column]
        known = np.array([value is not None for value in exact], np.bool_)
        return np.array([value or 0 for value in exact], np.int64), known
    values = _floats(column) + later
    known = np.abs(values) < _MAX_MILLISECONDS
    # The nearest: a double of milliseconds has all nanoseconds of 26 days.
    return np.rint(np.where(known, values, 0.0) * NANOSECONDS).astype(np.int64), known


def _exact(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    if isinstance(value, Decimal) and not (value.is_finite() and abs(value.adjusted()) < 40):
        return None
    nanoseconds = round(value * NANOSECONDS)
    return nanoseconds if -(1 << 63) <= nanoseconds < 1 << 63 else None


def values_at(values: NDArray[Any], index: NDArray[np.int64]) -> NDArray[Any]:
    """Return values by index; 0 where there is none."""
    inside = (index >= 0) & (index < len(values))
    found = np.zeros(len(index), values.dtype)
    found[inside] = values[index[inside]]
    return found


def start_of(meta: dict[str, Any]) -> float:
    """Return the start of a profile in milliseconds since 1970; 0 where it is unknown."""
    start = meta.get("startTime")
    known = isinstance(start, int | float | Decimal) and 0 < start < 1 << 43
    return float(start) if known and start is not None else 0.0
