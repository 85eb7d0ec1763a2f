"""Events of one time, for viewers that do not take them in the order of the file (see `complete_first`).

An end would be taken before the begin of its own slice, and a flow after the end of the slice that it is in. A slice
that takes no time becomes a complete one, and a flow moves to just before. What else viewers draw otherwise is counted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column
from converter.ir.display.text import unique_names
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up
from converter.projection.loss_codes.names import event_name
from converter.projection.losses import LossReport
from converter.projection.passes.renumbering import in_classes
from converter.projection.passes.slices.equal_times import fates
from converter.projection.passes.time_order import at_shared_times, ticks
from converter.projection.timeline_fields import DURATION

_END: Final = 2
_LASTING: Final = 3
_POINT: Final = 4
_STEPS: Final = {
    Kind.SLICE_BEGIN: 1,
    Kind.SLICE_END: _END,
    Kind.SLICE_COMPLETE: _POINT,
    Kind.INSTANT: _POINT,
    Kind.FLOW_BEGIN: 5,
    Kind.FLOW_STEP: 5,
    Kind.FLOW_END: 5,
}
_MOVES: Final = 1
_COMPLETES: Final = 2
_GOES: Final = 4
#: Other bits of the fate of an event, and the codes of these losses.
_OTHERWISE: Final = {
    8: "flow-at-shared-time",
    16: "depth-at-shared-time",
}
_NAMES: Final = (Role.NAME, Role.CATEGORY)
_NANOSECONDS: Final = 10**9


def with_ends_first(trace: Trace, report: LossReport) -> Trace:
    """Return the trace with events that mean the same to viewers which take ends and complete slices first."""
    result = dataclasses.replace(trace, event_classes=[])
    result.make_batches = _EndsFirst(trace, result, report).batches
    return result


class _EndsFirst:
    def __init__(self, source: Trace, result: Trace, report: LossReport) -> None:
        self._source = source
        self._result = result
        self._report = report
        self._numbers: list[int] = []
        self._steps: list[int] = []
        self._joins: list[int] = []
        #: By the numbers of classes of begins and ends in the source, and the end's fields that complete slices have:
        #: the number of these slices in the result.
        self._complete: dict[tuple[int, int, tuple[int, ...]], int] = {}
        #: By the same: the names of the end's fields that the begin has, and those in the complete slices.
        self._renamed: dict[tuple[int, int, tuple[int, ...]], list[tuple[str, str]]] = {}
        #: The ticks of a nanosecond, or one where a tick is longer.
        rate = source.clock.ticks_per_second
        self._tick = 1 if rate is None else max(1, ceil(rate / _NANOSECONDS))

    def batches(self) -> Iterator[Batch]:
        for batch in self._source.batches():
            for event_class in self._source.event_classes[len(self._numbers) :]:
                self._numbers.append(self._result.add_class(event_class))
                self._steps.append(_STEPS.get(event_class.kind, 0))
                self._joins.append(_joins(event_class))
            yield self._fitted(batch)

    def _fitted(self, batch: Batch) -> Batch:
        present = {self._steps[number] for number, table in batch.tables.items() if len(table)}
        if not present & {_END, _POINT} or (len(present) == 1 and not self._has_complete(batch)):
            return in_classes(batch, self._numbers)
        at = at_shared_times(batch.ts, batch.time_order)
        step = self._steps_of(batch, at)
        at, step = at[step > 0], step[step > 0]
        # Without what is not of slices or flows, most of them have their times for themselves.
        shared = at_shared_times(batch.ts[at])
        at, step = at[shared], step[shared]
        if not len(at):
            return in_classes(batch, self._numbers)
        # By time, thread and track; of one, in the order of the source.
        place = np.where(batch.track[at] >= 0, -1, batch.thread[at])
        by_place = np.lexsort((batch.track[at], place, batch.ts[at]))
        at, step, place = at[by_place], step[by_place], place[by_place]
        keys = np.stack([batch.ts[at], place, batch.track[at]])
        starts = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(0)) + 1
        starts = np.concatenate([[0], starts, [len(at)]]).astype(np.int64)
        joins = looked_up(np.array(self._joins, np.int32), batch.class_id[at])
        fate = fates(step.astype(np.uint8), joins.astype(np.uint8), starts)
        if not fate.any():
            return in_classes(batch, self._numbers)
        return self._changed(batch, at, fate)

    def _has_complete(self, batch: Batch) -> bool:
        """Return True for complete slices, of which some may take no time."""
        kinds = [self._source.event_classes[number].kind for number in batch.tables]
        return Kind.SLICE_COMPLETE in kinds

    def _steps_of(self, batch: Batch, at: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return what the events at these positions are."""
        lasting = np.zeros(len(batch), np.bool_)
        for number, table in batch.tables.items():
            event_class = self._source.event_classes[number]
            index = event_class.index_of(Role.DURATION)
            if event_class.kind is Kind.SLICE_COMPLETE and index is not None and len(table):
                lasting[batch.positions(number)] = ticks(table.column(index)) > 0
        step = looked_up(np.array(self._steps, np.int32), batch.class_id[at])
        return np.where(lasting[at], np.int32(_LASTING), step)

    def _changed(self, batch: Batch, at: NDArray[np.intp], fate: NDArray[np.uint8]) -> Batch:
        ts = batch.ts.copy()
        moves = at[fate == _MOVES]
        # Before the first time there is nothing.
        early = batch.ts[moves] - self._tick < min(0, int(batch.ts.min()))
        fate[np.flatnonzero(fate == _MOVES)[early]] = min(_OTHERWISE)
        moves = moves[~early]
        ts[moves] -= self._tick
        for bit, code in _OTHERWISE.items():
            self._report.add_at(code, self._source, batch, at[fate & bit > 0])
        self._report.add_at("flow-moved-before-end", self._source, batch, moves)
        joined = at[fate & _COMPLETES > 0]
        self._report.add_at("slice-joined", self._source, batch, joined)
        renumbered = in_classes(batch, self._numbers)
        class_id, row = renumbered.class_id.copy(), renumbered.row.copy()
        tables = dict(renumbered.tables)
        begins, ends = _pairs(at, fate)
        classes = np.stack([batch.class_id[begins], batch.class_id[ends]])
        for number, end in np.unique(classes, axis=1).T.tolist():
            of_both = np.flatnonzero((classes[0] == number) & (classes[1] == end))
            positions = begins[of_both]
            table = batch.tables[number].select(batch.row[positions])
            others = batch.tables[end].select(batch.row[ends[of_both]])
            added = self._added(number, end, table, others)
            complete = self._complete_number(number, end, added)
            first_ts = int(batch.ts[positions].min())
            self._report_names((number, end, added), len(positions), first_ts)
            columns: list[Column | Any] = [table.lazy(i) for i in range(table.width)]
            columns.insert(
                _duration_index(self._source.event_classes[number]), np.zeros(len(table), np.int64)
            )
            columns += [others.lazy(i) for i in added]
            tables[complete] = Table(len(table), columns)
            class_id[positions] = complete
            row[positions] = np.arange(len(positions), dtype=np.int32)
        result = Batch(
            ts=ts,
            class_id=class_id,
            row=row,
            tables=tables,
            thread=batch.thread,
            cpu=batch.cpu,
            track=batch.track,
        )
        if not len(joined):
            return result
        kept = np.ones(len(batch), np.bool_)
        kept[at[fate & _GOES > 0]] = False
        return result.select(np.flatnonzero(kept))

    def _added(self, number: int, end: int, table: Table, others: Table) -> tuple[int, ...]:
        """Return the fields of ends that their begins do not have with the same values."""
        own, other = self._source.event_classes[number], self._source.event_classes[end]
        return tuple(
            i
            for i, field in enumerate(other.fields)
            if field.role not in _NAMES
            and not (
                field in own.fields
                and _are_equal(table.column(own.fields.index(field)), others.column(i))
            )
        )

    def _report_names(
        self, joined: tuple[int, int, tuple[int, ...]], count: int, first_ts: int
    ) -> None:
        """Count arguments of ends whose names the begin has, too: viewers of begins and ends show the end's."""
        for name, shown in self._renamed[joined]:
            self._report.add(
                "field-renamed",
                count,
                first_ts,
                event_kinds=frozenset({Kind.SLICE_END}),
                event=event_name(self._source.event_classes[joined[1]]),
                field=name,
                shown=shown,
            )

    def _complete_number(self, number: int, end: int, added: tuple[int, ...]) -> int:
        """Return the number in the result of the complete slices for begins and ends of two classes."""
        if (number, end, added) not in self._complete:
            own, other = self._source.event_classes[number], self._source.event_classes[end]
            fields = [*own.fields, *(other.fields[i] for i in added)]
            arguments = [i for i, field in enumerate(fields) if field.role == Role.NONE]
            old = [fields[i].name for i in arguments]
            new = unique_names(old)
            self._renamed[number, end, added] = [
                (name, shown) for name, shown in zip(old, new, strict=True) if name != shown
            ]
            for i, name in zip(arguments, new, strict=True):
                fields[i] = replace(fields[i], name=name)
            fields.insert(_duration_index(own), DURATION)
            event_class = replace(own, kind=Kind.SLICE_COMPLETE, fields=tuple(fields), native=b"")
            self._complete[number, end, added] = self._result.add_class(event_class)
        return self._complete[number, end, added]


def _duration_index(begin: EventClass) -> int:
    """Return the place of the duration in the complete slices for begins of a class: after their names."""
    return 1 + max((i for i, field in enumerate(begin.fields) if field.role in _NAMES), default=-1)


def _are_equal(one: Column, other: Column) -> bool:
    """Return True for columns of numbers or interned texts with the same values."""
    return (
        isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.array_equal(one, other)
    )


def _pairs(
    at: NDArray[np.intp], fate: NDArray[np.uint8]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the positions of begins that become complete slices, and those of their ends, which are one inside the
    other.
    """
    matched = np.flatnonzero(fate & (_COMPLETES | _GOES))
    is_begin = fate[matched] & _COMPLETES > 0
    depth = np.cumsum(np.where(is_begin, 1, -1)) + ~is_begin
    order = np.argsort(depth, kind="stable")
    both = at[matched[order]]
    return both[::2], both[1::2]


def _joins(event_class: EventClass) -> bool:
    """Return True for ends of which a complete slice can have all."""
    return event_class.kind is Kind.SLICE_END and all(
        field.role in (*_NAMES, Role.NONE) for field in event_class.fields
    )
