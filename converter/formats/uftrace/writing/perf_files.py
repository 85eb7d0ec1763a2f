"""The event files other than task files: perf_event records of each CPU, and the lines of extern.dat."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.uftrace.layout import (
    PERF_MISC_SWITCH_OUT,
    PERF_MISC_SWITCH_OUT_PREEMPT,
    PerfType,
)
from converter.formats.uftrace.mapping import EXTERNAL, SCHEDULE, TASK_EXIT, TASK_NAME, TASK_NEW
from converter.ir.columns import string_ids, value
from converter.ir.distinct_values import values_of
from converter.ir.events import Batch, EventClass, Table
from converter.ir.trace import Trace
from converter.projection.domain.scheduling.switched_tasks import UNKNOWN_TASK
from converter.storage.sink import Sink

_HEADER: Final = [("type", "<u4"), ("misc", "<u2"), ("size", "<u2")]
_SAMPLE_ID: Final = [("sample_pid", "<i4"), ("sample_tid", "<i4"), ("sample_time", "<u8")]
_SWITCH: Final = np.dtype([*_HEADER, ("pid", "<i4"), ("tid", "<i4"), ("time", "<u8")])
_LIFE: Final = np.dtype(
    [
        *_HEADER,
        ("pid", "<i4"),
        ("parent_pid", "<i4"),
        ("tid", "<i4"),
        ("parent_tid", "<i4"),
        ("time", "<u8"),
        *_SAMPLE_ID,
    ]
)
_TYPES: Final = {
    SCHEDULE: PerfType.SWITCH,
    TASK_NEW: PerfType.FORK,
    TASK_EXIT: PerfType.EXIT,
    TASK_NAME: PerfType.COMM,
}


def is_perf_record(event_class: EventClass) -> bool:
    """Return True if events of a class are perf_event records."""
    return event_class in _TYPES


def is_external_line(event_class: EventClass) -> bool:
    """Return True if events of a class are lines of extern.dat."""
    return event_class == EXTERNAL


def _name(cpu: int) -> str:
    return f"perf-cpu{cpu}.dat"


class PerfOutput:
    """perf-cpuN.dat, created when a CPU first has an event."""

    def __init__(self, trace: Trace, sink: Sink) -> None:
        self._trace = trace
        self._sink = sink
        self._files: dict[int, Sink] = {}
        #: The tasks that have a name in these files.
        self.named: set[int] = set()

    @property
    def has_events(self) -> bool:
        """True if there are any perf events."""
        return bool(self._files)

    @property
    def files(self) -> list[str]:
        """The names of the files so far."""
        return [*map(_name, self._files)]

    def write(self, batch: Batch) -> None:
        """Append the events of a batch, all of classes that are `is_perf_record`.

        Raises:
            UnsupportedError: a switch names two tasks.

        """
        order = np.zeros(len(batch), np.int64)
        records = []
        for id, table in batch.tables.items():
            at = np.flatnonzero(batch.class_id == id)
            rows = batch.row[at]
            packed = self._records(self._trace.event_classes[id], table)[rows]
            for name in ("time", "sample_time"):
                if name in (packed.dtype.names or ()):
                    packed[name] = batch.ts[at]
            order[at] = packed.dtype.itemsize
            records.append((at, packed))
        for cpu in values_of(batch.cpu).tolist():
            here = batch.cpu == cpu
            sizes = np.where(here, order, 0)
            ends = np.cumsum(sizes)
            data = np.zeros(int(ends[-1]), np.uint8)
            for at, packed in records:
                chosen = here[at]
                width = packed.dtype.itemsize
                offsets = (ends - sizes)[at[chosen], None] + np.arange(width)
                data[offsets] = np.frombuffer(packed[chosen].tobytes(), np.uint8).reshape(-1, width)
            self._file(max(cpu, 0)).write(data.data)

    def append(self, records: bytes) -> None:
        """Append records that are later than all others."""
        if records:
            self._file(0).write(records)

    def _file(self, number: int) -> Sink:
        if number not in self._files:
            self._files[number] = self._sink.create(_name(number))
        return self._files[number]

    def _records(self, event_class: EventClass, table: Table) -> NDArray[Any]:
        """Return the records of a table, still without times."""
        columns = [table.column(i) for i in range(table.width)]
        kind = _TYPES[event_class]
        if kind is PerfType.SWITCH:
            return self._switches(*columns)
        if kind is PerfType.COMM:
            ids = string_ids(columns[2], self._trace.strings)
            texts = np.array([self._trace.strings[id] for id in ids.tolist()] or [b""], np.bytes_)
            width = (texts.dtype.itemsize // 8 + 1) * 8
            dtype = np.dtype(
                [*_HEADER, ("pid", "<i4"), ("tid", "<i4"), ("comm", f"S{width}"), *_SAMPLE_ID]
            )
            packed = np.zeros(len(table), dtype)
            packed["comm"] = texts[: len(table)]
            packed["pid"], packed["tid"] = columns[0], columns[1]
            self.named.update(values_of(np.asarray(columns[1])).tolist())
        else:
            packed = np.zeros(len(table), _LIFE)
            for name, column in zip(
                ("pid", "parent_pid", "tid", "parent_tid"), columns, strict=True
            ):
                packed[name] = column
        packed["type"], packed["size"] = kind, packed.dtype.itemsize
        packed["sample_pid"], packed["sample_tid"] = packed["pid"], packed["tid"]
        return packed

    def _switches(self, leaving: Any, coming: Any, state: Any) -> NDArray[Any]:
        left = leaving != UNKNOWN_TASK
        if (left & (coming != UNKNOWN_TASK)).any():
            raise UnsupportedError(
                "a record of a switch names one task", path=self._sink.name, field="sched_switch"
            )
        packed = np.zeros(len(leaving), _SWITCH)
        packed["type"], packed["size"] = PerfType.SWITCH, _SWITCH.itemsize
        preempted = np.where(state == 0, PERF_MISC_SWITCH_OUT_PREEMPT, 0)
        packed["misc"] = np.where(left, PERF_MISC_SWITCH_OUT | preempted, 0)
        packed["tid"] = np.where(left, leaving, coming)
        packed["pid"] = packed["tid"]
        return packed


class ExternalOutput:
    """extern.dat."""

    def __init__(self, trace: Trace, sink: Sink) -> None:
        self._trace = trace
        self._sink = sink
        self._file: Sink | None = None

    def write(self, batch: Batch) -> None:
        """Append the events of a batch, all of the class EXTERNAL, a line each."""
        if self._file is None:
            self._file = self._sink.create("extern.dat")
        (table,) = batch.tables.values()
        strings = self._trace.strings
        field = EXTERNAL.fields[0].type
        lines = [
            b"%d.%09d %b\n"
            % (*divmod(ts, 10**9), value(table.column(0), field, row, strings).replace(b"\n", b" "))
            for ts, row in zip(batch.ts.tolist(), batch.row.tolist(), strict=True)
        ]
        self._file.write(b"".join(lines))
