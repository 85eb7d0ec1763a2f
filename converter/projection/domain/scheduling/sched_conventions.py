"""Conventions of scheduling records that formats outside Linux share: one vocabulary of states, weights, wakers.

For `Capabilities.adapters` of formats whose records are those of the Fuchsia trace format ("Context switch record").
Perfetto treats a thread whose weight is the lowest Int32 as the idle thread, shows other weights as priorities, and
drops records without weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, constant_column
from converter.ir.distinct_values import map_distinct
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass, Style
from converter.ir.kinds import Kind, Role
from converter.ir.tables import ComputedColumn
from converter.ir.trace import Trace
from converter.projection.capabilities import Projection
from converter.projection.domain.scheduling.state_bits import (
    SINCE_4_14,
    converted_states,
    lose_states,
    source_bits,
)
from converter.projection.domain.scheduling.thread_states import (
    THREAD_STATES,
    ThreadState,
    linux_state,
    state_of_name,
    thread_state,
)
from converter.projection.engine.partitions import Partition, Thunk

#: The weight of the idle thread, which is thread 0 on every CPU.
IDLE_WEIGHT: Final = -(1 << 31)

INCOMING_WEIGHT: Final = Field("incoming_weight", IntegerClass(32, True))
OUTGOING_WEIGHT: Final = Field("outgoing_weight", IntegerClass(32, True))
WEIGHT: Final = Field("weight", IntegerClass(32, True))
WAKER: Final = Field("waker", IntegerClass(64, False, Style.OBJECT_ID), Role.WAKER_TID)

#: Linux's names for fields of its scheduling events that such records cannot hold: they become arguments of these
#: names.
_ROLES_OF_TEXTS: Final = {
    "prev_comm": Role.PREV_COMM,
    "next_comm": Role.NEXT_COMM,
    "comm": Role.COMM,
}
_ROLES_OF_NUMBERS: Final = {
    "prev_prio": Role.PREV_PRIORITY,
    "next_prio": Role.NEXT_PRIORITY,
    "prio": Role.PRIORITY,
    "target_cpu": Role.TARGET_CPU,
    WAKER.name: Role.WAKER_TID,
}


def argument_role(field: Field) -> Role:
    """Return the role of an argument of a scheduling record, by its name and type."""
    match field.type:
        case StringClass():
            return _ROLES_OF_TEXTS.get(field.name, Role.NONE)
        case IntegerClass():
            return _ROLES_OF_NUMBERS.get(field.name, Role.NONE)
        case _:
            return Role.NONE


def is_unweighted(event_class: EventClass) -> bool:
    """Return True if a switch of such a format has priorities of 8 bits and no weights: 0 is that of an idle thread."""
    types = {field.role: field.type for field in event_class.fields}
    state, priorities = types.get(Role.PREV_STATE), (Role.PREV_PRIORITY, Role.NEXT_PRIORITY)
    return (
        event_class.kind is Kind.SCHED_SWITCH
        and isinstance(state, IntegerClass)
        and state.labels == THREAD_STATES.labels
        and all(types.get(role) == IntegerClass(8) for role in priorities)
    )


def unweighted_idle(
    trace: Trace, priorities: NDArray[Any], tids: NDArray[Any]
) -> NDArray[np.bool_]:
    """Return which rows of a switch without weights have an idle task: priority 0, and no known process but 0.

    Importers know the process of a thread from the record that names it.
    """
    owned = {
        thread.tid
        for thread in trace.threads
        if thread.name and trace.processes[thread.process].pid
    }
    is_owned = map_distinct(tids, owned.__contains__).astype(np.bool_)
    idle: NDArray[np.bool_] = (priorities == 0) & ~is_owned
    return idle


def adapt_sched_switch(partition: Partition, projection: Projection) -> Partition:
    """Convert thread states to `THREAD_STATES`, keep the scheduler's own as an argument, and add missing weights."""
    partition = _with_thread_state(partition, projection)
    source = projection.source if is_unweighted(partition.event_class) else None
    for field, role, priority in (
        (OUTGOING_WEIGHT, Role.PREV_TID, Role.PREV_PRIORITY),
        (INCOMING_WEIGHT, Role.NEXT_TID, Role.NEXT_PRIORITY),
    ):
        if not _has_field(partition, field):
            partition = partition.with_argument(
                field, _weights(partition, role, priority, source), first=True
            )
    return partition


def adapt_sched_wakeup(partition: Partition, projection: Projection) -> Partition:
    """Add the weight of the woken thread, and its waker, which is the thread of the event.

    A partition has wakers in all rows or in none (`wakeups.of_sleepers`). Viewers have a state of its own for a thread
    that was woken. Records with a weight are already of such a format.
    """
    if not projection.is_own and WEIGHT not in partition.event_class.fields:
        projection.lose("waiting-shown-waking", partition)
    if not _has_field(partition, WAKER) and _has_wakers(partition, projection):

        def wakers(partition: Partition) -> NDArray[np.uint64]:
            return projection.tids_of(projection.threads_of(partition)).view(np.uint64)

        tids = (
            ComputedColumn(wakers, (), partition)
            if partition.on_thread is None
            else wakers(partition)
        )
        projection.lose("waker-as-argument", partition)
        absent = constant_column(np.int32(-1), len(partition))
        partition = partition.with_argument(WAKER, tids, first=True).moved(thread=absent)
    if not _has_field(partition, WEIGHT):
        weights = _weights(partition, Role.TID, Role.PRIORITY)
        partition = partition.with_argument(WEIGHT, weights, first=True)
    return partition


def _has_wakers(partition: Partition, projection: Projection) -> bool:
    if projection.is_on_threads(partition):
        return True
    return int(projection.threads_of(partition).max(initial=-1)) >= 0


def _has_field(partition: Partition, wanted: Field) -> bool:
    return any(field.name == wanted.name for field in partition.event_class.fields)


def _weights(
    partition: Partition, role: Role, priority: Role, unweighted: Trace | None = None
) -> ComputedColumn:
    """Return the weights of threads: their priorities, where known, which Perfetto shows as such."""
    tids = partition.lazy_integers(role)
    weights: Column | Thunk | None = partition.lazy_integers(priority)
    if weights is None:
        weights = constant_column(np.int32(0), len(partition))
    if unweighted is None or tids is None:
        inputs = (weights,) if tids is None else (weights, tids)
        return ComputedColumn(_clamped_weights, inputs, partition)
    trace = unweighted

    def weights_of(
        partition: Partition, weights: NDArray[Any], tids: NDArray[Any]
    ) -> NDArray[np.int32]:
        idle = unweighted_idle(trace, weights, tids)
        return np.where(idle, np.int32(IDLE_WEIGHT), _clamped_weights(partition, weights))

    return ComputedColumn(weights_of, (weights, tids), partition)


def _clamped_weights(
    _partition: Partition, weights: NDArray[Any], tids: NDArray[Any] | None = None
) -> NDArray[np.int32]:
    held = np.clip(weights, IDLE_WEIGHT + 1, (1 << 31) - 1).astype(np.int32)
    return held if tids is None else np.where(tids == 0, np.int32(IDLE_WEIGHT), held)


def _with_thread_state(partition: Partition, projection: Projection) -> Partition:
    event_class = partition.event_class
    index = event_class.index_of(Role.PREV_STATE)
    if index is None:
        return partition
    own = event_class.fields[index]
    if isinstance(own.type, IntegerClass) and own.type.labels == THREAD_STATES.labels:
        return partition
    states: Any
    texts = partition.texts(Role.PREV_STATE, projection.source.strings)
    if texts is not None:
        strings = projection.source.strings
        states = map_distinct(
            texts, lambda id: state_of_name(strings.text(id)) or ThreadState.NEW
        ).astype(np.uint8)
    elif isinstance(own.type, IntegerClass):
        own_class = own.type
        # Linux has more kinds of sleep than others, and several bits at once.
        is_linux = all(len(one.text) <= 1 for one in own_class.labels)

        bits = source_bits(event_class, projection)

        def states_of(partition: Partition, numbers: NDArray[Any]) -> NDArray[np.uint8]:
            if bits is not None and bits != SINCE_4_14:
                numbers, _ = converted_states(numbers, bits, SINCE_4_14)
            states = thread_state(numbers, own_class)
            if is_linux:
                shown = linux_state(states)
                _lose_states(partition, numbers, shown, projection)
            return states

        states = ComputedColumn(states_of, (partition.table.lazy(index),), partition)
    else:
        return partition

    def made() -> EventClass:
        raw = tuple(
            replace(field, role=Role.NONE) if field is own else field
            for field in event_class.fields
        )
        return replace(event_class, fields=raw)

    raw = partition.rewritten(partition.derive(("state",), made), partition.lazy_columns())
    state = Field(own.name, THREAD_STATES, Role.PREV_STATE)
    return raw.with_argument(state, states, first=True)


def _lose_states(
    partition: Partition, numbers: NDArray[Any], shown: NDArray[Any], projection: Projection
) -> None:
    """Count Linux's states that the format's vocabulary shows as others."""
    changed = shown != numbers
    was, becomes = ((column, SINCE_4_14.text) for column in (numbers, shown))
    lose_states("state-shown-as", partition, was, becomes, changed, projection)


def with_linux_state(partition: Partition) -> Partition:
    """Replace a state of `THREAD_STATES` in a switch with the scheduler's own number.

    That is the argument of the same name if the record came from Linux, else the number that Linux has for it.
    """
    event_class = partition.event_class
    index = event_class.index_of(Role.PREV_STATE)
    if index is None:
        return partition
    state = event_class.fields[index]
    if not (isinstance(state.type, IntegerClass) and state.type.labels == THREAD_STATES.labels):
        return partition
    own = next(
        (
            i
            for i, field in enumerate(event_class.fields)
            if i != index and field.name == state.name and isinstance(field.type, IntegerClass)
        ),
        None,
    )
    columns = partition.lazy_columns()
    if own is None:

        def numbers() -> NDArray[np.int64]:
            return linux_state(np.asarray(partition.table.column(index)))

        columns[index] = numbers
    else:
        columns[index] = columns[own]
        del columns[own]

    def declared() -> EventClass:
        fields = list(event_class.fields)
        if own is None:
            fields[index] = replace(state, type=IntegerClass(64, True))
        else:
            fields[index] = replace(fields[own], role=Role.PREV_STATE)
            del fields[own]
        return replace(event_class, fields=tuple(fields))

    return partition.rewritten(partition.derive(("linux state",), declared), columns)
