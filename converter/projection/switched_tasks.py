"""Switches that name both tasks, for formats whose viewers take the one that a switch does not name for a task.

A tracer that follows tasks says which one got a CPU or left it, not who had it before or has it then.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass, Label
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.losses import LossKind, LossReport

#: Of a field of a switch: which number stands for a task that is not known. Other classes name all tasks.
UNKNOWN_TASK: Final = -1
UNKNOWN_LABEL: Final = Label(UNKNOWN_TASK, UNKNOWN_TASK, "unknown")
_IDLE: Final = 0
_ROLES: Final = (Role.PREV_TID, Role.NEXT_TID)
_WHAT: Final = "tasks that switches do not name, as the last of the CPU where they leave it, else as the idle one"
_Int64s = NDArray[np.int64]


def naming_both(trace: Trace, report: LossReport) -> Trace:
    """The trace with a task for each that a switch does not name."""
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
    """Whether switches of a class may name one of their tasks alone."""
    return event_class.kind is Kind.SCHED_SWITCH and any(
        field.role in _ROLES
        and isinstance(field.type, IntegerClass)
        and UNKNOWN_LABEL in field.type.labels
        for field in event_class.fields
    )


def _with_tasks(
    trace: Trace, batch: Batch, partial: list[int], running: dict[int, int], report: LossReport
) -> Batch:
    positions = np.concatenate([batch.positions(number) for number in partial])
    left, got = (
        np.concatenate([_tids(trace, batch, number, role) for number in partial]) for role in _ROLES
    )
    lost = (left == UNKNOWN_TASK) | (got == UNKNOWN_TASK)
    if lost.any():
        report.add(LossKind.CHANGED, _WHAT, int(lost.sum()), int(batch.ts[positions[lost].min()]))
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
    """The task that the switch before each on its CPU was to; `running` says it of the first, then behind the last."""
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
