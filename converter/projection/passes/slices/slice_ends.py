"""Ends of slices under the names of those that they end.

An end closes the innermost slice, in the order of time that viewers bring events to. One that has another name, as when
a function returns that was never seen to be called again (longjmp), closes nothing in viewers that look for its name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, string_ids
from converter.ir.distinct_values import values_of
from converter.ir.events import Batch, Table
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up, values_by_class
from converter.projection.losses import LossReport
from converter.projection.passes.slices.open_slices import OpenSlices
from converter.projection.passes.slices.slice_columns import (
    STEPS,
    steps_of,
    text_index,
    texts_of,
)

_NAMES: Final = (Role.NAME, Role.CATEGORY)


def under_their_names(trace: Trace, report: LossReport, *, by_name: bool, in_turn: bool) -> Trace:
    """The trace with ends without a name where that is not the name of the slice that they end.

    That is one of the name, or else the innermost; where ends are `by_name` it is one of the name or of none, and an
    end may find no slice; where they come `in_turn` it is the innermost in any case.
    """
    result = dataclasses.replace(trace)
    result.make_batches = _Ends(trace, report, by_name=by_name, in_turn=in_turn).batches
    return result


class _Ends:
    def __init__(self, source: Trace, report: LossReport, *, by_name: bool, in_turn: bool) -> None:
        self._source = source
        self._report = report
        self._by_name = by_name
        self._in_turn = in_turn

    def batches(self) -> Iterator[Batch]:
        slices = OpenSlices()
        for batch in self._source.batches():
            steps = steps_of(self._source, batch)
            if not steps.any():
                yield batch
                continue
            order = batch.time_order
            if not self._has_names_of_ends(batch):
                self._close_innermost(batch, slices, steps, order)
                yield batch
                continue
            step = looked_up(steps, batch.class_id)
            names = self._texts(batch, Role.NAME)
            categories = self._texts(batch, Role.CATEGORY) if self._by_name else None
            thread, track = batch.thread, batch.track
            if order is not None:
                step, thread, track, names = (
                    column[order] for column in (step, thread, track, names)
                )
                categories = None if categories is None else categories[order]
            foreign = slices.match(
                step, thread, track, names, self._by_name, self._in_turn, categories
            )
            if order is not None:
                foreign = order[foreign]
            yield self._without_names(batch, foreign) if len(foreign) else batch

    def _has_names_of_ends(self, batch: Batch) -> bool:
        classes = self._source.event_classes
        return any(
            len(table)
            and classes[number].kind is Kind.SLICE_END
            and text_index(classes[number], Role.NAME) is not None
            for number, table in batch.tables.items()
        )

    def _close_innermost(
        self,
        batch: Batch,
        slices: OpenSlices,
        steps: NDArray[np.int32],
        order: NDArray[np.intp] | None,
    ) -> None:
        """Go on with a batch whose ends have no names: only those of slices that stay open matter."""
        opened = slices.close_innermost(steps, batch.class_id, batch.thread, batch.track, order)
        if len(opened):
            begins = np.full(len(opened), STEPS[Kind.SLICE_BEGIN], np.int32)
            slices.match(
                begins,
                batch.thread[opened],
                batch.track[opened],
                self._texts(batch, Role.NAME, opened),
                self._by_name,
                self._in_turn,
                self._texts(batch, Role.CATEGORY, opened) if self._by_name else None,
            )

    def _texts(
        self, batch: Batch, role: Role, places: NDArray[np.intp] | slice = slice(None)
    ) -> NDArray[np.int32]:
        """Return a text of each event at `places`, such as its name: ids of strings, 0 where it has none."""
        texts = texts_of(self._source, batch, role)
        return values_by_class(batch.class_id[places], batch.row[places], texts)

    def _without_names(self, batch: Batch, places: NDArray[np.intp]) -> Batch:
        """The batch with the ends at `places` without name and category."""
        code = "slice-end-name-other" if self._in_turn else "slice-end-name-unmatched"
        if self._by_name:
            # No viewer shows them.
            code = "slice-end-name-of-unnamed"
        self._report.add_at(code, self._source, batch, places)
        tables = dict(batch.tables)
        for number in values_of(batch.class_id[places]).tolist():
            rows = batch.row[places[batch.class_id[places] == number]]
            fields = self._source.event_classes[number].fields
            table = batch.tables[number]
            columns: list[Column] = [table.column(i) for i in range(table.width)]
            for index, field in enumerate(fields):
                if field.role in _NAMES and isinstance(field.type, StringClass):
                    ids = string_ids(columns[index], self._source.strings).copy()
                    ids[rows] = 0
                    columns[index] = ids
            tables[number] = Table(len(table), columns)
        return batch.with_tables(tables)
