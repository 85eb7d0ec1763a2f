"""Counters of a profile: changes of an amount, or amounts of intervals, of a process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.gecko.layout import ACCUMULATED, OWN
from converter.formats.profiles.gecko.mapping import CATEGORY, INTEGER, NAME, VALUES
from converter.formats.profiles.gecko.reading.tables import (
    columns,
    dictionary,
    integers_of,
    listed,
    padded,
    times_of,
)
from converter.ir.columns import constant_column
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind

_BATCH_SIZE: Final = 1 << 14
_MOST: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Counter:
    """The values of a counter. An amount whose changes are integers is one, too."""

    name: str
    category: str
    ts: NDArray[np.int64]
    value: NDArray[Any]

    @property
    def event_class(self) -> EventClass:
        """The class of its events."""
        value = VALUES[0] if self.value.dtype == INTEGER.dtype else VALUES[1]
        return EventClass(Kind.COUNTER, fields=(NAME, CATEGORY, value))

    def batches(
        self, number: int, texts: tuple[int, int], thread: int, track: int
    ) -> Iterator[Batch]:
        """Yield its events; `texts` are the strings of its name and category."""
        for first in range(0, len(self.ts), _BATCH_SIZE):
            window = slice(first, first + _BATCH_SIZE)
            count = len(self.ts[window])
            name, category = (constant_column(np.int32(text), count) for text in texts)
            yield Batch(
                ts=self.ts[window],
                class_id=np.full(count, number, np.int32),
                row=np.arange(count, dtype=np.int32),
                tables={number: Table(count, (name, category, self.value[window]))},
                thread=constant_column(np.int32(thread), count),
                track=constant_column(np.int32(track), count),
            )


def counters_of(counter: dict[str, Any], later: float) -> tuple[Counter | None, int]:
    """Return the counter in its form in a profile, and how many of its values are not in the form of the table."""
    name, category = (
        one if isinstance(one, str) else ""
        for one in (counter.get("name"), counter.get("category"))
    )
    said = dictionary(counter, OWN)
    if isinstance(said.get("category"), str) and isinstance(said.get("name"), str):
        name, category = said["name"], said["category"]
    table = dictionary(counter, "samples")
    if not table:
        # Until version 47, and in raw profiles.
        groups = listed(counter, "sampleGroups") or listed(counter, "sample_groups")
        table = dictionary(groups[0], "samples") if groups and isinstance(groups[0], dict) else {}
    time, deltas, count_column, own = columns(table, "time", "timeDeltas", "count", OWN)
    if deltas and not time:
        time = np.cumsum([one if isinstance(one, int | float) else 0.0 for one in deltas]).tolist()
    times, known = times_of(time, later)
    count = min(len(times), len(count_column))
    skipped = abs(len(times) - len(count_column)) + int(np.count_nonzero(~known[:count]))
    times, known = times[:count][known[:count]], known[:count]
    if not len(times):
        return None, skipped
    if own:
        value = _numbers(padded(own, count))
        value = value.astype(np.float64) if said.get("real") is True else value
    else:
        value = _numbers(count_column[:count])
        if category in ACCUMULATED:
            value = _sums(value)
    return Counter(name, category, times, value[known]), skipped


def _sums(changes: NDArray[Any]) -> NDArray[Any]:
    total = np.cumsum(changes.astype(np.float64))
    if changes.dtype == INTEGER.dtype and bool((np.abs(total) < _MOST // 2).all()):
        return np.cumsum(changes)
    return total


def _numbers(column: list[Any]) -> NDArray[Any]:
    """Return a column of numbers: integers where all are, else floats; texts of floats that JSON lacks are some."""
    if all(type(one) is int and -_MOST - 1 <= one <= _MOST for one in column):
        return integers_of(column)
    return np.array([_real(one) for one in column], np.float64)


def _real(value: Any) -> float:
    try:
        return 0.0 if value is None or isinstance(value, bool) else float(value)
    except (ValueError, TypeError, OverflowError):
        return 0.0
