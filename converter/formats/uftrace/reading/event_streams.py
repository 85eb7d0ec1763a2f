"""Events outside of task files: perf-cpuN.dat and extern.dat as streams that are merged with them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ftrace.event_format.gathers import BytesAt, Gather, IntegerAt, StringAt
from converter.formats.ftrace.event_format.record_tables import Records
from converter.formats.uftrace.directory import DataDirectory
from converter.formats.uftrace.layout import (
    PERF_MISC_SWITCH_OUT,
    PERF_MISC_SWITCH_OUT_PREEMPT,
    PerfType,
)
from converter.formats.uftrace.mapping import SCHEDULE, TASK_EXIT, TASK_NAME, TASK_NEW
from converter.formats.uftrace.reading.kernels.scan_events import scan_lines, scan_perf, survey_perf
from converter.formats.uftrace.reading.windows import Windows, window_size
from converter.ir.columns import Column
from converter.ir.events import EventClass
from converter.kernels.batches.event_arrays import OutputArrays
from converter.kernels.tables.tasks import TaskTable
from converter.projection.domain.scheduling.switched_tasks import UNKNOWN_TASK

_PERF_FILE = re.compile(r"perf-cpu(\d{1,5})\.dat", re.ASCII)
EXTERNAL_FILE = "extern.dat"
#: The minimum sizes of a perf record and of a line with a time.
_LEAST_RECORD = 24
_LEAST_LINE = 3

_I32 = np.dtype(np.int32)


@dataclass(slots=True)
class ReadyEvents:
    """Events of a window: ts int64, class_id and thread int32, start and size uint32 (the payload in `data`)."""

    ts: NDArray[np.int64]
    class_id: NDArray[np.int32]
    thread: NDArray[np.int32]
    start: NDArray[np.uint32]
    size: NDArray[np.uint32]
    count: int
    data: NDArray[np.uint8] | bytes

    @classmethod
    def with_room(cls, capacity: int, data: NDArray[np.uint8]) -> ReadyEvents:
        """Return arrays for `room` events."""
        return cls(
            np.empty(capacity, np.int64),
            np.empty(capacity, np.int32),
            np.full(capacity, -1, np.int32),
            np.empty(capacity, np.uint32),
            np.empty(capacity, np.uint32),
            0,
            data,
        )


@dataclass(frozen=True, slots=True)
class _Switched:
    """The task that leaves the CPU, or that gets it, or an unknown one."""

    leaving: bool

    def load(self, records: Records) -> Column:
        """Return the column."""
        tid = IntegerAt(12, 4, _I32).load(records)
        misc = IntegerAt(4, 2, np.dtype(np.uint16)).load(records)
        assert isinstance(tid, np.ndarray) and isinstance(misc, np.ndarray)
        left = (misc & PERF_MISC_SWITCH_OUT) != 0
        column: NDArray[np.int32] = np.where(left == self.leaving, tid, np.int32(UNKNOWN_TASK))
        return column


@dataclass(frozen=True, slots=True)
class _StateLeft:
    """0 (running) for a preempted task, 1 for one that left the CPU otherwise, and 0 for an unknown one."""

    def load(self, records: Records) -> Column:
        """Return the column."""
        misc = IntegerAt(4, 2, np.dtype(np.uint16)).load(records)
        assert isinstance(misc, np.ndarray)
        slept = misc & (PERF_MISC_SWITCH_OUT | PERF_MISC_SWITCH_OUT_PREEMPT)
        column: NDArray[np.uint8] = (slept == PERF_MISC_SWITCH_OUT).astype(np.uint8)
        return column


def _integers(*offsets: int) -> tuple[Gather, ...]:
    return tuple(IntegerAt(offset, 4, _I32) for offset in offsets)


#: pid, ppid, tid, ptid after the header.
_LIFE = _integers(8, 12, 16, 20)

#: By type: the class, and the gathers of the columns of its fields.
PERF_CLASSES: dict[PerfType, tuple[EventClass, tuple[Gather, ...]]] = {
    PerfType.SWITCH: (SCHEDULE, (_Switched(True), _Switched(False), _StateLeft())),
    PerfType.FORK: (TASK_NEW, _LIFE),
    PerfType.EXIT: (TASK_EXIT, _LIFE),
    PerfType.COMM: (TASK_NAME, (*_integers(8, 12), StringAt(BytesAt(16, -1)))),
}
EXTERNAL_GATHERS: tuple[Gather, ...] = (StringAt(BytesAt(0, -1), interned=False),)


class PerfStream:
    """The events of a perf-cpuN.dat."""

    def __init__(
        self,
        directory: DataDirectory,
        name: str,
        class_of_type: NDArray[np.int32],
        tasks: TaskTable,
        streams: int,
    ) -> None:
        self.cpu = _cpu(name)
        self._directory = directory
        self._windows = Windows(directory.open(name), name, window_size(streams))
        self._classes = class_of_type
        self._tasks = tasks
        self._consumed = 0
        self._ended = False

    def next(self) -> ReadyEvents | None:
        """Return the next events, None after the last."""
        while not self._ended:
            try:
                window, final = self._windows.next(self._consumed)
            except TraceError as error:
                self._directory.warn(error)
                return None
            events = ReadyEvents.with_room(len(window) // _LEAST_RECORD + 1, window)
            events.count, self._consumed, damaged = scan_perf(
                window,
                self._directory.header.big_endian,
                self._classes,
                self._tasks,
                OutputArrays(events, start=events.start, size=events.size),
            )
            self._ended = damaged or (final and self._consumed >= len(window))
            if damaged or (final and not self._ended and not events.count):
                self._ended = True
                what = "a record of another size" if damaged else "the file ends within a record"
                self._directory.warn(
                    self._windows.error(self._consumed, field="perf", message=what)
                )
            if events.count:
                return events
        return None


class ExternalStream:
    """The lines of extern.dat."""

    cpu = -1

    def __init__(self, directory: DataDirectory, class_id: int, streams: int) -> None:
        self._directory = directory
        source = directory.open(EXTERNAL_FILE)
        self._windows = Windows(source, EXTERNAL_FILE, window_size(streams))
        self._class_id = class_id
        self._consumed = 0
        self._ended = False

    def next(self) -> ReadyEvents | None:
        """Return the next events, None after the last."""
        while not self._ended:
            try:
                window, final = self._windows.next(self._consumed)
            except TraceError as error:
                self._directory.warn(error)
                return None
            events = ReadyEvents.with_room(len(window) // _LEAST_LINE + 1, window)
            events.count, self._consumed, bad = scan_lines(
                window, final, events.ts, events.start, events.size
            )
            events.class_id[:] = self._class_id
            if bad >= 0:
                self._directory.warn(
                    self._windows.error(bad, field="line", expected="a time and a message")
                )
            self._ended = final and self._consumed >= len(window)
            if events.count:
                return events
        return None


def perf_files(directory: DataDirectory) -> list[str]:
    """Return the names of the perf files in the order of CPUs."""
    return sorted((name for name in directory.names if _PERF_FILE.fullmatch(name)), key=_cpu)


def _cpu(name: str) -> int:
    match = _PERF_FILE.fullmatch(name)
    assert match is not None
    return int(match[1])


def prescan_perf_file(
    directory: DataDirectory, name: str, tasks: TaskTable, counts: NDArray[np.int64]
) -> None:
    """Collect what a perf file says about tasks, and count its records by type."""
    with directory.open(name) as source:
        windows = Windows(source, name, window_size(1))
        consumed = 0
        while True:
            window, final = windows.next(consumed)
            consumed, damaged = survey_perf(window, directory.header.big_endian, tasks, counts)
            if damaged or final:
                return
