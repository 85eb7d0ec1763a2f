"""Samples of a thread as batches: call stacks, weights, CPU times and categories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.gecko.layout import NANOSECONDS, UNITS
from converter.formats.profiles.gecko.mapping import (
    CATEGORY,
    CPU_CYCLES,
    CPU_DELTA,
    EVENT_DELAY,
    sample_class,
)
from converter.formats.profiles.gecko.reading.frames import Stacks
from converter.formats.profiles.gecko.reading.tables import (
    columns,
    integers_of,
    numbers_of,
    padded,
    times_of,
)
from converter.ir.columns import Column, constant_column
from converter.ir.events import Batch, EventClass, Field, Table
from converter.projection.domain.call_stacks import depths_of_tree, parts_of

#: The nanoseconds of the units of CPU times.
_CPU_UNITS: Final = {"ns": 1, "µs": 1000, "us": 1000, "ms": NANOSECONDS}


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of one table: its class, times, stacks, and the columns after the stack."""

    event_class: EventClass
    ts: NDArray[np.int64]
    #: -1 is the empty stack.
    stack: NDArray[np.int64]
    stacks: Stacks
    columns: tuple[NDArray[Any], ...]

    def batches(self, number: int, thread: int) -> Iterator[Batch]:
        """Yield batches of samples of a thread; `number` is that of the class."""
        for window in parts_of(depths_of_tree(self.stacks.outer)[self.stack]):
            count = window.stop - window.start
            frames: Column = self.stacks.frames.stacks_of_tree(
                self.stack[window], self.stacks.outer, self.stacks.frame
            )
            yield Batch(
                ts=self.ts[window],
                class_id=np.full(count, number, np.int32),
                row=np.arange(count, dtype=np.int32),
                tables={number: Table(count, (frames, *(one[window] for one in self.columns)))},
                thread=constant_column(np.int32(thread), count),
            )


@dataclass(frozen=True, slots=True)
class SampleRules:
    """The rules that all samples of a profile share."""

    #: What is added to times, in milliseconds.
    later: float
    #: By index: strings of the trace with the names of categories.
    categories: NDArray[np.int32]
    #: `sampleUnits.threadCPUDelta` of its `meta`.
    cpu_unit: str


def samples_of(
    table: dict[str, Any], stacks: Stacks, rules: SampleRules, *, name: str, unit: str | None
) -> tuple[Samples | None, int]:
    """Return the samples of a table, if there are any, and how many are not in the form of the table.

    Args:
        table: the columns.
        stacks: the stacks that it refers to.
        rules: those of the profile.
        name: of the event that was sampled, empty for the usual samples.
        unit: of the weights; None if the table says it.

    """
    stack, time, deltas, weight, cpu, delay, older_delay = columns(
        table,
        *("stack", "time", "timeDeltas", "weight", "threadCPUDelta"),
        *("eventDelay", "responsiveness"),
    )
    times, has_time = _times(time, deltas, rules.later)
    count = min(len(stack), len(times))
    has_time[count:] = False
    number = numbers_of(stack[:count])
    is_null = np.array([one is None for one in stack[:count]], np.bool_)
    known = has_time[:count] & (is_null | ((number >= 0) & (number < len(stacks))))
    skipped = count - int(np.count_nonzero(known)) + abs(len(stack) - len(times))
    if not known.any():
        return None, skipped
    fields: list[Field] = []
    values: list[NDArray[Any]] = []

    def add(field: Field, column: NDArray[Any]) -> None:
        fields.append(field)
        values.append(column[known])

    weight_type = table.get("weightType")
    if unit is None:
        unit = UNITS.get(weight_type if isinstance(weight_type, str) else "samples", "count")
    weights = _weights(padded(weight, count), unit) if weight else np.ones(count, np.int64)
    values.append(weights[known])
    if (stacks.category >= 0).any() and len(rules.categories):
        index = np.append(stacks.category, -1)[np.where(is_null, -1, number)]
        index[index >= len(rules.categories)] = -1
        add(CATEGORY, np.append(rules.categories, np.int32(0))[index])
    if any(one is not None for one in cpu[:count]):
        scale = _CPU_UNITS.get(rules.cpu_unit)
        add(CPU_DELTA if scale else CPU_CYCLES, _scaled(padded(cpu, count), scale or 1))
    delay = delay or older_delay
    if any(one is not None for one in delay[:count]):
        add(EVENT_DELAY, _reals(padded(delay, count)))
    return (
        Samples(
            sample_class(name, unit, *fields),
            times[:count][known],
            np.where(is_null, -1, number)[known],
            stacks,
            tuple(values),
        ),
        skipped,
    )


def _times(
    time: list[Any], deltas: list[Any], later: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    if time or not deltas:
        return times_of(time, later)
    # Sums of what is written: as the profiler adds them up.
    total, sums = 0.0, []
    for delta in deltas:
        total += delta if isinstance(delta, int | float) else 0.0
        sums.append(total)
    return times_of(sums, later)


def _weights(column: list[Any], unit: str) -> NDArray[np.int64]:
    """Return weights; those that are times are milliseconds in a profile."""
    if unit == "ns":
        values, _ = times_of(column)
        return values
    return integers_of(column)


def _scaled(column: list[Any], scale: int) -> NDArray[np.int64]:
    values = integers_of(column) if scale == 1 else None
    if values is not None:
        return values
    return integers_of([one * scale if isinstance(one, int | float) else None for one in column])


def _reals(column: list[Any]) -> NDArray[np.float64]:
    return np.array(
        [float(one) if isinstance(one, int | float | Decimal) else 0.0 for one in column],
        np.float64,
    )
