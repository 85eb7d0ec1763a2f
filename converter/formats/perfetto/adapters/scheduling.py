"""Scheduling records as Linux's events, or as states of tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from converter.formats.perfetto import mapping
from converter.formats.perfetto.adapters.positions import off_tracks, on_threads_by_tid
from converter.ir.distinct_values import distinct
from converter.ir.events import EventClass
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Projection
from converter.projection.domain.scheduling.sched_conventions import with_linux_state
from converter.projection.domain.scheduling.state_bits import (
    bits_of_release,
    lose_states,
    report_unknown_kernel,
    with_state_bits,
)
from converter.projection.domain.scheduling.switched_tasks import may_name_one
from converter.projection.domain.scheduling.task_names import with_tasks
from converter.projection.domain.scheduling.thread_states import (
    ThreadState,
    labelled,
    thread_state,
)
from converter.projection.engine.partitions import Partition

#: The letters that Perfetto's viewer has for the states of tasks, and their names, by their numbers.
_STATES: Final = np.array([list("RRTSZX"), [one.name.lower() for one in ThreadState]], np.object_)
#: The names of a switch in tracers of Linux.
_LINUX_SWITCHES: Final = frozenset({"", "sched_switch", "sched_schedule", "schedule"})


def is_of_task_states(event_class: EventClass) -> bool:
    """Return True if a switch is written as states of its tasks: it has no Linux name, or names only one task."""
    return event_class.kind is Kind.SCHED_SWITCH and (
        event_class.name not in _LINUX_SWITCHES or may_name_one(event_class)
    )


def _with_thread_states(partition: Partition, projection: Projection) -> Partition:
    """Convert a scheduler's own states to the vocabulary for other kernels."""
    index = partition.event_class.index_of(Role.PREV_STATE)
    if index is None:
        return partition
    own = partition.event_class.fields[index]
    if own == mapping.SWITCH_STATE or not isinstance(own.type, IntegerClass):
        return partition
    own_class = own.type

    def new_class() -> EventClass:
        fields = list(partition.event_class.fields)
        fields[index] = mapping.SWITCH_STATE
        return replace(partition.event_class, fields=tuple(fields))

    def states() -> Any:
        numbers = np.asarray(partition.table.column(index))
        values, which = distinct(numbers)
        found = thread_state(values, own_class)
        texts = labelled(values, own_class)
        # The viewer shows letters; a state of the same letter, or of the same name, looks the same.
        letters, names = _STATES[:, found]
        lost = (texts != letters) & (texts != names)
        was, shown = (which, texts.__getitem__), (which, letters.__getitem__)
        lose_states("state-shown-as", partition, was, shown, lost[which], projection)
        return found[which]

    projection.lose("field-type", partition, field=own.name)
    columns: list[Any] = partition.lazy_columns()
    columns[index] = states
    return partition.rewritten(partition.derive(("states",), new_class), columns)


def as_scheduled(partition: Partition, projection: Projection) -> Partition:
    """Give records task names and Linux's states, and move them to the task that leaves the CPU, or to the waker.

    The kernel's own records are already like this.
    """
    if is_of_task_states(partition.event_class):
        return off_tracks(_with_thread_states(partition, projection), projection)
    partition = with_tasks(partition, projection)
    if partition.event_class.kind is Kind.SCHED_SWITCH and not projection.is_own:
        release = str(projection.source.environment.get("kernel_release", ""))
        report_unknown_kernel(partition, projection)
        partition = with_state_bits(partition, projection, bits_of_release(release))
    if partition.event_class.category != "sched":
        role = Role.WAKER_TID
        if partition.event_class.kind is Kind.SCHED_SWITCH:
            partition = with_linux_state(partition)
            role = Role.PREV_TID
        tids = partition.integers(role)
        threads = projection.threads_of(partition)
        missing = threads < 0
        if tids is not None and missing.any():
            found = projection.thread_of_tid(tids)
            threads = np.where(missing, found, threads).astype(np.int32)
            partition = partition.moved(thread=threads)
        waker = partition.event_class.index_of(Role.WAKER_TID)
        if waker is not None and not (threads < 0).any():
            # The record says it as its thread.
            partition = partition.without_field(waker)
    return on_threads_by_tid(partition, projection)
