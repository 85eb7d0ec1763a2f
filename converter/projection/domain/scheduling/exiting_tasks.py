"""Lets exiting tasks leave their CPUs, for formats whose viewers show them as running until a switch says otherwise.

A tracer that follows tasks is gone with the task: the last switch, from a task that is dead, is not recorded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import constant_column
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.domain.scheduling.switched_tasks import UNKNOWN_TASK, may_name_one
from converter.projection.domain.scheduling.thread_states import number_of_dead
from converter.projection.engine.assembly import Placed, assemble
from converter.projection.engine.partitions import Partition
from converter.projection.losses import LossReport

_Int64s = NDArray[np.int64]
#: A task and the class of the switch to it.
_Running = tuple[int, int]
_NOBODY: Final[_Running] = (UNKNOWN_TASK, -1)


def leaving_at_exit(trace: Trace, report: LossReport) -> Trace:
    """Return the trace with a switch before the exit of each task that has the CPU, if switches name one task only."""
    result = dataclasses.replace(trace)
    result.make_batches = lambda: _batches(trace, report)
    return result


def _batches(trace: Trace, report: LossReport) -> Iterator[Batch]:
    #: By CPU: the task that its last switch was to.
    running: dict[int, _Running] = {}
    for batch in trace.batches():
        switches, exits = [], []
        for number, table in batch.tables.items():
            kind = trace.event_classes[number].kind
            if kind is Kind.SCHED_SWITCH and len(table):
                switches.append(number)
            elif kind is Kind.TASK_EXIT and len(table):
                exits.append(number)
        # If all switches name both tasks, nothing is missing.
        partial = any(may_name_one(trace.event_classes[number]) for number in switches)
        if partial or (running and (switches or exits)):
            scheduled = _RunningTasks(trace, batch, switches, running)
            yield _with_switches(trace, batch, scheduled, exits, report)
        else:
            yield batch


class _RunningTasks:
    """The tasks that ran on each CPU over time, by the switches of a batch and `running`, which is updated."""

    def __init__(
        self, trace: Trace, batch: Batch, switches: list[int], running: dict[int, _Running]
    ) -> None:
        positions, tasks, classes = _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS
        for number in switches:
            event_class = trace.event_classes[number]
            at = batch.positions(number)
            # Switches that name both tasks are from a tracer of CPUs, which also records the last one.
            got = np.full(len(at), UNKNOWN_TASK, np.int64)
            if may_name_one(event_class):
                got = _column(batch.tables[number], event_class, Role.NEXT_TID)
            positions = np.append(positions, at)
            tasks = np.append(tasks, got)
            classes = np.append(classes, np.full(len(at), number))
        self._before = dict(running)
        keys = _sort_keys(batch.cpu[positions], positions)
        order = np.argsort(keys)
        self._sort_keys, self._tasks, self._classes = keys[order], tasks[order], classes[order]
        cpus = self._sort_keys >> 32
        for last in np.flatnonzero(np.append(cpus[1:] != cpus[:-1], True)[: len(cpus)]).tolist():
            running[int(cpus[last])] = int(self._tasks[last]), int(self._classes[last])

    def running(self, cpus: NDArray[np.int32], positions: NDArray[Any]) -> tuple[_Int64s, _Int64s]:
        """Return the tasks that had these CPUs at these positions, and the classes of the switches to them."""
        keys = _sort_keys(cpus, positions)
        last = np.searchsorted(self._sort_keys, keys) - 1
        known = last >= 0
        known[known] = self._sort_keys[last[known]] >> 32 == keys[known] >> 32
        found = np.array([self._before.get(cpu, _NOBODY) for cpu in cpus.tolist()], np.int64)
        tasks, classes = found.reshape(-1, 2).T.copy()
        tasks[known], classes[known] = self._tasks[last[known]], self._classes[last[known]]
        return tasks, classes


_NO_NUMBERS = np.zeros(0, np.int64)


def _sort_keys(cpus: NDArray[np.int32], positions: NDArray[Any]) -> _Int64s:
    """Return numbers that sort by CPU, and by position within each."""
    keys: _Int64s = (cpus.astype(np.int64) << 32) + positions
    return keys


def _column(table: Table, event_class: EventClass, role: Role) -> _Int64s:
    index = event_class.index_of(role)
    assert index is not None, "the kind requires it"
    return np.asarray(table.column(index)).astype(np.int64)


def _with_switches(
    trace: Trace, batch: Batch, scheduled: _RunningTasks, exits: list[int], report: LossReport
) -> Batch:
    placed: list[Placed] = []
    for number in exits:
        event_class, table = trace.event_classes[number], batch.tables[number]
        whole = Partition(batch, event_class, table, batch.positions(number))
        exiting = whole.integers(Role.TID)
        if exiting is None:
            # It does not say which task exits.
            placed.append((number, number, whole))
            continue
        tids = exiting.astype(np.int64)
        tasks, classes = scheduled.running(batch.cpu[whole.positions], whole.positions)
        leaves = (tasks == tids) & np.isin(classes, _integer_classes(trace, classes))
        leaving, staying = whole.split(leaves)
        placed += [] if staying is None else [(number, number, staying)]
        if leaving is None:
            continue
        leaving_after = leaving.rewritten(leaving.event_class, leaving.lazy_columns(), after=1)
        placed.append((number, number, leaving_after))
        report.add_at("exit-switch-added", trace, batch, leaving.positions)
        for class_number in sorted(set(classes[leaves].tolist())):
            rows = np.flatnonzero(classes[leaves] == class_number)
            switch_class = trace.event_classes[class_number]
            switches = _switch(switch_class, tids[leaves][rows])
            at = leaving.positions[rows]
            nobody = constant_column(np.int32(-1), len(rows))
            switch = Partition(batch, switch_class, switches, at, (nobody, None, None), whole=False)
            placed.append((class_number, class_number, switch))
    if not any(partition.after for *_, partition in placed):
        return batch
    placed += [
        (
            number,
            number,
            Partition(batch, trace.event_classes[number], table, batch.positions(number)),
        )
        for number, table in batch.tables.items()
        if number not in exits
    ]
    return assemble(batch, placed, trace.strings)


def _integer_classes(trace: Trace, classes: _Int64s) -> list[int]:
    """Return the classes whose fields are all numbers: the other fields of a switch are set to 0."""
    return [
        number
        for number in sorted(set(classes.tolist()))
        if number >= 0
        and all(
            isinstance(field.type, IntegerClass) for field in trace.event_classes[number].fields
        )
    ]


def _switch(event_class: EventClass, tids: _Int64s) -> Table:
    """Return switches from tasks that are dead."""
    columns: list[Any] = []
    for field in event_class.fields:
        assert isinstance(field.type, IntegerClass)
        value: Any = 0
        if field.role is Role.PREV_TID:
            value = tids
        elif field.role is Role.NEXT_TID:
            value = UNKNOWN_TASK
        elif field.role is Role.PREV_STATE:
            value = number_of_dead(field.type)
        columns.append(np.full(len(tids), value, field.type.dtype))
    return Table(len(tids), columns)
