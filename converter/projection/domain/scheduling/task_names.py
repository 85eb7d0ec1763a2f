"""Adds names of tasks to events of the kernel, and marks new tasks as threads, where only the tables know it.

Viewers of kernel traces name a task by the events about it, and show the text of an event as it is there.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column
from converter.ir.distinct_values import map_distinct
from converter.ir.events import Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition

#: The field of the name that belongs to each task, under the kernel's names.
_NAMES: Final = (
    (Role.PREV_TID, Field("prev_comm", StringClass(), Role.PREV_COMM)),
    (Role.NEXT_TID, Field("next_comm", StringClass(), Role.NEXT_COMM)),
    (Role.TID, Field("comm", StringClass(), Role.COMM)),
    (Role.PARENT_TID, Field("parent_comm", StringClass(), Role.PARENT_COMM)),
)
_KINDS: Final[dict[Kind, tuple[Role, ...]]] = {
    Kind.SCHED_SWITCH: (Role.PREV_TID, Role.NEXT_TID),
    Kind.SCHED_WAKING: (Role.TID,),
    Kind.SCHED_WAKEUP: (Role.TID,),
    Kind.SCHED_WAKEUP_NEW: (Role.TID,),
    Kind.PROCESS_FORK: (Role.PARENT_TID, Role.TID),
    Kind.TASK_NEW: (Role.TID,),
    Kind.TASK_EXIT: (Role.TID,),
    Kind.TASK_FREE: (Role.TID,),
    Kind.SIGNAL_GENERATE: (Role.TID,),
}
#: Kinds whose events have fields for names of tasks.
NAMED_KINDS: Final = frozenset(_KINDS)
#: The kernel's name for the idle task of each CPU, which all have number 0, and its tools' name for one without a name.
IDLE_NAME: Final = "swapper"
UNKNOWN_NAME: Final = "<...>"
#: The flags that say of a new task whether it is a thread. Systems other than Linux do not have them.
_CLONE_FLAGS: Final = Field("clone_flags", IntegerClass(64), Role.CLONE_FLAGS)
#: include/uapi/linux/sched.h.
_CLONE_THREAD: Final = 0x10000


def with_tasks(
    partition: Partition, projection: Projection, unknown: str | None = None
) -> Partition:
    """Return a partition of one of `NAMED_KINDS` with the names of its tasks, where it has none, and flags of new ones.

    Args:
        partition: the events.
        projection: it knows the threads.
        unknown: the name for a task that has none, nor a process with one; None: it stays without.
    """
    event_class = partition.event_class
    present = {field.role for field in event_class.fields}
    for role, field in _NAMES:
        if role in _KINDS[event_class.kind] and role in present and field.role not in present:
            partition = _with_name(partition, role, field, projection, unknown)
    if event_class.kind is Kind.TASK_NEW:
        partition = _with_clone_flags(partition, projection)
    if partition.event_class is not event_class:
        projection.lose("field-added", partition)
    return partition


def _with_clone_flags(partition: Partition, projection: Projection) -> Partition:
    """Add flags to tasks without any: they are threads if the trace has them in a process with another number."""
    tids = partition.integers(Role.TID)
    if tids is None or partition.event_class.index_of(Role.CLONE_FLAGS) is not None:
        return partition

    def flags() -> Column:
        threads = projection.thread_of_tid(tids)
        others = (threads >= 0) & (projection.pids_of(threads) != tids.astype(np.int64))
        return np.where(others, np.uint64(_CLONE_THREAD), np.uint64(0))

    return partition.with_argument(_CLONE_FLAGS, flags)


def _with_name(
    partition: Partition, role: Role, field: Field, projection: Projection, unknown: str | None
) -> Partition:
    tids = partition.integers(role)
    if tids is None:
        return partition
    strings, target = projection.source.strings, projection.target
    threads, processes = target.threads, target.processes
    found = projection.thread_of_tid(tids)
    if partition.event_class.kind is Kind.TASK_NEW:
        # Until it gets another one, it has the name of the task that created it.
        named = map_distinct(found, lambda one: one >= 0 and bool(threads[one].name))
        found = np.where(named, found, projection.threads_of(partition))

    def name(thread: int) -> int:
        text = threads[thread].name if thread >= 0 else ""
        if not text and unknown is not None:
            text = (processes[threads[thread].process].name if thread >= 0 else "") or unknown
        return strings.intern(text.encode("utf-8", "surrogateescape"))

    names = map_distinct(found, name)
    idle = tids == 0
    if idle.any():
        names = _with_idle_tasks(names, idle, projection.cpus_of(partition), projection)
    return partition.with_argument(field, names)


def _with_idle_tasks(
    names: NDArray[np.int32], idle: NDArray[np.bool_], cpus: NDArray[Any], projection: Projection
) -> NDArray[np.int32]:
    """Return names in which each idle task has that of its CPU."""
    strings = projection.source.strings
    names = names.copy()
    names[idle] = map_distinct(
        cpus[idle], lambda cpu: strings.intern(f"{IDLE_NAME}/{max(cpu, 0)}".encode())
    )
    return names
