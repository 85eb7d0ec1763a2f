"""Context switches that perf recorded without tracepoints (`perf record --switch-events`), as switches of tasks.

A SWITCH_CPU_WIDE record says which task a CPU goes on with, at the end of one and again at the start of the next; a
SWITCH record names its own task alone. Neither says why a task stops, only whether it was preempted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from converter.formats.perf.data.layout import RecordType
from converter.formats.perf.data.mapping import record_class
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.domain.scheduling.switched_tasks import UNKNOWN_LABEL, UNKNOWN_TASK
from converter.projection.passes.renumbering import in_classes

_OF_ONE: Final = record_class(RecordType.SWITCH)
_OF_BOTH: Final = record_class(RecordType.SWITCH_CPU_WIDE)
_TID: Final = IntegerClass(32, signed=True)
#: TASK_RUNNING of a preempted task, TASK_INTERRUPTIBLE of any other.
_RUNNING, _SLEEPING = np.int64(0), np.int64(1)


def with_switches(trace: Trace, _lose: Callable[[str, int, int], None]) -> Trace:
    """Return the trace with switches of tasks in place of perf's records, unless it has tracepoints of them.

    A record that says that a task starts, and that another one stopped, repeats the one before: it stays as it is.
    """
    result = dataclasses.replace(trace, event_classes=[])

    def batches() -> Iterator[Batch]:
        numbers: list[int] = []
        switches: dict[int, int] = {}
        for batch in trace.batches():
            classes = trace.event_classes
            is_traced = any(one.kind is Kind.SCHED_SWITCH for one in classes)
            for number in range(len(numbers), len(classes)):
                numbers.append(result.add_class(classes[number]))
                if classes[number] in (_OF_ONE, _OF_BOTH) and not is_traced:
                    made = _switch_class(names_one=classes[number] == _OF_ONE)
                    switches[number] = result.add_class(made)
            renumbered = in_classes(batch, numbers)
            for number in (one for one in batch.tables if one in switches):
                renumbered = _with_switches(trace, batch, renumbered, number, switches[number])
            yield renumbered

    result.make_batches = batches
    return result


def _switch_class(*, names_one: bool) -> EventClass:
    tid = dataclasses.replace(_TID, labels=(UNKNOWN_LABEL,)) if names_one else _TID
    fields = (
        Field("prev_pid", tid, Role.PREV_TID),
        Field("prev_state", IntegerClass(64, signed=True), Role.PREV_STATE),
        Field("next_pid", tid, Role.NEXT_TID),
    )
    return EventClass(Kind.SCHED_SWITCH, "sched_switch", "sched", fields)


def _with_switches(
    trace: Trace, batch: Batch, renumbered: Batch, number: int, switch: int
) -> Batch:
    """Return a batch with switches in place of a class's records, of those whose task and CPU are known."""
    positions, table = batch.positions(number), batch.tables[number]
    names = [field.name for field in trace.event_classes[number].fields]
    columns = {name: np.asarray(table.column(index)) for index, name in enumerate(names)}
    thread = batch.thread[positions]
    chosen = (thread >= 0) & (batch.cpu[positions] >= 0)
    out = columns["out"]
    if "next_prev_tid" in columns:
        chosen &= out
        other = columns["next_prev_tid"].astype(np.int32)
    else:
        other = np.full(len(positions), UNKNOWN_TASK, np.int32)
    rows, others = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    tids = np.array([one.tid for one in trace.threads] or [0], np.int64)
    tid = tids[thread].astype(np.int32)
    switches = (
        np.where(out, tid, other)[rows],
        np.where(out & ~columns["preempt"], _SLEEPING, _RUNNING)[rows],
        np.where(out, other, tid)[rows],
    )
    class_id, row = renumbered.class_id.copy(), renumbered.row.copy()
    class_id[positions[rows]] = switch
    row[positions[rows]], row[positions[others]] = np.arange(len(rows)), np.arange(len(others))
    own = int(renumbered.class_id[positions[0]])
    tables = {**renumbered.tables, own: table.select(others), switch: Table(len(rows), switches)}
    return Batch(
        ts=batch.ts,
        class_id=class_id,
        row=row,
        tables=tables,
        thread=batch.thread,
        cpu=batch.cpu,
        track=batch.track,
    )
