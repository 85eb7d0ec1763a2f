"""Losses of arguments that a target's viewers do not show, unless those of the source do not show them either."""

from __future__ import annotations

from typing import Final

from converter.ir.field_classes import BytesClass, NullClass
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import Unseen
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition
from converter.projection.timeline_fields import JSON_TEXT

#: Events whose arguments viewers show.
_SHOWN: Final = frozenset(
    {
        *(Kind.INSTANT, Kind.SLICE_BEGIN, Kind.SLICE_END, Kind.SLICE_COMPLETE),
        *(Kind.ASYNC_BEGIN, Kind.ASYNC_INSTANT, Kind.ASYNC_END),
    }
)


def lose_empty(partition: Partition, projection: Projection) -> None:
    """Count arguments without a value."""
    if (
        Unseen.EMPTY_ARGUMENTS in projection.source.semantics.unseen
        or partition.event_class.kind not in _SHOWN
    ):
        return
    for field in partition.event_class.fields:
        if isinstance(field.type, NullClass):
            projection.lose("empty-field-unshown", partition, field=field.name)


def lose_bytes(partition: Partition, projection: Projection) -> None:
    """Count binary arguments."""
    if projection.is_own:
        return
    unseen = Unseen.BYTES in projection.source.semantics.unseen
    for field in partition.event_class.fields:
        if (
            field.role is Role.NONE
            and isinstance(field.type, BytesClass)
            and not field.type.is_native
            and (not unseen or field.type == JSON_TEXT)
        ):
            projection.lose("bytes-unshown", partition, field=field.name)
