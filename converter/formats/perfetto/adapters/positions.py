"""The position of events in a Perfetto trace: counters on their own tracks, kernel events on threads by tid."""

from __future__ import annotations

from typing import Any

import numpy as np

from converter.formats.perfetto.layout import PacketField
from converter.ir.columns import ListColumn
from converter.ir.distinct_values import map_distinct
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    IntegerClass,
)
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition
from converter.projection.lowering import lose_native

_NUMBER = IntegerClass(64, signed=True)


def first_of_tid(projection: Projection) -> dict[int, int]:
    """Return the first thread of each tid in the target."""
    first: dict[int, int] = {}
    for index, thread in enumerate(projection.target.threads):
        first.setdefault(thread.tid, index)
    return first


def on_threads_by_tid(partition: Partition, projection: Projection) -> Partition:
    """Move kernel events, which name their thread by its tid alone, to the first thread with that tid."""
    partition = off_tracks(partition, projection)
    targets = projection.target.threads
    if len({thread.tid for thread in targets}) == len(targets):
        return partition
    threads = projection.threads_of(partition)
    first = first_of_tid(projection)
    moved = map_distinct(threads, lambda one: first[targets[one].tid] if one >= 0 else -1)
    projection.lose("thread-shares-tid", partition, rows=moved != threads)
    return partition.moved(thread=moved)


def off_tracks(partition: Partition, projection: Projection) -> Partition:
    """Remove kernel events from tracks; their threads stay."""
    column = partition.batch.track if partition.track is None else partition.track
    if column.strides == (0,) and (not len(column) or int(column[0]) < 0):
        return partition
    tracks = column[partition.positions] if partition.track is None else column
    projection.lose("track-dropped", partition, rows=tracks >= 0)
    return partition.moved(track=np.broadcast_to(np.int32(-1), (len(partition),)))


def drop_foreign_packets(partition: Partition, projection: Projection) -> Partition:
    """Drop records of other formats, which are not packets, and track events without their sequence's state."""
    if projection.is_own:
        numbers = partition.integers(Role.TYPE)
        assert numbers is not None
        lost = numbers == int(PacketField.TRACK_EVENT)
        if lost.any():
            projection.lose("event-without-sequence", partition, rows=lost)
            partition = partition.select(np.flatnonzero(~lost))
        return partition
    lose_native("native-dropped", partition, projection)
    return partition.select(np.zeros(0, np.intp))


def without_foreign_packets(partition: Partition, projection: Projection) -> list[Partition]:
    """Lower records that are not packets."""
    rest = drop_foreign_packets(partition, projection)
    return [rest] if len(rest) else []


# System calls


def _names_by_number(event_class: EventClass) -> bool:
    from converter.projection.domain.syscalls import name_in_class

    return (
        event_class.kind is Kind.SYSCALL_ENTRY
        and event_class.index_of(Role.SYSCALL_NUMBER) is not None
        and name_in_class(event_class.name) is None
    )


def syscalls_as_raw(partition: Partition, projection: Projection) -> Partition | None:
    """Convert events of single system calls to sys_enter or sys_exit, which the UI shows; None if that is impossible.

    It is impossible if the trace also has those events, or if the number of the call is unknown.
    """
    from converter.projection.domain.syscalls import name_in_class, syscall_names

    fields = partition.event_class.fields
    name = name_in_class(partition.event_class.name)
    if name is not None and projection.occurs(_names_by_number):
        return None
    number = partition.integers(Role.SYSCALL_NUMBER)
    if number is None:
        machine = str(projection.source.environment.get("machine", ""))
        known = next((n for n, text in syscall_names(machine).items() if text == name), None)
        if known is None:
            return None
        number = np.broadcast_to(np.int64(known), (len(partition),))
    leading: list[tuple[Field, Any]] = [
        (Field("id", _NUMBER, Role.SYSCALL_NUMBER), number.astype(np.int64))
    ]
    plain = [
        i
        for i, field in enumerate(fields)
        if field.role is Role.NONE and isinstance(field.type, IntegerClass)
    ]
    if partition.event_class.kind is Kind.SYSCALL_ENTRY:
        leading.append(
            (
                Field("args", ArrayClass(IntegerClass(64)), Role.SYSCALL_ARGUMENTS),
                _six([partition.table.column(i) for i in plain[:6]], len(partition)),
            )
        )
    else:
        returned = partition.integers(Role.RETURN)
        if returned is None:
            return None
        leading.append((Field("ret", _NUMBER, Role.RETURN), returned))
    dropped = {*plain, *(i for i, f in enumerate(fields) if f.role is Role.SYSCALL_NUMBER)}
    dropped |= {i for i, field in enumerate(fields) if field.role is Role.RETURN}
    kept = [i for i in range(len(fields)) if i not in dropped]
    entry = partition.event_class.kind is Kind.SYSCALL_ENTRY
    event_class = EventClass(
        partition.event_class.kind,
        "sys_enter" if entry else "sys_exit",
        "raw_syscalls",
        (*(field for field, _ in leading), *(fields[i] for i in kept)),
    )
    columns = [column for _, column in leading] + [partition.table.lazy(i) for i in kept]
    return partition.rewritten(event_class, columns)


def _six(columns: list[Any], count: int) -> ListColumn:
    """Return the six arguments of each call as in raw_syscalls; those that a call does not have are zero."""
    values = np.zeros((count, 6), np.uint64)
    for i, column in enumerate(columns):
        values[:, i] = column.astype(np.int64).view(np.uint64)
    return ListColumn(np.arange(count + 1, dtype=np.int64) * 6, values.reshape(-1))
