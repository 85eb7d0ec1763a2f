"""An end for each slice, for viewers in which an end closes the innermost slice only.

Where ends match begins by name, the end of an outer slice closes those inside it, too, and an end whose name no open
slice has closes nothing. In a viewer that pops one slice an end, the outer slice would never end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up, values_by_class
from converter.projection.losses import LossReport
from converter.projection.passes.renumbering import in_classes, with_events_before
from converter.projection.passes.slices.inner_ends import InnerEnds
from converter.projection.passes.slices.slice_columns import steps_of, texts_of
from converter.projection.passes.time_order import ticks

#: The class of ends that the source leaves unstated.
END: Final = EventClass(
    Kind.SLICE_END,
    fields=(
        Field("name", StringClass(), Role.NAME),
        Field("category", StringClass(), Role.CATEGORY),
    ),
)
#: Complete slices, to `InnerEnds`.
_COMPLETE: Final = 3
_KINDS: Final = frozenset({Kind.SLICE_BEGIN})


def with_inner_ends(
    trace: Trace, report: LossReport, *, or_unnamed: bool, complete: bool = False
) -> Trace:
    """Return the trace with an end for each slice that the end of an outer one closes, immediately before that.

    Ends that close nothing while slices are open on their thread or track are dropped. Both are reported.

    Args:
        trace: a source whose ends match by name.
        report: where losses are counted.
        or_unnamed: an end with a name also closes a slice without one.
        complete: the format has complete slices, which close those inside of them that are open when they end.

    """
    result = dataclasses.replace(trace, event_classes=[])
    ends = _StatedEnds(trace, result, report, or_unnamed=or_unnamed, complete=complete)
    result.make_batches = ends.batches
    return result


class _Columns(NamedTuple):
    """Columns of a batch in order of time: shape (n,), int32."""

    step: NDArray[np.int32]
    thread: NDArray[np.int32]
    track: NDArray[np.int32]
    name: NDArray[np.int32]
    category: NDArray[np.int32]


class _Added(NamedTuple):
    """Ends that are added: each before the event at a position, with its time, and what its slice is called."""

    at: NDArray[np.int64]
    ts: NDArray[np.int64]
    name: NDArray[np.int32]
    category: NDArray[np.int32]


class _StatedEnds:
    def __init__(
        self,
        source: Trace,
        result: Trace,
        report: LossReport,
        *,
        or_unnamed: bool,
        complete: bool,
    ) -> None:
        self._source = source
        self._result = result
        self._report = report
        self._or_unnamed = or_unnamed
        self._complete = complete
        self._numbers: list[int] = []
        #: The number of the class of the ends that are added, once there are such.
        self._end: int | None = None

    def batches(self) -> Iterator[Batch]:
        slices = InnerEnds()
        for batch in self._source.batches():
            classes = self._source.event_classes[len(self._numbers) :]
            self._numbers.extend(map(self._result.add_class, classes))
            renumbered = in_classes(batch, self._numbers)
            steps = steps_of(self._source, batch)
            if not steps.any():
                yield renumbered
                continue
            order = batch.time_order
            columns = self._columns(batch, steps)
            if order is not None:
                columns = _Columns(*(column[order] for column in columns))
            step, times = columns.step, np.ascontiguousarray(batch.ts)
            until = times
            if self._complete:
                step, until = self._with_complete(batch, step, order)
            if order is not None:
                times = times[order]
            at, ts, names, categories, unmatched, tied, outlasting = slices.find(
                step, *columns[1:], self._or_unnamed, times, until
            )
            if order is not None:
                at, unmatched = order[at], order[unmatched]
            first = int(batch.ts.min())
            self._report.add("slice-tied", tied, first, event_kinds=_KINDS)
            self._report.add("slice-outlasting", outlasting, first, event_kinds=_KINDS)
            self._report.add_at("slice-end-added", self._source, batch, at)
            self._report.add_at("slice-end-unmatched", self._source, batch, unmatched)
            yield self._rewritten(renumbered, _Added(at, ts, names, categories), unmatched)

    def _columns(self, batch: Batch, steps: NDArray[np.int32]) -> _Columns:
        texts = [
            values_by_class(batch.class_id, batch.row, texts_of(self._source, batch, role))
            for role in (Role.NAME, Role.CATEGORY)
        ]
        return _Columns(looked_up(steps, batch.class_id), batch.thread, batch.track, *texts)

    def _with_complete(
        self, batch: Batch, step: NDArray[np.int32], order: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the steps of events in order of time, complete slices among them, and the time at which these end."""
        until = batch.ts.copy()
        of_complete = np.zeros(len(batch), np.bool_)
        for number, table in batch.tables.items():
            event_class = self._source.event_classes[number]
            index = event_class.index_of(Role.DURATION)
            if event_class.kind is not Kind.SLICE_COMPLETE or index is None or not len(table):
                continue
            at = batch.positions(number)
            durations = ticks(table.column(index))[batch.row[at]]
            ends = batch.ts[at] + durations
            known = (durations >= 0) & (ends >= batch.ts[at])
            until[at[known]] = ends[known]
            of_complete[at[known]] = True
        if order is not None:
            of_complete, until = of_complete[order], until[order]
        return np.where(of_complete, np.int32(_COMPLETE), step), until

    def _rewritten(
        self,
        batch: Batch,
        ends: _Added,
        unmatched: NDArray[np.intp],
    ) -> Batch:
        """Return the batch with ends inserted before positions, and without those at `unmatched`."""
        # In order of time, which need not be that of positions.
        order = np.argsort(ends.at, kind="stable")
        at, ts, names, categories = (column[order] for column in ends)
        if not len(at) and not len(unmatched):
            return batch
        if self._end is None:
            self._end = self._result.add_class(END)
        # Several at one position are in their order, the innermost first.
        added = {self._end: (np.arange(len(at)), Table(len(at), [names, categories]))}
        result = with_events_before(batch, at, added, batch.track[at]) if len(at) else batch
        if (ts != batch.ts[at]).any():
            result.ts = result.ts.copy()
            result.ts[at + np.arange(len(at))] = ts
        if not len(unmatched):
            return result
        kept = np.ones(len(batch), np.bool_)
        kept[unmatched] = False
        return result.select(np.flatnonzero(np.insert(kept, at, np.ones(len(at), np.bool_))))
