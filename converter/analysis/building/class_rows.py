"""The events of a class while a trace is built: rows that were added one by one, and columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, column_from_values, concatenate
from converter.ir.events import EventClass, Table
from converter.kernels.tables.strings import StringTable


class Common(NamedTuple):
    """The columns that all events have; `call` is the order of calls, which counts at equal times."""

    ts: NDArray[np.int64]
    call: NDArray[np.int64]
    cpu: NDArray[np.int32]
    thread: NDArray[np.int32]
    track: NDArray[np.int32]


class ClassRows:
    """The events of one class."""

    def __init__(self, event_class: EventClass) -> None:
        self.event_class = event_class
        self._commons: list[Common] = []
        self._columns: list[list[Column]] = []
        self._rows: list[tuple[int, int, int, int, int]] = []
        self._values: list[tuple[Any, ...]] = []

    def add_row(self, common: tuple[int, int, int, int, int], values: tuple[Any, ...]) -> None:
        """Add one event: its `Common` values, and its fields as for `column_from_values`."""
        self._rows.append(common)
        self._values.append(values)

    def add_columns(self, common: Common, columns: list[Column], strings: StringTable) -> None:
        """Add several events."""
        self._flush(strings)
        self._commons.append(common)
        self._columns.append(columns)

    def table(self, strings: StringTable) -> tuple[Common, Table]:
        """Return all events."""
        self._flush(strings)
        parts = zip(*self._commons, strict=True)
        common = Common(*(np.concatenate(arrays) for arrays in parts))
        columns = [concatenate(parts) for parts in zip(*self._columns, strict=True)]
        return common, Table(len(common.ts), columns)

    def _flush(self, strings: StringTable) -> None:
        """Convert the rows so far to columns."""
        if not self._rows:
            return
        ts, call, cpu, thread, track = zip(*self._rows, strict=True)
        self._commons.append(
            Common(
                np.array(ts, np.int64),
                np.array(call, np.int64),
                np.array(cpu, np.int32),
                np.array(thread, np.int32),
                np.array(track, np.int32),
            )
        )
        fields = self.event_class.fields
        self._columns.append(
            [
                column_from_values(field.type, [row[i] for row in self._values], strings)
                for i, field in enumerate(fields)
            ]
        )
        self._rows, self._values = [], []
