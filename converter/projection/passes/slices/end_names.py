"""Names the ends of slices after their begins, for formats some of whose viewers pair them by name.

An end without a name closes the innermost slice of its thread. That is determined on the events as the format holds
them, on the threads that they have there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, constant_column, string_ids
from converter.ir.events import Batch, Table
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.losses import LossReport
from converter.projection.passes.slices.open_slices import NamedEnds

_Texts = NDArray[np.int32]


class EndNames:
    """Names the ends in the batches of a projected trace, which must be passed in order."""

    def __init__(self, target: Trace, report: LossReport) -> None:
        self._target = target
        self._report = report
        self.restart()

    def restart(self) -> None:
        """Start over with the first batch."""
        self._named = NamedEnds()

    def named(self, batch: Batch) -> Batch:
        """Return the batch with a name for each end that has none and closes a slice with one."""
        begins = self._texts(batch, Kind.SLICE_BEGIN)
        ends = self._texts(batch, Kind.SLICE_END)
        if not begins and not ends:
            return batch
        names = {number: columns[0].copy() for number, columns in ends.items()}
        count, first = self._named.name(
            batch.class_id,
            batch.row,
            batch.thread,
            batch.time_order if ends else None,
            begins,
            {number: (names[number], columns[1]) for number, columns in ends.items()},
        )
        if not count:
            return batch
        self._report.add("slice-end-named", count, int(batch.ts[first]))
        tables = dict(batch.tables)
        for number, ids in names.items():
            table = tables[number]
            index = self._target.event_classes[number].index_of(Role.NAME)
            columns: list[Column | Callable[[], Column]] = [
                ids if i == index else table.lazy(i) for i in range(table.width)
            ]
            tables[number] = Table(len(table), columns)
        return batch.with_tables(tables)

    def _texts(self, batch: Batch, kind: Kind) -> dict[int, tuple[_Texts, _Texts]]:
        """Return the ids of names and categories of the events of a kind, by class."""
        return {
            number: (
                self._column(table, number, Role.NAME),
                self._column(table, number, Role.CATEGORY),
            )
            for number, table in batch.tables.items()
            if len(table) and self._target.event_classes[number].kind is kind
        }

    def _column(self, table: Table, number: int, role: Role) -> _Texts:
        event_class = self._target.event_classes[number]
        index = event_class.index_of(role)
        if index is None or not isinstance(event_class.fields[index].type, StringClass):
            return constant_column(np.int32(0), len(table))
        return string_ids(table.column(index), self._target.strings)
