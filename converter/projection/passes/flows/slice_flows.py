"""Turns flow ids of slices and instants into events: what has the same id is connected, one to the next.

A flow's event comes right after its slice, which is what importers bind it to.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, ListColumn
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.instants import CATEGORY, NAME
from converter.projection.losses import LossReport
from converter.projection.passes.flows.slice_arrows import SliceArrows
from converter.projection.passes.renumbering import in_classes, with_events_behind
from converter.projection.timeline_fields import (
    BINDS,
    FLOW_IDS,
    TERMINATING_FLOW_IDS,
    number_id,
)

#: Kinds that are slices on a row of their thread, where flows find them; asynchronous ones are not.
KINDS: Final = frozenset({Kind.SLICE_BEGIN, Kind.SLICE_COMPLETE, Kind.INSTANT})
_IDS: Final = (FLOW_IDS, TERMINATING_FLOW_IDS)
_FIELDS: Final = (NAME, CATEGORY, number_id("id"))
#: The name by which importers distinguish flows of the same id.
_TEXT: Final = b"flow"


def with_events(trace: Trace, report: LossReport) -> Trace:
    """Return the trace with a flow event after slices for each id that they have, in place of the ids.

    Ends say that they bind to the slice around them.
    """
    result = dataclasses.replace(trace, event_classes=[])
    result.make_batches = _Flows(trace, result, report).batches
    return result


class _Flows:
    def __init__(self, source: Trace, result: Trace, report: LossReport) -> None:
        self._source = source
        self._result = result
        self._report = report
        #: The flow events, by the constants of `SliceArrows`, and their class numbers in the result.
        self._classes = {
            1: EventClass(Kind.FLOW_BEGIN, fields=_FIELDS),
            2: EventClass(Kind.FLOW_STEP, fields=_FIELDS),
            3: EventClass(Kind.FLOW_END, fields=(*_FIELDS, BINDS)),
        }
        self._of_steps: dict[int, int] = {}
        #: By the number of a class in the source: its number in the result, and its fields with ids.
        self._numbers: list[int] = []
        self._fields: list[tuple[int, ...]] = []

    def batches(self) -> Iterator[Batch]:
        arrows = SliceArrows()
        for batch in self._source.batches():
            for event_class in self._source.event_classes[len(self._numbers) :]:
                self._follow(event_class)
            if not any(self._fields):
                yield in_classes(batch, self._numbers)
                continue
            at, id, terminates = self._flow_points(batch)
            renumbered = self._renumbered(batch)
            if len(at):
                order = np.lexsort((terminates, at, batch.ts[at]))
                step, earlier = arrows.steps(id, terminates.astype(np.uint8), order)
                renumbered = self._with_events(renumbered, at, id, step, earlier)
            yield renumbered

    def _follow(self, event_class: EventClass) -> None:
        fields: tuple[int, ...] = ()
        if event_class.kind in KINDS:
            fields = tuple(i for i, one in enumerate(event_class.fields) if one in _IDS)
        self._fields.append(fields)
        if fields:
            left = tuple(one for i, one in enumerate(event_class.fields) if i not in fields)
            event_class = replace(event_class, fields=left, native=b"")
        self._numbers.append(self._result.add_class(event_class))

    def _flow_points(
        self, batch: Batch
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.bool_]]:
        """Return, in position order, the positions of flow ids in a batch, the ids, and whether the flows end there."""
        positions, ids, ends = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)], []
        for number, table in batch.tables.items():
            for index in self._fields[number] if len(table) else ():
                column = table.column(index)
                assert isinstance(column, ListColumn)
                offsets = np.asarray(column.offsets, np.int64)
                values = np.asarray(column.values)[offsets[0] : offsets[-1]]
                positions.append(
                    np.repeat(batch.positions(number), np.diff(offsets)).astype(np.int64)
                )
                ids.append(values.astype(np.uint64))
                is_end = self._source.event_classes[number].fields[index] == TERMINATING_FLOW_IDS
                ends.append(np.full(len(values), is_end))
        at = np.concatenate(positions)
        terminates = np.concatenate([np.zeros(0, np.bool_), *ends])
        order = np.lexsort((terminates, at))
        return at[order], np.concatenate(ids)[order], terminates[order]

    def _renumbered(self, batch: Batch) -> Batch:
        """Return the batch without flow ids, with its classes in the numbers of the result."""
        if not any(self._fields[number] for number in batch.tables):
            return in_classes(batch, self._numbers)
        tables = {}
        for number, table in batch.tables.items():
            if self._fields[number]:
                kept = [i for i in range(table.width) if i not in self._fields[number]]
                table = Table(len(table), [table.lazy(i) for i in kept])  # noqa: PLW2901
            tables[number] = table
        return in_classes(batch, self._numbers, tables)

    def _with_events(
        self,
        batch: Batch,
        at: NDArray[np.int64],
        id: NDArray[np.uint64],
        step: NDArray[np.uint8],
        earlier: NDArray[np.int32],
    ) -> Batch:
        """Return the batch with these events after the slices at these positions."""
        known = np.flatnonzero(step)
        at, id, step, earlier = at[known], id[known], step[known], earlier[known]
        if not len(at):
            return batch
        self._report.add_at("flow-ids-as-events", self._result, batch, at)
        # An id may be reused when its flow has ended: importers distinguish the next by its name.
        found, which = np.unique(earlier, return_inverse=True)
        texts = [_TEXT if not one else b"%s %d" % (_TEXT, one + 1) for one in found.tolist()]
        strings = self._source.strings
        name = np.array([strings.intern(text) for text in texts], np.int32)[which.reshape(-1)]
        added = {}
        for what, event_class in self._classes.items():
            rows = np.flatnonzero(step == what)
            if not len(rows):
                continue
            if what not in self._of_steps:
                self._of_steps[what] = self._result.add_class(event_class)
            columns: list[Column] = [name[rows], np.zeros(len(rows), np.int32), id[rows]]
            if BINDS in event_class.fields:
                columns.append(np.ones(len(rows), np.bool_))
            added[self._of_steps[what]] = rows, Table(len(rows), columns)
        return with_events_behind(batch, at, added, batch.track[at])
