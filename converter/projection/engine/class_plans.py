"""Plans of classes: what becomes of events whose values nobody looks at while they are projected.

How most classes are lowered, placed and fitted follows from what they are. Such a class is projected as any other when
it first comes. What came of it is kept, as columns that are columns of the source's, constants, or computed of these;
they are made so of each batch's table from then on, and no rule is asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from converter.ir.events import Table
from converter.ir.tables import Computation, ComputedColumn, Constant, LazyColumn
from converter.projection.engine.pieces import Piece
from converter.projection.engine.planned import ClassPlan, PlannedPart
from converter.projection.engine.rows import Places
from converter.projection.losses import LossReport, PlannedLosses

if TYPE_CHECKING:
    from converter.ir.tables import RecipePart

#: A rehearsal takes so many: one row does not tell a constant from a column.
FEWEST_ROWS: Final = 2

#: What a class became: the number of the class in the target, and the piece.
Numbered = tuple[int, Piece]


class Rehearsal:
    """The rows of a class while they are projected without a plan: notes what is lost, and what is looked at."""

    def __init__(self, piece: Piece, places: Places) -> None:
        self._original = piece
        # A table and places of its own, which only who projects it asks for anything.
        self.table = Table(len(piece), piece.lazy_columns())
        self._places = places
        #: The rows, as they are to be projected.
        self.piece = Piece(
            piece.batch, piece.event_class, self.table, places, derived=piece.derived
        )
        #: Whether there is a row that the plan would not know of.
        self.is_exception = False
        self._exceptions: tuple[RecipePart, ...] = ()
        self._losses: PlannedLosses = ()
        self._of_all = True

    def lose(self, losses: PlannedLosses, count: int) -> None:
        """Note losses at so many of the rows."""
        self._of_all &= count in (0, len(self.table))
        if count:
            self._losses += losses

    def is_nowhere(self, condition: ComputedColumn) -> bool:
        """Note a condition that must hold for no row, and say whether it is so here."""
        part = self._of(condition)
        if part is None:
            return not _holds(condition)
        holds = _holds(self._original.table.made(part, self._original))
        self.is_exception |= holds
        self._exceptions += (part,)
        return not holds

    def plan(self, parts: Sequence[Numbered], report: LossReport) -> ClassPlan | None:
        """The plan by which the class became these; None where that depended on what its events hold."""
        looked = self._places.asked or not self.table.is_undecoded
        if looked or not self._of_all:
            return None
        planned = [self._part(number, piece) for number, piece in parts]
        known = tuple(part for part in planned if part is not None)
        if len(known) < len(parts):
            return None
        tally = report.tally(self._losses) if self._losses else None
        return ClassPlan(known, tally, self._exceptions, Piece)

    def _part(self, number: int, piece: Piece) -> PlannedPart | None:
        if not piece.whole or piece.places is not self._places:
            return None
        given = (piece.on_thread, piece.on_cpu, piece.on_track)
        places = tuple(self._of(one) for one in given)
        if any((one is None) != (part is None) for one, part in zip(given, places, strict=True)):
            return None
        recipe = []
        for index in range(piece.table.width):
            part = self._of_column(piece.table, index)
            if part is None:
                return None
            recipe.append(part)
        is_elsewhere = any(one is not None for one in given)
        on = places if is_elsewhere else None
        return PlannedPart(number, piece.event_class, tuple(recipe), on, piece.after)

    def _of_column(self, table: Table, index: int) -> RecipePart | None:
        """How a column is made of those of the rehearsed table, None where that is not known."""
        if table is self.table:
            return index
        stored = table.stored(index)
        made = self._of(stored)
        if isinstance(stored, ComputedColumn) and _is_of_constant(made):
            (of,) = stored.columns
            given = _settled(of)
            # What comes back as it is does so whenever it is asked for.
            return _constant(given) if table.column(index) is given else made
        return made

    def _of(self, stored: Any) -> RecipePart | None:
        part: RecipePart | None = _constant(stored)
        if isinstance(stored, LazyColumn):
            return self._of_column(stored.table, stored.index)
        if isinstance(stored, ComputedColumn):
            parts = [self._of(column) for column in stored.columns]
            known = tuple(part for part in parts if part is not None)
            return Computation(stored.function, known) if len(known) == len(parts) else None
        return part


def _is_of_constant(part: RecipePart | None) -> bool:
    if not isinstance(part, Computation) or len(part.columns) != 1:
        return False
    return isinstance(part.columns[0], Constant)


def _settled(place: Any) -> Any:
    return place() if callable(place) else place


def _holds(condition: Any) -> bool:
    """Whether a condition holds for any row."""
    return bool(np.any(_settled(condition)))


def _constant(column: Any) -> Constant | None:
    """What a column is that is the same in all rows by its looks, else None."""
    is_constant = isinstance(column, np.ndarray) and column.strides == (0,)
    return Constant(column[0]) if is_constant else None
