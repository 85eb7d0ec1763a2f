"""Plans of classes: how to project events whose values are not read while they are projected.

The class alone decides how most events are lowered, placed and fitted. The first events of such a class are projected
by the rules, in a tracing run. Its result is kept: columns that are columns of the source's, constants, or computed
from these. From then on the columns are made from each batch's table in the same way, without running a rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from converter.ir.events import Table
from converter.ir.tables import Computation, ComputedColumn, Constant, LazyColumn
from converter.projection.engine.partitions import Partition
from converter.projection.engine.planned import ClassPlan, PlannedPart
from converter.projection.engine.rows import Places
from converter.projection.loss_codes.names import event_name
from converter.projection.losses import LossReport, PlannedLosses

if TYPE_CHECKING:
    from converter.ir.tables import RecipePart

#: The number of rows that a tracing run needs: with a single row, every column looks constant.
FEWEST_ROWS: Final = 2

#: The result for a class: the number of the class in the target, and the partition.
Numbered = tuple[int, Partition]


class TracingRun:
    """The rows of a class during a tracing run, without a plan: records what is lost, and what is read."""

    def __init__(self, partition: Partition, places: Places) -> None:
        self._original = partition
        # A table and placement of its own, which only the rules read.
        self.table = Table(len(partition), partition.lazy_columns())
        self._places = places
        #: The rows, as they are to be projected.
        self.partition = Partition(
            partition.batch, partition.event_class, self.table, places, derived=partition.derived
        )
        #: True if there is a row that the plan would not handle.
        self.guard_failed = False
        self._guards: tuple[RecipePart, ...] = ()
        self._losses: PlannedLosses = ()
        self._in_all_rows = True

    def lose(self, losses: PlannedLosses, count: int) -> None:
        """Record losses at `count` rows."""
        self._in_all_rows &= count in (0, len(self.table))
        if count:
            self._losses += losses

    def is_nowhere(self, condition: ComputedColumn) -> bool:
        """Record a guard, a condition that must hold for no row; return True if that is so here."""
        part = self._recipe(condition)
        if part is None:
            return not _is_true_anywhere(condition)
        holds = _is_true_anywhere(self._original.table.made(part, self._original))
        self.guard_failed |= holds
        self._guards += (part,)
        return not holds

    def plan(self, parts: Sequence[Numbered], report: LossReport) -> ClassPlan | None:
        """Return the plan that reproduces these partitions, or None if they depend on the contents of events."""
        looked = self._places.asked or not self.table.is_undecoded
        if looked or not self._in_all_rows:
            return None
        planned = [self._part(number, partition) for number, partition in parts]
        known = tuple(part for part in planned if part is not None)
        if len(known) < len(parts):
            return None
        event = event_name(self._original.event_class)
        tally = report.tally(self._losses, event) if self._losses else None
        return ClassPlan(known, tally, self._guards, Partition)

    def _part(self, number: int, partition: Partition) -> PlannedPart | None:
        if not partition.whole or partition.places is not self._places:
            return None
        given = (partition.on_thread, partition.on_cpu, partition.on_track)
        places = tuple(self._recipe(one) for one in given)
        if any((one is None) != (part is None) for one, part in zip(given, places, strict=True)):
            return None
        recipe = []
        for index in range(partition.table.width):
            part = self._column_recipe(partition.table, index)
            if part is None:
                return None
            recipe.append(part)
        is_elsewhere = any(one is not None for one in given)
        on = places if is_elsewhere else None
        return PlannedPart(number, partition.event_class, tuple(recipe), on, partition.after)

    def _column_recipe(self, table: Table, index: int) -> RecipePart | None:
        """Return how a column is computed from those of the traced table, or None if that is not known."""
        if table is self.table:
            return index
        stored = table.stored(index)
        recipe = self._recipe(stored)
        if isinstance(stored, ComputedColumn) and _is_computed_from_constant(recipe):
            (source,) = stored.columns
            given = _evaluated(source)
            # A column that is passed through unchanged will be so every time.
            return _constant(given) if table.column(index) is given else recipe
        return recipe

    def _recipe(self, stored: Any) -> RecipePart | None:
        part: RecipePart | None = _constant(stored)
        if isinstance(stored, LazyColumn):
            return self._column_recipe(stored.table, stored.index)
        if isinstance(stored, ComputedColumn):
            parts = [self._recipe(column) for column in stored.columns]
            known = tuple(part for part in parts if part is not None)
            return Computation(stored.function, known) if len(known) == len(parts) else None
        return part


def _is_computed_from_constant(part: RecipePart | None) -> bool:
    if not isinstance(part, Computation) or len(part.columns) != 1:
        return False
    return isinstance(part.columns[0], Constant)


def _evaluated(column: Any) -> Any:
    return column() if callable(column) else column


def _is_true_anywhere(condition: Any) -> bool:
    """Return True if a condition holds for any row."""
    return bool(np.any(_evaluated(condition)))


def _constant(column: Any) -> Constant | None:
    """Return the constant that a column is if its strides show that all rows are equal, else None."""
    is_constant = isinstance(column, np.ndarray) and column.strides == (0,)
    return Constant(column[0]) if is_constant else None
