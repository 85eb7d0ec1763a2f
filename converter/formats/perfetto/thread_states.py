"""Selects the states of threads that are states of tasks, so that importers show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.layout import TaskState
from converter.ir.columns import string_ids
from converter.ir.events import EventClass, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Role
from converter.ir.trace import Thread
from converter.kernels.tables.strings import StringTable

#: The importers' names of task states. States of dead tasks would end the thread, which the source does not say.
_STATES: Final = {
    b"Running": TaskState.RUNNING,
    b"R": TaskState.RUNNABLE,
    b"S": TaskState.INTERRUPTIBLE_SLEEP,
    b"D": TaskState.UNINTERRUPTIBLE_SLEEP,
    b"T": TaskState.STOPPED,
}
_MAX_CPU: Final = 1023


@dataclass(frozen=True, slots=True)
class ShownStates:
    """States as importers show them: their rows and contents."""

    rows: NDArray[np.intp]
    duration: NDArray[np.int64]
    tid: NDArray[np.int64]
    #: -1 for a thread that does not run.
    cpu: NDArray[np.int64]
    state: NDArray[np.int64]


def shown_states(
    event_class: EventClass,
    table: Table,
    thread: NDArray[np.int32],
    threads: Sequence[Thread],
    strings: StringTable,
) -> ShownStates:
    """Return the states of a class, on these of the trace's threads, that are states of tasks.

    Tasks only have a tid: one that threads of several processes share belongs to none of them.
    """
    tids = np.array([one.tid for one in threads] + [0], np.int64)
    values, which, counts = np.unique(tids, return_inverse=True, return_counts=True)
    is_one = ((counts == 1) & (values > 0) & (values < 1 << 31))[which]
    names = table.column(_index(event_class, Role.NAME))
    state = _states_of(string_ids(names, strings), strings)
    cpu = np.full(len(table), -1, np.int64)
    for index, field in enumerate(event_class.fields):
        if field.name == "cpu" and isinstance(field.type, IntegerClass):
            column: Any = table.column(index)
            cpu[:] = np.where((column >= 0) & (column <= _MAX_CPU), column, -1)
    runs = state == TaskState.RUNNING
    rows = np.flatnonzero((state != TaskState.UNKNOWN) & is_one[thread] & (~runs | (cpu >= 0)))
    duration: Any = table.column(_index(event_class, Role.DURATION))
    return ShownStates(
        rows,
        np.asarray(duration).astype(np.int64)[rows],
        tids[thread][rows],
        np.where(runs, cpu, -1)[rows],
        state[rows],
    )


def _index(event_class: EventClass, role: Role) -> int:
    index = event_class.index_of(role)
    assert index is not None
    return index


def _states_of(names: NDArray[np.int32], strings: StringTable) -> NDArray[np.int64]:
    ids, which = np.unique(names, return_inverse=True)
    states = [_STATES.get(strings[id], TaskState.UNKNOWN) for id in ids.tolist()]
    return np.array(states, np.int64)[which]
