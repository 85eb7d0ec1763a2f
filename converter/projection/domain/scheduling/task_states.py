"""Turns the task states of a tracer's state dump, and the names that programs give their threads, into slices on tracks
of the threads.

Viewers show the states of tasks from switches and wakeups alone: for a task that sleeps from the start they show none,
though the dump says so. The events of the dump stay as they are; the slices are added.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import constant_column, string_ids
from converter.ir.distinct_values import names_by_value, values_of
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import TrackScope
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import ByClass, Partition
from converter.projection.instants import CATEGORY, NAME

#: The tracks of a thread.
STATE_TRACK: Final = "State"
BRAND_TRACK: Final = "Brand"

_BEGIN: Final = EventClass(Kind.SLICE_BEGIN, fields=(NAME, CATEGORY))
_END: Final = EventClass(Kind.SLICE_END)
#: Events that set the state of a task, by the roles of the fields with the task.
_SAYING: Final = {
    Kind.SCHED_SWITCH: (Role.PREV_TID, Role.NEXT_TID),
    Kind.SCHED_WAKING: (Role.TID,),
    Kind.SCHED_WAKEUP: (Role.TID,),
    Kind.SCHED_WAKEUP_NEW: (Role.TID,),
    Kind.TASK_EXIT: (Role.TID,),
    Kind.TASK_FREE: (Role.TID,),
}
#: The names of the dump's events in LTTng: version 1.0 of its first format, and those that write CTF.
_PREFIXES: Final = ("list_", "lttng_statedump_")
#: For a task of which the tracer knows nothing.
_NO_STATE: Final = "unnamed"
_NOWHERE: Final = np.iinfo(np.int64).max
_Int64s = NDArray[np.int64]
_NONE: Final = np.zeros(0, np.int64)


class TaskStates:
    """The slices for the batches of a trace, which must be passed in order."""

    def __init__(self, projection: Projection) -> None:
        self._projection = projection
        self._is_dump = ByClass(_is_dump)
        self._is_brand = ByClass(_is_brand)
        #: Tasks whose state is open, and those whose state other events have set, in ascending order.
        self._open = self._settled = _NONE
        self._branded = _NONE
        #: The number of classes that were checked for such events, and whether there are any.
        self._seen = 0
        self._occur = False

    def partitions(self, batch: Batch) -> list[Partition]:
        """Return the begins and ends of slices that follow the events of a batch."""
        classes = self._projection.source.event_classes
        new, self._seen = classes[self._seen :], len(classes)
        self._occur |= any(self._is_dump(one) or self._is_brand(one) for one in new)
        if not self._occur:
            return []
        whole = [
            Partition(batch, classes[number], table, batch.positions(number))
            for number, table in batch.tables.items()
            if len(table)
        ]
        dumps = [one for one in whole if self._is_dump(one.event_class)]
        brands = [one for one in whole if self._is_brand(one.event_class)]
        slices = self._states(
            batch, dumps, [one for one in whole if one.event_class.kind in _SAYING]
        )
        for brand in brands:
            slices += self._brands(batch, brand)
        return slices

    # States

    def _states(
        self, batch: Batch, dumps: list[Partition], saying: list[Partition]
    ) -> list[Partition]:
        """Return slices from the dump's state to the next event that sets one."""
        changed, changed_at = _first_of_each(*_recorded_states(saying))
        tids, at, names = self._dumped_tasks(dumps)
        threads = self._projection.thread_of_tid(tids)
        begins = (threads >= 0) & (tids > 0) & (at < _lookup(tids, changed, changed_at))
        begins &= ~np.isin(tids, self._settled) & ~np.isin(tids, self._open)
        known = values_of(np.concatenate((self._open, tids[begins])))
        end_at = _lookup(known, changed, changed_at)
        ends = end_at != _NOWHERE
        self._settled = values_of(np.concatenate((self._settled, changed)))
        self._open = known[~ends]
        slices = []
        if ends.any():
            order = np.argsort(end_at[ends], kind="stable")
            owners = self._projection.thread_of_tid(known[ends][order])
            slices.append(self._slice_events(batch, STATE_TRACK, end_at[ends][order], owners, None))
        if begins.any():
            order = np.argsort(at[begins], kind="stable")
            owners, called = threads[begins][order], names[begins][order]
            slices.append(self._slice_events(batch, STATE_TRACK, at[begins][order], owners, called))
        return slices

    def _dumped_tasks(self, dumps: list[Partition]) -> tuple[_Int64s, _Int64s, NDArray[np.int32]]:
        """Return the tasks of the dump, each once, the positions of their states, and the names of these."""
        tids, at, names = [_NONE], [_NONE], [np.zeros(0, np.int32)]
        for partition in dumps:
            fields = [field.name for field in partition.event_class.fields]
            column = partition.table.column(fields.index("tid" if "tid" in fields else "pid"))
            status = partition.table.column(fields.index("status"))
            held = partition.event_class.fields[fields.index("status")].type
            assert isinstance(column, np.ndarray) and isinstance(status, np.ndarray)
            assert isinstance(held, IntegerClass)
            called = {label.low: label.text for label in held.labels if label.text != _NO_STATE}
            is_state = np.isin(status, list(called))
            tids.append(column[is_state].astype(np.int64))
            at.append(partition.positions[is_state].astype(np.int64))
            strings = self._projection.source.strings
            names.append(names_by_value(status[is_state], called.__getitem__, strings))
        positions, texts = np.concatenate(at), np.concatenate(names)
        found, where = _first_of_each(np.concatenate(tids), positions)
        order = np.argsort(positions)
        return found, where, texts[order[np.searchsorted(positions[order], where)]]

    # Brands

    def _brands(self, batch: Batch, partition: Partition) -> list[Partition]:
        """Return slices from one name of a thread to its next."""
        index = _text_of(partition.event_class)
        assert index is not None
        threads = self._projection.threads_of(partition)
        known = threads >= 0
        threads, at = threads[known], partition.positions[known].astype(np.int64)
        names = string_ids(partition.table.column(index), self._projection.source.strings)[known]
        owners, first = np.unique(threads, return_index=True)
        goes_on = np.ones(len(threads), np.bool_)
        goes_on[first[~np.isin(owners, self._branded)]] = False
        self._branded = values_of(np.concatenate((self._branded, owners)))
        slices = []
        if goes_on.any():
            slices.append(
                self._slice_events(batch, BRAND_TRACK, at[goes_on], threads[goes_on], None)
            )
        if len(at):
            slices.append(self._slice_events(batch, BRAND_TRACK, at, threads, names))
        return slices

    def _slice_events(
        self,
        batch: Batch,
        track: str,
        at: _Int64s,
        owners: NDArray[np.int32],
        names: NDArray[np.int32] | None,
    ) -> Partition:
        """Return begins of slices with these names after events, or, without names, ends before them."""
        projection, count = self._projection, len(at)
        nowhere = constant_column(np.int32(-1), count)
        event_class, columns = _END, []
        if names is not None:
            event_class, columns = _BEGIN, [names, projection.constant("task_state", count)]
        partition = Partition(
            batch,
            event_class,
            Table(count, columns),
            at.astype(np.int32),
            (nowhere, nowhere, None),
            after=1 if names is None else 2,
            whole=False,
        ).moved(**projection.place_on_track(track, TrackScope.THREAD, owners))
        if names is not None:
            projection.lose("thread-state-slices", partition)
        return partition


def _is_dump(event_class: EventClass) -> bool:
    name = event_class.name
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    types = {field.name: field.type for field in event_class.fields}
    status = types.get("status")
    return (
        event_class.kind is Kind.TYPED
        and name == "process_state"
        and isinstance(types.get("tid", types.get("pid")), IntegerClass)
        and isinstance(status, IntegerClass)
        and bool(status.labels)
    )


def _is_brand(event_class: EventClass) -> bool:
    return (
        event_class.kind is Kind.TYPED
        and event_class.name.removeprefix("user_generic_") == "thread_brand"
        and _text_of(event_class) is not None
    )


def _text_of(event_class: EventClass) -> int | None:
    """Return the first field that is a text."""
    fields = enumerate(event_class.fields)
    return next((i for i, field in fields if isinstance(field.type, StringClass)), None)


def _recorded_states(saying: list[Partition]) -> tuple[_Int64s, _Int64s]:
    """Return the tasks whose state events set, and the positions of these events."""
    tids, at = [_NONE], [_NONE]
    for partition in saying:
        for role in _SAYING[partition.event_class.kind]:
            column = partition.integers(role)
            if column is not None:
                tids.append(column.astype(np.int64))
                at.append(partition.positions.astype(np.int64))
    return np.concatenate(tids), np.concatenate(at)


def _first_of_each(tids: _Int64s, at: _Int64s) -> tuple[_Int64s, _Int64s]:
    """Return each distinct number in ascending order, with its first position."""
    order = np.argsort(at, kind="stable")
    found, first = np.unique(tids[order], return_index=True)
    return found, at[order][first]


def _lookup(tids: _Int64s, known: _Int64s, values: _Int64s) -> _Int64s:
    """Return the values of numbers among the known, which ascend; `_NOWHERE` for others."""
    if not len(known):
        return np.full(len(tids), _NOWHERE, np.int64)
    at = np.minimum(np.searchsorted(known, tids), len(known) - 1)
    return np.where(known[at] == tids, values[at], _NOWHERE)
