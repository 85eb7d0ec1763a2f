"""Lowering: what becomes of a kind that a format does not have.

A rule rewrites the class and reuses the columns. It returns pieces of simpler kinds, which may be lowered in turn, or
None where nothing simpler is left: the events are dropped, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from converter.ir.kinds import Kind
from converter.projection.atrace import lower_mark
from converter.projection.capabilities import Lowering, Projection
from converter.projection.instants import lower_to_instant
from converter.projection.linux_timeline import LINUX_LOWERINGS, superseded
from converter.projection.pieces import Piece

#: The rule for each kind; others become instants.
LOWERINGS: Mapping[Kind, Lowering] = {**LINUX_LOWERINGS, Kind.MARK: lower_mark}


def lowering_for(piece: Piece, projection: Projection) -> Lowering | None:
    """The rule that a piece of the source needs though the format has its kind, or None."""
    return lower_to_instant if superseded(piece, projection) else None
