"""The parts of samples that formats of profiles hold: their call stack and their weight.

Samples of any source become samples with these two fields: addresses and names of functions become frames, and one
without a weight counts as one. A format whose frames are less than `timeline_fields.FRAME` has `with_shown_frames` as
its adapter in place of `with_whole_frames`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.samples import unit_of, weight_index
from converter.ir.columns import Column, ListColumn, StructColumn, constant_column
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Role
from converter.projection.capabilities import KindSupport, Projection
from converter.projection.domain.call_stacks import frame_names, members_of
from converter.projection.domain.lowered_samples import with_frames
from converter.projection.engine.partitions import Partition
from converter.projection.losses import LossClass
from converter.projection.timeline_fields import FRAMES, FUNCTIONS, UNSHOWN_OF_SAMPLES, weight


def sample_support(
    frames: Field = FRAMES, *, unit: str | None = None, **others: Any
) -> KindSupport:
    """Return how a format holds samples: with a call stack and a weight, and without arguments.

    Args:
        frames: the field of the call stack: `FRAMES` or `FUNCTIONS`.
        unit: of all weights; None where the format says it.
        others: fields of `KindSupport`.

    """
    support = KindSupport(
        fields=(frames, weight(unit or "")),
        required=frozenset({Role.FRAMES}),
        arguments=False,
        **others,
    )
    if unit is not None:
        return support
    return replace(
        support,
        of_class=lambda one: replace(support, fields=(frames, weight(unit_of(one)))),
    )


def with_whole_frames(partition: Partition, projection: Projection) -> Partition:
    """Return samples with frames and a weight, and without perf's numbers, which no viewer of profiles shows."""
    fields = partition.event_class.fields
    for number in reversed(range(len(fields))):
        name = fields[number].name
        if name in UNSHOWN_OF_SAMPLES and isinstance(fields[number].type, IntegerClass):
            projection.lose("field-dropped", partition, loss_class=LossClass.DETAIL, field=name)
            partition = partition.without_field(number)
    index = partition.event_class.index_of(Role.FRAMES)
    assert index is not None
    return _with_weights(with_frames(partition, projection, index), projection)


def with_shown_frames(partition: Partition, projection: Projection) -> Partition:
    """Return samples with a weight, and frames that are a name, a file and a line.

    The file is the source file, or the binary where that is unknown. A frame without a name is called as its binary or
    its address.
    """
    partition = with_whole_frames(partition, projection)
    index = partition.event_class.index_of(Role.FRAMES)
    assert index is not None

    def shown() -> Column:
        column = partition.table.column(index)
        assert isinstance(column, ListColumn)
        assert isinstance(column.values, StructColumn)
        function, mapping, rel_pc, source, line = members_of(
            column.values, projection.source.strings
        )
        if not mapping.any() and not rel_pc.any() and function.all():
            return column
        binary = (source == 0) & (mapping != 0)
        projection.lose("frame-binary-as-source", partition, rows=lists_with(column, binary))
        lost = (rel_pc != 0) | ((mapping != 0) & ~binary)
        projection.lose("frame-address-dropped", partition, rows=lists_with(column, lost))
        members: tuple[Column, ...] = (
            frame_names(column.values, projection.source.strings),
            constant_column(np.int32(0), len(function)),
            constant_column(np.uint64(0), len(function)),
            np.where(binary, mapping, source),
            line,
        )
        return ListColumn(column.offsets, StructColumn(len(function), members))

    columns = partition.lazy_columns()
    columns[index] = shown
    return partition.rewritten(partition.event_class, columns)


def with_function_names(partition: Partition, projection: Projection) -> Partition:
    """Return samples with a weight and the names of functions alone (`FUNCTIONS`)."""
    partition = with_whole_frames(partition, projection)
    index = partition.event_class.index_of(Role.FRAMES)
    assert index is not None

    def named() -> Column:
        column = partition.table.column(index)
        assert isinstance(column, ListColumn)
        assert isinstance(column.values, StructColumn)
        _, mapping, rel_pc, source, line = members_of(column.values, projection.source.strings)
        more = (mapping != 0) | (rel_pc != 0) | (source != 0) | (line != 0)
        projection.lose("frame-place-dropped", partition, rows=lists_with(column, more))
        return ListColumn(column.offsets, frame_names(column.values, projection.source.strings))

    columns = partition.lazy_columns()
    columns[index] = named
    names = partition.derive(
        ("names of functions",), lambda: _with_field(partition.event_class, index, FUNCTIONS)
    )
    return partition.rewritten(names, columns)


def with_limited_weights(
    partition: Partition, projection: Projection, most: int | None = None
) -> Partition:
    """Return samples whose weights, if they have any, are at least 0 and at most `most`."""
    index = partition.event_class.index_of(Role.COUNT)
    if index is None or not isinstance(partition.event_class.fields[index].type, IntegerClass):
        return partition

    def limited() -> Column:
        column = np.asarray(partition.table.column(index))
        beyond = column < 0 if most is None else (column < 0) | (column > most)
        if not beyond.any():
            return column
        projection.lose("sample-weight-limited", partition, rows=beyond)
        held: Column = np.clip(column, 0, most)
        return held

    columns = partition.lazy_columns()
    columns[index] = limited
    return partition.rewritten(partition.event_class, columns)


def lists_with(column: ListColumn, frames: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return True for lists with a frame of which something is true."""
    counts = np.concatenate([np.zeros(1, np.int64), np.cumsum(frames)])
    found: NDArray[np.bool_] = counts[column.offsets[1:]] > counts[column.offsets[:-1]]
    return found


def _with_weights(partition: Partition, projection: Projection) -> Partition:
    """Return samples of which nothing but their weight counts as one."""
    event_class = partition.event_class
    index = weight_index(event_class)
    for number, field in enumerate(event_class.fields):
        if field.role is Role.COUNT and number != index:
            projection.lose("field-dropped", partition, field=field.name)
            # The fields after it have other numbers then.
            return _with_weights(partition.without_field(number), projection)
    if index is not None:
        return partition
    projection.lose("sample-weight-added", partition)
    return partition.with_argument(weight("count"), constant_column(np.int64(1), len(partition)))


def _with_field(event_class: EventClass, index: int, field: Field) -> EventClass:
    fields = list(event_class.fields)
    fields[index] = field
    return replace(event_class, fields=tuple(fields))
