"""Tables of profiles as columns: raw profiles have rows with a schema, processed ones an array per column."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError

#: Times are in milliseconds.
NANOSECONDS: Final = 1000 * 1000
_MAX_TIME: Final = float(1 << 62)


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
        raise TraceError(format="chrome", field="threads", expected="numbers") from error
    if values.ndim != 1:
        raise TraceError(format="chrome", field="threads", expected="numbers")
    return values


def numbers_of(column: list[Any]) -> NDArray[np.int64]:
    """Return row numbers; -1 where there is none."""
    values = _floats(column)
    return np.where((values >= 0) & (values < 1 << 31), values, -1).astype(np.int64)


def times_of(column: list[Any], missing: float) -> NDArray[np.float64]:
    """Return times in milliseconds; `missing` where there is none that a trace can have."""
    values = _floats(column)
    return np.where(np.abs(values) < _MAX_TIME / NANOSECONDS / 2, values, missing)


def values_at(values: NDArray[np.int64], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return values by index; 0 where there is none."""
    inside = (index >= 0) & (index < len(values))
    return np.where(inside, np.append(values, 0)[np.where(inside, index, len(values))], 0)


def microseconds(nanoseconds: Any) -> str | int:
    """Return a time as trace events have it; exact, where a float would be rounded."""
    whole, rest = divmod(int(nanoseconds), 1000)
    return f"{whole}.{rest:03d}" if rest else whole


def identity(value: Any) -> Any:
    """Return a pid or tid; processed profiles have them as text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if isinstance(value, str | int) else 0


def start_of(meta: dict[str, Any]) -> float:
    """Return the start of a profile in milliseconds since 1970; 0 where it is unknown."""
    start = meta.get("startTime")
    return float(start) if isinstance(start, int | float) and 0 < start < 1 << 43 else 0.0
