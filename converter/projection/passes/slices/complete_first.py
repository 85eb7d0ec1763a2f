"""The order of events at one time: viewers of some formats do not take that of the file.

Of what is at one time they take the ends of slices first, then the complete slices that last, the longest first, then
all else in its order. This decides which slice is around another, and at which slice an arrow begins or ends.

They do so only from where they have to sort: from the time of the first event that, after a complete slice, is no later
than all before it, or that is earlier than one before. A trace without complete slices keeps its order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import string_ids
from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.passes.time_order import LAST_TIME, at_shared_times, reordered, ticks
from converter.projection.timeline_fields import PHASE

#: The kinds that viewers may take before others of their time.
_FIRST: Final = frozenset({Kind.SLICE_END, Kind.SLICE_COMPLETE})
#: Those whose order matters; the others stay where they are, and their order among themselves is kept.
_ORDERED: Final = _FIRST | {
    Kind.SLICE_BEGIN,
    Kind.INSTANT,
    Kind.FLOW_BEGIN,
    Kind.FLOW_STEP,
    Kind.FLOW_END,
}
#: The phase of instants that are parts of a profile, whose order in the file matters.
_PROFILE: Final = b"P"


def in_viewer_order(trace: Trace) -> Trace:
    """Return the trace with the events of each batch that are at one time in the order in which viewers take them."""
    result = dataclasses.replace(trace)

    def batches() -> Iterator[Batch]:
        ordering = _Ordering(trace)
        return (_ordered(trace, batch, ordering) for batch in trace.batches())

    result.make_batches = batches
    return result


class _Ordering:
    """From which time on viewers sort a trace, as far as it has been read."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._any_complete = False
        self._latest = self._earliest = LAST_TIME
        self._is_first = True

    def start(self, batch: Batch) -> int:
        """Return the time from which on the events of the next batch are sorted; `LAST_TIME` if none are."""
        ts = batch.ts
        complete = np.zeros(len(ts), np.bool_)
        for number in batch.tables:
            if self._trace.event_classes[number].kind is Kind.SLICE_COMPLETE:
                complete[batch.positions(number)] = True
        complete = np.logical_or.accumulate(complete) | self._any_complete
        latest = np.maximum.accumulate(ts)
        before = np.append(ts[:1] - 1 if self._is_first else self._latest, latest[:-1])
        late = ts[(ts < before) | (complete & (ts == before))]
        self._earliest = min(self._earliest, int(late.min(initial=LAST_TIME)))
        self._is_first, self._latest = False, int(max(before[0], latest[-1]))
        self._any_complete = bool(complete[-1])
        return self._earliest if self._any_complete else LAST_TIME


def _ordered(trace: Trace, batch: Batch, ordering: _Ordering) -> Batch:
    start = ordering.start(batch) if len(batch) else LAST_TIME
    kinds = {
        number: trace.event_classes[number].kind
        for number, table in batch.tables.items()
        if len(table)
    }
    if len(_ORDERED & set(kinds.values())) < 2 or _FIRST.isdisjoint(kinds.values()):
        # Complete slices alone are put in order where they become begins and ends.
        return batch
    at = at_shared_times(batch.ts, batch.time_order)
    at = at[batch.ts[at] >= start]
    if not len(at):
        return batch
    at = at[_are_ordered(trace, batch, kinds)[at]]
    wanted = np.lexsort((_keys(trace, batch, kinds)[at], batch.ts[at]))
    if np.array_equal(wanted, np.arange(len(at))):
        return batch
    new_order = np.arange(len(batch))
    new_order[at] = at[wanted]
    return reordered(batch, new_order)


def _are_ordered(trace: Trace, batch: Batch, kinds: Mapping[int, Kind]) -> NDArray[np.bool_]:
    """Return True for events whose order matters to the slices around them."""
    ordered = np.zeros(len(batch), np.bool_)
    for number, kind in kinds.items():
        if kind not in _ORDERED:
            continue
        positions = batch.positions(number)
        fields = trace.event_classes[number].fields
        if kind is Kind.INSTANT and PHASE in fields:
            column = batch.tables[number].column(fields.index(PHASE))
            profile = trace.strings.intern(_PROFILE)
            positions = positions[string_ids(column, trace.strings) != profile]
        ordered[positions] = True
    return ordered


def _keys(trace: Trace, batch: Batch, kinds: Mapping[int, Kind]) -> NDArray[np.int64]:
    """Return numbers that sort the events of one time: those of ends, then of complete slices that last, then 0."""
    keys = np.zeros(len(batch), np.int64)
    for number, kind in kinds.items():
        if kind is Kind.SLICE_END:
            keys[batch.positions(number)] = np.iinfo(np.int64).min
        elif kind is Kind.SLICE_COMPLETE:
            index = trace.event_classes[number].index_of(Role.DURATION)
            if index is not None:
                duration = ticks(batch.tables[number].column(index))
                keys[batch.positions(number)] = -np.maximum(duration, 0)
    return keys
