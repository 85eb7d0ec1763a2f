"""Converts samples of other formats to PerfSamples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto import mapping
from converter.ir.columns import ListColumn, sizes_of
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import ArrayClass, IntegerClass
from converter.ir.kinds import Role
from converter.ir.tables import ComputedColumn
from converter.projection.capabilities import Projection
from converter.projection.domain.call_stacks import frames_of
from converter.projection.engine.partitions import Partition
from converter.projection.loss_codes.entry import LossClass
from converter.projection.timeline_fields import CALLSTACK, CPU_MODE

#: The address of the instruction at which a sample was taken, as perf records it.
_ADDRESS: Final = "ip"
#: Numbers of `CPU_MODE`.
_KERNEL, _USER = 1, 2


def as_perf_samples(partition: Partition, projection: Projection) -> Partition:
    """Convert call stacks to Perfetto's; samples on no thread are shown on the idle thread.

    Fields that no PerfSample has, such as addresses and registers, are missing; viewers of profiles do not show them.
    """
    if not projection.is_own and not projection.is_on_threads(partition):
        missing = projection.threads_of(partition) < 0
        if missing.any():
            projection.lose("sample-without-thread", partition, rows=missing)
    if projection.source.format == "perf":
        _count_as_recorded(partition, projection)
    return _with_frames(_without_others(partition, projection), projection)


def _count_as_recorded(partition: Partition, projection: Projection) -> None:
    """Count samples of perf.data whose frames Perfetto's importer of it changes: with callers, or in the kernel."""
    fields, frames = partition.event_class.fields, partition.event_class.index_of(Role.FRAMES)
    assert frames is not None
    stacks = partition.table.column(frames)
    assert isinstance(stacks, ListColumn)
    changes = sizes_of(stacks) > 1
    address = next((index for index, field in enumerate(fields) if field.name == _ADDRESS), None)
    if address is not None:
        changes |= _mode_of(None, partition.table.column(address)) == _KERNEL
    if changes.any():
        projection.lose("frames-as-recorded", partition, rows=changes)


def _without_others(partition: Partition, projection: Projection) -> Partition:
    fields = partition.event_class.fields
    kept = [index for index, field in enumerate(fields) if _is_kept(field)]
    if len(kept) == len(fields):
        return partition
    for index, field in enumerate(fields):
        if index not in kept:
            projection.lose(
                "field-dropped", partition, field=field.name, loss_class=LossClass.DETAIL
            )
    columns = partition.lazy_columns()
    fewer = partition.derive(
        ("sample fields",),
        lambda: replace(partition.event_class, fields=tuple(fields[index] for index in kept)),
    )
    kept_alone = partition.rewritten(fewer, [columns[index] for index in kept])
    address = next((index for index, field in enumerate(fields) if field.name == _ADDRESS), None)
    if CPU_MODE in fields or address is None or not isinstance(fields[address].type, IntegerClass):
        return kept_alone
    mode = ComputedColumn(_mode_of, (partition.table.lazy(address),), partition)
    return kept_alone.with_argument(CPU_MODE, mode)


def _mode_of(_: object, addresses: Any) -> NDArray[np.int32]:
    """Return the mode of a CPU at addresses: those of 64-bit kernels have the highest bit."""
    in_kernel = np.asarray(addresses).astype(np.uint64) >> np.uint64(63) != 0
    return np.where(in_kernel, _KERNEL, _USER).astype(np.int32)


def _is_kept(field: Field) -> bool:
    return field.role in (Role.FRAMES, Role.VALUE) or field in (CPU_MODE, mapping.UNWIND_ERROR)


def _with_frames(partition: Partition, projection: Projection) -> Partition:
    """Convert addresses or names of functions to frames as in Perfetto."""
    index = partition.event_class.index_of(Role.FRAMES)
    assert index is not None
    field = partition.event_class.fields[index]
    if field.type == CALLSTACK.type:
        return partition
    projection.lose("field-type", partition, field=field.name)
    whole = replace(field, type=CALLSTACK.type)

    def new_class() -> EventClass:
        fields = list(partition.event_class.fields)
        fields[index] = whole
        return replace(partition.event_class, fields=tuple(fields))

    columns: list[Any] = partition.lazy_columns()
    assert isinstance(field.type, ArrayClass)
    element = field.type.element
    columns[index] = lambda: frames_of(partition.table.column(index), element, projection.source)
    return partition.rewritten(partition.derive(("frames",), new_class), columns)
