"""Counts of lost events: normalizes known and unknown counts, and replaces those that a format cannot express.

A count is unknown if a class has no field for it, or if it is negative. A record of zero lost events carries no
information, and would be wrong in formats whose records always mean lost events.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import constant_column
from converter.ir.events import Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Role
from converter.projection.capabilities import Adapter, Projection
from converter.projection.engine.partitions import Partition

#: The field with the number of lost events, for all formats that can leave it open.
COUNT: Final = Field("count", IntegerClass(64, signed=True), Role.COUNT)
#: Its value if the number is unknown.
UNKNOWN: Final = -1
#: The largest number that it holds.
MOST: Final = (1 << 63) - 1


def counted(most: int = MOST, *, unknown: int = UNKNOWN, zeros: bool = False) -> Adapter:
    """Return an adapter of DISCARDED that gives each row a count, in the field `COUNT` if a class has none.

    Args:
        most: the largest number that the format can hold; others are cut to it, which is counted as a loss.
        unknown: the value for an unknown number; anything but `UNKNOWN` is a guess, and counted as a loss.
        zeros: True if the format can say that no events were lost; otherwise such records are dropped and counted.
    """

    def adapt(partition: Partition, projection: Projection) -> Partition:
        counts = partition.integers(Role.COUNT)
        if counts is None:
            if unknown != UNKNOWN:
                projection.lose("gap-size-guessed", partition)
            column = constant_column(np.int64(unknown), len(partition))
            return partition.with_argument(COUNT, column, first=True)
        empty = counts == 0
        if not zeros and empty.any():
            projection.lose("gap-empty", partition, rows=empty)
            partition = partition.select(np.flatnonzero(counts))
            counts = counts[counts != 0]
        held = _clamped(counts, partition, projection, most, unknown)
        if held is counts:
            return partition
        columns = partition.lazy_columns()
        index = partition.event_class.index_of(Role.COUNT)
        assert index is not None, "it has counts"
        columns[index] = held
        return partition.rewritten(partition.event_class, columns)

    return adapt


def _clamped(
    counts: NDArray[Any], partition: Partition, projection: Projection, most: int, unknown: int
) -> NDArray[Any]:
    """Return counts as a format holds them, in their own type; the same array if it holds all."""
    open_ones, many = counts < 0, counts > most
    if many.any():
        projection.lose("gap-size-capped", partition, rows=many, limit=most)
        # The type can represent `most` if some value is above it.
        counts = np.where(many, counts.dtype.type(most), counts)
    if open_ones.any():
        projection.lose("gap-size-negative", partition, rows=counts < UNKNOWN)
        if unknown != UNKNOWN:
            projection.lose("gap-size-guessed", partition, rows=open_ones)
        counts = np.where(open_ones, counts.dtype.type(unknown), counts)
    return counts
