"""Counts of lost events, for formats whose records have no word for "nobody knows how many"."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from converter.ir.events import Field
from converter.ir.kinds import Role
from converter.projection.capabilities import Adapter, Projection
from converter.projection.losses import LossKind
from converter.projection.pieces import Piece

_UNKNOWN: Final = "unknown numbers of lost events as 1"


def counted(field: Field, least: int, most: int) -> Adapter:
    """An adapter of DISCARDED that gives counts from `least` to `most`.

    What is not known, or less, becomes 1, in `field` where a class has no count; what is more than `most` becomes that.
    """

    def adapt(piece: Piece, projection: Projection) -> Piece:
        event_class = piece.event_class
        columns = piece.lazy_columns()
        index = event_class.index_of(Role.COUNT)
        if index is None:
            projection.lose(LossKind.CHANGED, _UNKNOWN, piece, len(piece))
            fields = (field, *event_class.fields)
            ones = np.ones(len(piece), np.int64)
            return piece.rewritten(replace(event_class, fields=fields), [ones, *columns])
        counts = piece.integers(Role.COUNT)
        if counts is None:
            return piece
        unknown, many = counts < least, counts > most
        for what, rows in ((_UNKNOWN, unknown), (f"numbers of lost events to {most:,}", many)):
            count = int(np.count_nonzero(rows))
            if count:
                projection.lose(LossKind.CHANGED, what, piece, count)
        if unknown.any() or many.any():
            one = counts.dtype.type(1)
            # `most` fits wherever something is above it.
            highest = counts.dtype.type(most) if many.any() else one
            columns[index] = np.where(unknown, one, np.where(many, highest, counts))
            return piece.rewritten(event_class, columns)
        return piece

    return adapt
