"""Times that a format cannot hold: before zero, too late, and ends of slices before their begins or too late.

There are two passes. `with_held_durations` comes before others look at slices, and counts all losses.
`within_limits` comes last, as slices before zero have to nest by the times that they had.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import with_integers, without_optional
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass, OptionalClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.capabilities import Capabilities
from converter.projection.losses import LossReport
from converter.projection.metadata import held_clock, latest_tick
from converter.projection.passes.time_order import reordered

EARLY: Final = "time-before-zero"
LATE: Final = "time-too-late"
BACKWARDS: Final = "negative-duration"
LATE_ENDS: Final = "slice-end-too-late"

_LAST: Final = np.iinfo(np.int64).max
#: Kinds of events that last.
_LASTING: Final = frozenset({Kind.SLICE_COMPLETE, Kind.STATE})


def with_held_durations(
    trace: Trace, capabilities: Capabilities, format_name: str, report: LossReport
) -> Trace:
    """Return the trace with the durations that a format holds; counts what its limits change.

    A format keeps durations that were read from it: its viewers showed them in the source, too.
    """
    latest = latest_tick(held_clock(trace.clock, capabilities, LossReport()), capabilities)
    own = trace.format == format_name
    passing = _HeldDurations(
        trace,
        report,
        None if capabilities.negative_times else 0,
        latest,
        backwards=capabilities.negative_durations or own,
        late_ends=capabilities.late_ends or own,
    )
    return _passed(trace, passing.batch) if passing.may_change else trace


def within_limits(trace: Trace, capabilities: Capabilities) -> Trace:
    """Return the trace with the times that a format holds; complete slices that begin too early lose their begin."""
    first = None if capabilities.negative_times else 0
    latest = latest_tick(held_clock(trace.clock, capabilities, LossReport()), capabilities)
    if first is None and latest is None:
        return trace
    durations = _Durations(trace)

    def limited(batch: Batch) -> Batch:
        is_early = first is not None and len(batch) > 0 and int(batch.ts.min()) < first
        is_late = latest is not None and len(batch) > 0 and int(batch.ts.max()) > latest
        if not is_early and not is_late:
            return batch
        ts = np.clip(batch.ts, first, latest)
        changed = {}
        for number, column, _ in durations.of(batch) if is_early else ():
            at = batch.positions(number)
            # The earliest time has no opposite of 64 bits.
            before = ts[at] - np.maximum(batch.ts[at], -_LAST)
            is_cut = (before > 0) & (column > 0)
            changed[number] = np.where(is_cut, np.maximum(column - before, 0), column)
        return durations.replaced(batch, changed).at_times(ts)

    return _passed(trace, limited)


class _Durations:
    """The columns of a trace with the durations of events that last."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        #: By class: the index of its duration, or None.
        self._index: list[int | None] = []

    def of(self, batch: Batch) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.bool_] | None]]:
        """Yield the classes of a batch with durations, which are known where a mask says so (None: all)."""
        self._index += map(_duration_index, self._trace.event_classes[len(self._index) :])
        for number, table in batch.tables.items():
            index = self._index[number]
            if index is None or not len(table):
                continue
            held = self._trace.event_classes[number].fields[index].type
            column, _, valid = without_optional(table.column(index), held)
            assert isinstance(column, np.ndarray)
            if column.dtype == np.uint64:
                column = np.minimum(column, np.uint64(_LAST))
            yield number, column.astype(np.int64, copy=False), valid

    def replaced(self, batch: Batch, changed: dict[int, NDArray[np.int64]]) -> Batch:
        """Return the batch with other durations of some of its classes."""
        tables = dict(batch.tables)
        for number, durations in changed.items():
            table, index = tables[number], self._index[number]
            assert index is not None
            columns: list[Any] = [table.lazy(i) for i in range(table.width)]
            columns[index] = with_integers(table.column(index), durations)
            tables[number] = Table(len(table), columns)
        return batch.with_tables(tables) if changed else batch


class _HeldDurations:
    """Rewrites the durations of a trace, whose slices may end before they begin (`backwards`), or after the last time
    (`late_ends`).
    """

    def __init__(
        self,
        trace: Trace,
        report: LossReport,
        first: int | None,
        last: int | None,
        *,
        backwards: bool,
        late_ends: bool,
    ) -> None:
        self._trace = trace
        self._report = report
        self._first = first
        self._last = last
        self._backwards = backwards
        self._late_ends = late_ends
        self._durations = _Durations(trace)
        self._changes_durations = trace.semantics.may_have(*_LASTING) and not (
            backwards and late_ends
        )

    @property
    def may_change(self) -> bool:
        """True if the format has limits at all."""
        limits = (self._first, self._last) != (None, None)
        return limits or self._changes_durations

    def batch(self, batch: Batch) -> Batch:
        """Return a batch with the durations that the format holds."""
        if not len(batch):
            return batch
        is_early = self._first is not None and int(batch.ts.min()) < self._first
        if is_early or (self._last is not None and int(batch.ts.max()) > self._last):
            self._count_moved(batch)
        if is_early:
            # At one time, they are in the order of the times that they had.
            order = batch.time_order
            batch = batch if order is None else reordered(batch, order)
        return self._with_durations(batch) if self._changes_durations else batch

    def _count_moved(self, batch: Batch) -> None:
        """Count the events that get another time. Those without a time of their own only repeat one."""
        held = np.clip(batch.ts, self._first, self._last)
        for code, moved in ((EARLY, held > batch.ts), (LATE, held < batch.ts)):
            if not moved.any():
                continue
            for number in batch.tables:
                if not self._trace.event_classes[number].timed:
                    moved[batch.positions(number)] = False
            self._report.add_at(code, self._trace, batch, np.flatnonzero(moved))

    def _with_durations(self, batch: Batch) -> Batch:
        last = _LAST if self._last is None else self._last
        latest = int(batch.ts.max())
        changed = {}
        for number, durations, known in self._durations.of(batch):
            backwards = not self._backwards and int(durations.min()) < 0
            late = not self._late_ends and latest + int(durations.max()) > last
            if not backwards and not late:
                continue
            at = batch.positions(number)
            ts = batch.ts[at]
            is_known = np.ones(len(ts), np.bool_) if known is None else known
            new = durations
            if backwards:
                is_backwards = is_known & (durations < 0)
                self._report.add_at(BACKWARDS, self._trace, batch, at[is_backwards])
                new = np.where(is_backwards, 0, new)
            if late:
                is_late = is_known & _is_after(last, ts, new)
                is_cut = is_late & (ts <= last)
                self._report.add_at(LATE_ENDS, self._trace, batch, at[is_cut])
                new = np.where(is_late, last - np.minimum(ts, last), new)
            if new is not durations:
                changed[number] = new
        return self._durations.replaced(batch, changed)


def _passed(trace: Trace, of_batch: Callable[[Batch], Batch]) -> Trace:
    result = dataclasses.replace(trace)
    result.make_batches = lambda: map(of_batch, trace.batches())
    return result


def _is_after(last: int, ts: NDArray[np.int64], durations: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return True for each slice that ends after the last time; nothing exceeds 64 bits on the way."""
    from_zero = durations > last - np.maximum(ts, 0)
    from_before = np.minimum(ts, 0) + np.maximum(durations, 0) > last
    return np.where(ts < 0, from_before, from_zero)


def _duration_index(event_class: EventClass) -> int | None:
    """Return the index of the field with the duration of events that last, None for other classes."""
    index = event_class.index_of(Role.DURATION) if event_class.kind in _LASTING else None
    if index is None:
        return None
    held = event_class.fields[index].type
    while isinstance(held, OptionalClass):
        held = held.element
    return index if isinstance(held, IntegerClass) else None
