"""Scheduling records with weights, as formats without them say the same: idle tasks, priorities, wakers.

In the Fuchsia trace format a thread is the idle one of its CPU if its weight is the lowest Int32 or, in records without
weights, if its priority is 0 and it has no known process; other weights are shown as priorities ("Context Switch
Record"). A wakeup makes a thread runnable, which viewers of other formats read from a waking alone. Such records are
recognised by their fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import constant_column
from converter.ir.distinct_values import map_distinct
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.domain.scheduling.running_threads import ReadyThreads
from converter.projection.domain.scheduling.sched_conventions import (
    IDLE_WEIGHT,
    INCOMING_WEIGHT,
    OUTGOING_WEIGHT,
    WEIGHT,
    is_unweighted,
    unweighted_idle,
)
from converter.projection.domain.scheduling.thread_states import ThreadState
from converter.projection.losses import LossReport
from converter.projection.passes.time_order import at_shared_times

_IDLE_TID: Final = 0
#: Linux's priority of idle tasks.
_IDLE_PRIORITY: Final = 120
#: The meaning of a class to `ReadyThreads`.
_SWITCH: Final = 1
_WAKEUP: Final = 2
_SWITCH_ROLES: Final = (Role.PREV_TID, Role.NEXT_TID, Role.PREV_STATE)
_TARGET_CPU: Final = Field("target_cpu", IntegerClass(32, True), Role.TARGET_CPU)
_TASKS: Final = (
    (Role.PREV_TID, Role.PREV_PID, Role.PREV_PRIORITY, OUTGOING_WEIGHT),
    (Role.NEXT_TID, Role.NEXT_PID, Role.NEXT_PRIORITY, INCOMING_WEIGHT),
)

_Column = Callable[[], Any]


def as_priorities(trace: Trace, report: LossReport, *, by_cpu: bool) -> Trace:
    """Return the trace whose idle tasks are number 0, with priorities for weights, and wakeups by their wakers.

    Viewers of formats that are `by_cpu` take the switches of one time in the order of their CPUs.
    """
    kinds = trace.semantics.kinds
    semantics = trace.semantics
    if kinds is not None and Kind.SCHED_WAKEUP in kinds:
        semantics = replace(semantics, kinds=kinds | {Kind.SCHED_WAKING})
    result = dataclasses.replace(trace, event_classes=[], semantics=semantics)
    result.make_batches = _Rewriter(trace, result, report, by_cpu=by_cpu).batches
    return result


def _idle_tasks(
    trace: Trace, event_class: EventClass, table: Table, tid: Role
) -> NDArray[np.bool_] | None:
    """Return which rows of a switch have an idle task in a role; None for a class that says nothing."""
    _, _, priority, weight = next(one for one in _TASKS if one[0] is tid)
    index = _index(event_class, weight)
    if index is not None:
        is_lowest: NDArray[np.bool_] = np.asarray(table.column(index)) == IDLE_WEIGHT
        return is_lowest
    index, tid_index = event_class.index_of(priority), event_class.index_of(tid)
    if index is None or tid_index is None or not is_unweighted(event_class):
        return None
    return unweighted_idle(
        trace, np.asarray(table.column(index)), np.asarray(table.column(tid_index))
    )


def _index(event_class: EventClass, field: Field) -> int | None:
    return next((i for i, one in enumerate(event_class.fields) if one == field), None)


class _Rewriter:
    def __init__(self, source: Trace, result: Trace, report: LossReport, *, by_cpu: bool) -> None:
        self._source = source
        self._result = result
        self._report = report
        self._by_cpu = by_cpu
        self._thread_of_tid: dict[int, int] = {}
        self._threads = 0
        self._ready = ReadyThreads()

    def batches(self) -> Iterator[Batch]:
        self._ready = ReadyThreads()
        for batch in self._source.batches():
            classes = self._source.event_classes
            for event_class in classes[len(self._result.event_classes) :]:
                self._result.add_class(_rewritten_class(event_class))
            yield self._rewritten(batch)

    def _rewritten(self, batch: Batch) -> Batch:
        self._report_ready(batch)
        tables = dict(batch.tables)
        thread = batch.thread
        for number, table in batch.tables.items():
            own = self._source.event_classes[number]
            if own is self._result.event_classes[number] or not len(table):
                continue
            if own.kind is Kind.SCHED_SWITCH:
                self._report_idle(batch, number)
                self._report_states(batch, number)
                tables[number] = _with_idle_tasks(self._source, own, table)
                continue
            at = batch.positions(number)
            self._report.add_at("waiting-shown-runnable", self._source, batch, at)
            threads = self._wakers(own, table)
            if (threads >= 0).any():
                thread = np.array(thread) if thread is batch.thread else thread
                thread[at] = np.where(thread[at] >= 0, thread[at], threads)
            if own.index_of(Role.TARGET_CPU) is None:
                columns: list[Any] = [*table.lazy_columns(), batch.cpu[at]]
                tables[number] = Table(len(table), columns)
        if tables == batch.tables and thread is batch.thread:
            return batch
        return Batch(
            ts=batch.ts,
            class_id=batch.class_id,
            row=batch.row,
            tables=tables,
            thread=thread,
            cpu=batch.cpu,
            track=batch.track,
        )

    def _report_idle(self, batch: Batch, number: int) -> None:
        """Report switches that name an idle task by its own id."""
        event_class, table = self._source.event_classes[number], batch.tables[number]
        count = 0
        for tid, *_ in _TASKS:
            idle = _idle_tasks(self._source, event_class, table, tid)
            index = event_class.index_of(tid)
            if idle is not None and index is not None:
                count += int(np.count_nonzero(idle & (np.asarray(table.column(index)) != 0)))
        first = int(batch.ts[batch.positions(number)].min())
        self._report.add("idle-thread-as-task-0", count, first)

    def _report_states(self, batch: Batch, number: int) -> None:
        """Report states that the format does not have."""
        index = self._source.event_classes[number].index_of(Role.PREV_STATE)
        states = None if index is None else batch.tables[number].column(index)
        if isinstance(states, np.ndarray):
            at = batch.positions(number)[states > max(ThreadState)]
            self._report.add_at("state-unknown-shown-runnable", self._source, batch, at)

    def _report_ready(self, batch: Batch) -> None:
        """Report wakeups and switches that contradict what was before, which importers show in other ways."""
        classes = self._source.event_classes
        # Records without weights are not of such a format.
        of_tasks = [
            number
            for number, table in batch.tables.items()
            if len(table) and classes[number] is not self._result.event_classes[number]
        ]
        if not of_tasks:
            return
        count = max(batch.tables) + 1
        steps, rows = np.zeros(count, np.uint8), np.zeros(count, np.int64)
        columns: list[NDArray[Any] | None] = [None] * (3 * count)
        for number, table in batch.tables.items():
            rows[number] = len(table)
        for number in of_tasks:
            step = steps[number] = _step_of(classes[number])
            roles = (Role.TID,) if step == _WAKEUP else _SWITCH_ROLES
            for i, role in enumerate(roles):
                columns[3 * number + i] = self._threads_of(number, batch.tables[number], role)
        again, first, elsewhere, first_elsewhere = self._ready.inconsistent(
            batch.class_id,
            batch.row,
            batch.cpu,
            steps,
            rows,
            columns,
            int(ThreadState.RUNNING),
            int(ThreadState.DYING),
        )
        if again:
            self._report.add("wakeup-again", again, int(batch.ts[first]))
        if elsewhere:
            self._report.add("switch-of-other-thread", elsewhere, int(batch.ts[first_elsewhere]))
        if self._by_cpu:
            self._report_moved(batch, [number for number in of_tasks if steps[number] == _SWITCH])

    def _report_moved(self, batch: Batch, switches: list[int]) -> None:
        """Report threads that at one time leave a CPU and run on one before it."""
        at = at_shared_times(batch.ts, batch.time_order)
        at = at[np.isin(batch.class_id[at], switches)]
        if not len(at):
            return
        tids = np.zeros((2, len(batch)), np.uint64)
        for number in switches:
            positions = batch.positions(number)
            for which, (role, *_) in enumerate(_TASKS):
                column = self._threads_of(number, batch.tables[number], role)
                tids[which, positions] = column[batch.row[positions]].astype(np.uint64)
        tid, both = tids[:, at].ravel(), np.tile(at, 2)
        order = np.lexsort((both, tid, batch.ts[both]))
        tid, both = tid[order], both[order]
        same = (tid[1:] == tid[:-1]) & (batch.ts[both[1:]] == batch.ts[both[:-1]]) & (tid[1:] != 0)
        moved = both[1:][same & (batch.cpu[both[1:]] < batch.cpu[both[:-1]])]
        self._report.add_at("thread-moved-at-once", self._source, batch, moved)

    def _threads_of(self, number: int, table: Table, role: Role) -> NDArray[Any]:
        """Return a column of a record; idle tasks are thread 0."""
        event_class = self._source.event_classes[number]
        column = _numbers_of(event_class, table, role)
        if role not in (Role.PREV_TID, Role.NEXT_TID):
            return column
        idle = _idle_tasks(self._source, event_class, table, role)
        return column if idle is None else np.where(idle, column.dtype.type(0), column)

    def _wakers(self, event_class: EventClass, table: Table) -> NDArray[np.int32]:
        """Return the waking threads: those that wakeups name, else the woken ones, as importers have it."""
        for thread in self._source.threads[self._threads :]:
            self._thread_of_tid.setdefault(thread.tid, self._threads)
            self._threads += 1
        for role in (Role.WAKER_TID, Role.TID):
            index = event_class.index_of(role)
            column = None if index is None else table.column(index)
            if isinstance(column, np.ndarray):
                return map_distinct(column, lambda tid: self._thread_of_tid.get(tid, -1))
        return constant_column(np.int32(-1), len(table))


def _rewritten_class(event_class: EventClass) -> EventClass:
    """Return the class with priorities for weights; the same object if it has none."""
    fields = list(event_class.fields)
    if _is_waking(event_class):
        _give_role(fields, WEIGHT, Role.PRIORITY)
        if event_class.index_of(Role.TARGET_CPU) is None:
            fields.append(_TARGET_CPU)
        return replace(event_class, kind=Kind.SCHED_WAKING, fields=tuple(fields))
    if event_class.kind is not Kind.SCHED_SWITCH:
        return event_class
    for _, _, priority, weight in _TASKS:
        _give_role(fields, weight, priority)
    if tuple(fields) != event_class.fields or is_unweighted(event_class):
        # Another object even if it is equal: its columns differ.
        return replace(event_class, fields=tuple(fields))
    return event_class


def _is_waking(event_class: EventClass) -> bool:
    """Return True if a class is that of such wakeups: tracepoints have names, and ids of kernels fewer bits."""
    if event_class.kind is not Kind.SCHED_WAKEUP or event_class.name:
        return False
    index = event_class.index_of(Role.TID)
    return index is not None and event_class.fields[index].type == IntegerClass(64)


def _step_of(event_class: EventClass) -> int:
    """Return what a class is to `ReadyThreads`."""
    if event_class.kind is Kind.SCHED_SWITCH:
        return _SWITCH
    return _WAKEUP if _is_waking(event_class) else 0


def _numbers_of(event_class: EventClass, table: Table, role: Role) -> NDArray[Any]:
    index = event_class.index_of(role)
    column = None if index is None else table.column(index)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
        return column
    return constant_column(np.int64(0), len(table))


def _give_role(fields: list[Field], weight: Field, priority: Role) -> None:
    """Make a weight the priority of a class that has no other."""
    if weight in fields and all(field.role is not priority for field in fields):
        fields[fields.index(weight)] = replace(weight, role=priority)


def _with_idle_tasks(trace: Trace, event_class: EventClass, table: Table) -> Table:
    columns: list[Any] = table.lazy_columns()
    for tid, pid, priority, weight in _TASKS:
        idle = _idle_tasks(trace, event_class, table, tid)
        if idle is None or not idle.any():
            continue
        for role in (tid, pid):
            index = event_class.index_of(role)
            if index is not None:
                columns[index] = _where(idle, _IDLE_TID, table.lazy(index))
        index = event_class.index_of(priority)
        if index is None:
            index = _index(event_class, weight)
        if index is not None:
            columns[index] = _where(idle, _IDLE_PRIORITY, table.lazy(index))
    return Table(len(table), columns)


def _where(idle: NDArray[np.bool_], value: int, column: _Column) -> _Column:
    def replaced() -> NDArray[Any]:
        own = np.asarray(column())
        return np.where(idle, own.dtype.type(value), own)

    return replaced
