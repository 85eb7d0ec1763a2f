"""Switches and wakings as compact_sched: those from which it leaves out nothing that readers do not know anyway."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto import tracepoints
from converter.formats.perfetto.writing.instructions import (
    BYTES,
    Steps,
    array_getter,
    field_getter,
    tag_of,
    text_getter,
)
from converter.formats.perfetto.writing.kernels import emit as kernel
from converter.ir.distinct_values import distinct, values_of
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind
from converter.ir.trace import Trace

#: The fields of FtraceEventBundle.CompactSched, by the names of those of the event (ftrace_event_bundle.proto).
_SWITCH: Final = {"prev_state": 2, "next_pid": 3, "next_prio": 4, "next_comm": 6}
_WAKING: Final = {"pid": 8, "target_cpu": 9, "prio": 10, "comm": 11, "common_flags": 12}

_OPS: Final = {"prev_state": kernel.I64, "common_flags": kernel.U32}
_DTYPES: Final = {kernel.I64: np.int64, kernel.I32: np.int32, kernel.U32: np.uint32}

#: The fields of a switch that name the task before it, and after it: pid, priority and name.
_BEFORE: Final = ("prev_pid", "prev_prio", "prev_comm")
_AFTER: Final = ("next_pid", "next_prio", "next_comm")
#: The task of a CPU that readers do not know; 0 is the id of the empty text.
_UNKNOWN: Final = (-1, 0, 0)
#: One that readers may know, but this writer does not.
_NOT_FOLLOWED: Final = (-2, 0, 0)

_Numbers = NDArray[np.int64]
# What an event may be: compact, another switch, lost events, after which no task is known, or anything else.
_OTHER, _SWITCHES, _WAKES, _SETS, _FORGETS = range(1, 6)


class Compact(NamedTuple):
    """The positions of a batch's events in compact_sched, and the columns of their classes; the positions of other
    switches from unknown tasks.
    """

    positions: NDArray[np.intp]
    columns: dict[int, list[Any]]
    unhidden: NDArray[np.intp]


def _compact_program(event_class: EventClass) -> tuple[int, Steps] | None:
    """Return the frame and the columns of a class's events in compact_sched; None if it was not read from there."""
    if event_class.native != tracepoints.COMPACT_SCHED:
        return None
    if event_class != tracepoints.compact_class(event_class.name):
        return None
    is_switch = event_class.kind is Kind.SCHED_SWITCH
    names = [field.name for field in event_class.fields]
    steps = Steps()
    for name, number in (_SWITCH if is_switch else _WAKING).items():
        getter = field_getter(names.index(name))
        if name.endswith("comm"):
            steps.add(kernel.TEXT, tag_of(number, BYTES), text_getter(getter))
        else:
            op = _OPS.get(name, kernel.I32)
            dtype = np.dtype(_DTYPES[op])
            steps.add(op, tag_of(number, BYTES), array_getter(getter, dtype))
    return kernel.FRAME_SWITCH if is_switch else kernel.FRAME_WAKING, steps


class CompactSched:
    """Selects events. Like readers, it follows which task each CPU runs: what compact_sched leaves out.

    Args:
        trace: the trace.
        is_first: True if no kernel event was written before, from which readers may know tasks.
    """

    def __init__(self, trace: Trace, *, is_first: bool) -> None:
        self._trace = trace
        self._first = _UNKNOWN if is_first else _NOT_FOLLOWED
        self._tasks: dict[int, tuple[int, int, int]] = {}
        #: The frame and the columns of each class that may be compact.
        self.programs: dict[int, tuple[int, Steps]] = {}
        self._parts: dict[int, int] = {}

    def select(self, batch: Batch, steps: dict[int, Steps]) -> Compact:
        """Return the events of a batch that are compact, given the classes in bundles and their instructions.

        An event is compact if the task that readers derive is its own, and if no other event of its CPU in the batch is
        at its time, or out of order with it: readers order compact events and others by time. Importers show the task
        before by the name of its thread; another that it had then is shown only of events in full.
        """
        parts = np.zeros(len(batch), np.int8)
        for class_id, own in steps.items():
            parts[batch.positions(class_id)] = self._part(class_id, own)
        # Of most events only the times matter.
        places = np.flatnonzero(parts > _OTHER)
        number = np.empty(len(batch), np.int32)
        number[places] = np.arange(len(places), dtype=np.int32)
        before = np.zeros((3, len(places)), np.int64)
        after = np.zeros((3, len(places)), np.int64)
        fits = _is_apart(batch, parts)[places]
        for class_id in steps:
            part = self._parts[class_id]
            if part not in (_SWITCHES, _SETS, _FORGETS):
                continue
            at = number[batch.positions(class_id)]
            table, event_class = batch.tables[class_id], self._trace.event_classes[class_id]
            if part == _FORGETS:
                after[:, at] = np.array(_UNKNOWN)[:, np.newaxis]
            else:
                after[:, at] = _columns(table, event_class, _AFTER)
            if part == _SWITCHES:
                before[:, at] = _columns(table, event_class, _BEFORE)
                # Only wakings have flags there.
                fits[at] &= _columns(table, event_class, ("common_flags",))[0] == 0
        parts = parts[places]
        threads, cpus = batch.thread[places], batch.cpu[places]
        tasks = np.empty_like(after)
        for cpu in values_of(cpus).tolist():
            run = np.flatnonzero(cpus == cpu)
            tasks[:, run] = self._tasks_before(cpu, parts[run], after[:, run])
        is_switch = parts == _SWITCHES
        fits &= (is_switch & (before == tasks).all(axis=0)) | (parts == _WAKES)
        fits &= self._tids(threads) == tasks[0]
        named = np.flatnonzero(fits & is_switch & (before[0] > 0))
        fits[named] = self._has_own_name(threads[named], before[2, named])
        columns = {
            id: [get(batch.tables[id]) for get in self.programs[id][1].columns]
            for id in steps
            if id in self.programs
        }
        unhidden = is_switch & (before[0] == _UNKNOWN[0]) & ~fits
        return Compact(places[fits], columns, places[unhidden])

    def _tids(self, threads: NDArray[np.int32]) -> _Numbers:
        """Return the numbers of threads, -1 for none."""
        found, rows = distinct(threads)
        known = self._trace.threads
        tids = [known[index].tid if index >= 0 else -1 for index in found.tolist()]
        return np.array(tids, np.int64)[rows]

    def _part(self, class_id: int, steps: Steps) -> int:
        part = self._parts.get(class_id)
        if part is None:
            event_class = self._trace.event_classes[class_id]
            program = _compact_program(event_class)
            if program is not None:
                self.programs[class_id] = program
                part = _SWITCHES if event_class.kind is Kind.SCHED_SWITCH else _WAKES
            elif event_class.kind is Kind.DISCARDED:
                part = _FORGETS
            else:
                part = _SETS if _sets_task(steps) else _OTHER
            self._parts[class_id] = part
        return part

    def _has_own_name(self, threads: NDArray[np.int32], names: _Numbers) -> NDArray[np.bool_]:
        """Return True where a thread has this name, by ids of threads and names."""
        pairs, rows = distinct(threads.astype(np.int64) << 32 | names)
        of, strings = self._trace.threads, self._trace.strings
        known = [
            of[pair >> 32].name.encode("utf-8", "surrogateescape") == strings[pair & 0xFFFFFFFF]
            for pair in pairs.tolist()
        ]
        return np.array(known, np.bool_)[rows]

    def _tasks_before(self, cpu: int, parts: NDArray[np.int8], after: _Numbers) -> _Numbers:
        """Return the task that a CPU runs before each of its events (shape (3, n)); keep the last one."""
        sets = (parts == _SWITCHES) | (parts == _SETS) | (parts == _FORGETS)
        last = np.maximum.accumulate(np.where(sets, np.arange(1, len(sets) + 1), 0))
        first = np.array(self._tasks.get(cpu, self._first), np.int64)[:, np.newaxis]
        tasks = np.concatenate([first, after], axis=1)[:, np.concatenate([[0], last])]
        pid, priority, comm = tasks[:, -1].tolist()
        self._tasks[cpu] = (pid, priority, comm)
        return tasks[:, :-1]


def _sets_task(steps: Steps) -> bool:
    """Return True if a program writes the event from which readers know what a CPU runs."""
    number = tracepoints.number_of_tracepoint()["sched", "sched_switch"]
    return any(op == kernel.OPEN and tag == tag_of(number, BYTES) for op, tag, *_ in steps.steps)


def _columns(table: Table, event_class: EventClass, names: tuple[str, ...]) -> _Numbers:
    """Return columns of numbers and ids of texts (shape (names, n)): 0 where there is none, as readers take it."""
    numbers = np.zeros((len(names), len(table)), np.int64)
    of = {field.name: index for index, field in enumerate(event_class.fields)}
    for row, name in enumerate(names):
        if name in of:
            column = table.column(of[name])
            # Texts that are no ids are like no other.
            numbers[row] = column if isinstance(column, np.ndarray) else -1
    return numbers


def _is_apart(batch: Batch, parts: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return True for each event that is later than all before it in bundles of its CPU, and earlier than all after it.

    Lost events have the time of the bundle before.
    """
    apart = np.ones(len(batch), np.bool_)
    timed = (parts > 0) & (parts != _FORGETS)
    for cpu in values_of(batch.cpu).tolist():
        run = np.flatnonzero(timed & (batch.cpu == cpu))
        ts = batch.ts[run]
        found = np.ones(len(run), np.bool_)
        found[1:] &= ts[1:] > np.maximum.accumulate(ts)[:-1]
        found[:-1] &= ts[:-1] < np.minimum.accumulate(ts[::-1])[::-1][1:]
        apart[run] = found
    return apart
