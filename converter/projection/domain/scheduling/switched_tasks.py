"""Fills in the missing task of a context switch, for formats whose viewers would treat it as a real task.

A tracer that follows tasks records which one got a CPU or left it, but not which had it before or has it next.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import string_ids
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass, Label, StringClass
from converter.ir.kinds import TRACEPOINT_KINDS, Kind, Role
from converter.ir.trace import Trace
from converter.projection.domain.scheduling.task_names import UNKNOWN_NAME
from converter.projection.losses import LossReport

#: The number in a field of a switch that means an unknown task. Other classes name all tasks.
UNKNOWN_TASK: Final = -1
UNKNOWN_LABEL: Final = Label(UNKNOWN_TASK, UNKNOWN_TASK, "unknown")
_IDLE: Final = 0
_ROLES: Final = (Role.PREV_TID, Role.NEXT_TID)
_Int64s = NDArray[np.int64]


def naming_both(trace: Trace, report: LossReport) -> Trace:
    """Return the trace with the missing task of each switch filled in."""
    result = dataclasses.replace(trace)
    result.make_batches = lambda: _batches(trace, report)
    return result


def _batches(trace: Trace, report: LossReport) -> Iterator[Batch]:
    #: By CPU: the task that its last switch was to.
    running: dict[int, int] = {}
    may: list[bool] = []
    for batch in trace.batches():
        may += map(may_name_one, trace.event_classes[len(may) :])
        partial = [number for number, table in batch.tables.items() if may[number] and len(table)]
        yield _with_tasks(trace, batch, partial, running, report) if partial else batch


def may_name_one(event_class: EventClass) -> bool:
    """Return True if switches of a class may name only one of their tasks."""
    return event_class.kind is Kind.SCHED_SWITCH and any(
        field.role in _ROLES
        and isinstance(field.type, IntegerClass)
        and UNKNOWN_LABEL in field.type.labels
        for field in event_class.fields
    )


def naming_left(trace: Trace, report: LossReport) -> Trace:
    """Return the trace with a task for each -1 that a kernel's switch has for the task that leaves its CPU.

    That is the task that recorded the previous event on its CPU or, if there is none, the idle task under the name of
    an unknown task.
    """
    result = dataclasses.replace(trace)
    result.make_batches = lambda: (_naming_left(trace, batch, report) for batch in trace.batches())
    return result


def _naming_left(trace: Trace, batch: Batch, report: LossReport) -> Batch:
    tables: dict[int, Table] = {}
    recorded: NDArray[np.int32] | None = None
    for number, table in batch.tables.items():
        event_class = trace.event_classes[number]
        if event_class.kind is not Kind.SCHED_SWITCH or may_name_one(event_class):
            continue
        rows = np.flatnonzero(_tids(trace, batch, number, Role.PREV_TID) == UNKNOWN_TASK)
        if not len(rows):
            continue
        if recorded is None:
            recorded = _recorded_before(trace, batch)
        positions = batch.positions(number)[rows]
        threads = recorded[positions]
        report.add_at("first-switch-task-guessed", trace, batch, positions)
        tables[number] = _with_left(trace, table, event_class, rows, threads)
    return batch.with_tables({**batch.tables, **tables}) if tables else batch


def _recorded_before(trace: Trace, batch: Batch) -> NDArray[np.int32]:
    """Return the thread that recorded the previous event on each event's CPU, -1 if a switch or a gap is in between.

    Only of events whose recording thread is known; events that were drained compactly do not say it.
    """
    kinds = [one.kind for one in trace.event_classes]
    ends = np.array([kind in (Kind.SCHED_SWITCH, Kind.DISCARDED) for kind in kinds])[batch.class_id]
    known = np.array([kind in TRACEPOINT_KINDS for kind in kinds])[batch.class_id]
    recorded = np.flatnonzero(ends | known & (batch.thread >= 0))
    recorded = recorded[np.argsort(batch.cpu[recorded], kind="stable")]
    threads = np.where(ends[recorded], np.int32(-1), batch.thread[recorded])
    same = batch.cpu[recorded][1:] == batch.cpu[recorded][:-1]
    result = np.full(len(batch), -1, np.int32)
    result[recorded[1:][same]] = threads[:-1][same]
    return result


def _name(trace: Trace, thread: int) -> str:
    """Return the name of a thread, or that of its process; empty for none."""
    if thread < 0:
        return ""
    held = trace.threads[thread]
    return held.name or trace.processes[held.process].name


def _with_left(
    trace: Trace,
    table: Table,
    event_class: EventClass,
    rows: NDArray[Any],
    threads: NDArray[np.int32],
) -> Table:
    """Return a table in which these threads, with their names, are the tasks that leave the CPU in some rows."""
    columns: list[Any] = table.lazy_columns()
    field_index = event_class.index_of(Role.PREV_TID)
    assert field_index is not None, "the kind requires it"
    columns[field_index] = tids = np.array(table.column(field_index))
    tids[rows] = [trace.threads[one].tid if one >= 0 else _IDLE for one in threads.tolist()]
    name = event_class.index_of(Role.PREV_COMM)
    if name is not None and isinstance(event_class.fields[name].type, StringClass):
        columns[name] = names = np.array(string_ids(table.column(name), trace.strings))
        texts = (_name(trace, one) for one in threads.tolist())
        names[rows] = [
            trace.strings.intern((text or UNKNOWN_NAME).encode("utf-8", "surrogateescape"))
            for text in texts
        ]
    return Table(len(table), columns)


def _with_tasks(
    trace: Trace, batch: Batch, partial: list[int], running: dict[int, int], report: LossReport
) -> Batch:
    positions = np.concatenate([batch.positions(number) for number in partial])
    left, got = (
        np.concatenate([_tids(trace, batch, number, role) for number in partial]) for role in _ROLES
    )
    lost = (left == UNKNOWN_TASK) | (got == UNKNOWN_TASK)
    report.add_at("switch-task-guessed", trace, batch, positions[lost])
    got = np.where(got == UNKNOWN_TASK, _IDLE, got)
    last = _tasks_before(positions, batch.cpu[positions], got, running)
    left = np.where(left == UNKNOWN_TASK, last, left)
    tables, start = dict(batch.tables), 0
    for number in partial:
        table = batch.tables[number]
        end = start + len(table)
        tables[number] = _replaced(
            table, trace.event_classes[number], (left[start:end], got[start:end])
        )
        start = end
    return batch.with_tables(tables)


def _tids(trace: Trace, batch: Batch, number: int, role: Role) -> _Int64s:
    index = trace.event_classes[number].index_of(role)
    assert index is not None, "the kind requires both"
    return np.asarray(batch.tables[number].column(index)).astype(np.int64)


def _tasks_before(
    positions: NDArray[Any], cpus: NDArray[np.int32], got: _Int64s, running: dict[int, int]
) -> _Int64s:
    """Return the task that the previous switch on each CPU was to. `running` has it for the first ones,
    and is updated.
    """
    order = np.lexsort((positions, cpus))
    cpu, task = cpus[order], got[order]
    first = np.append(True, cpu[1:] != cpu[:-1])
    before = np.roll(task, 1)
    before[first] = [running.get(number, _IDLE) for number in cpu[first].tolist()]
    last = np.roll(first, -1)
    running.update(zip(cpu[last].tolist(), task[last].tolist(), strict=True))
    result = np.empty_like(before)
    result[order] = before
    return result


def _replaced(table: Table, event_class: EventClass, tids: tuple[_Int64s, _Int64s]) -> Table:
    columns: list[Any] = [table.lazy(i) for i in range(table.width)]
    for role, column in zip(_ROLES, tids, strict=True):
        index = event_class.index_of(role)
        assert index is not None, "the kind requires both"
        columns[index] = column.astype(np.asarray(table.column(index)).dtype)
    return Table(len(table), columns)
