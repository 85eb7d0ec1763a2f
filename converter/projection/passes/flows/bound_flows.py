"""Flow ids of slices, with a direction each.

Viewers of some formats follow such ids only where a slice begins. Others know no such ids: there they become events of
flows, right after the begin of their slice, or right before its end. Viewers attach these to the innermost slice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, constant_column, string_ids
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.instants import CATEGORY, NAME
from converter.projection.losses import LossReport
from converter.projection.passes.renumbering import (
    in_classes,
    with_events_before,
    with_events_behind,
)
from converter.projection.timeline_fields import (
    BIND_NAME,
    BINDS,
    FLOW_IN,
    FLOW_OUT,
    FOLLOWED,
    number_id,
)

_IN: Final = 1
_OUT: Final = 2
_FIELDS: Final = (NAME, CATEGORY, number_id("id"))
#: The events of flows by their direction.
_CLASSES: Final = {
    _OUT: EventClass(Kind.FLOW_BEGIN, fields=_FIELDS),
    _IN | _OUT: EventClass(Kind.FLOW_STEP, fields=_FIELDS),
    _IN: EventClass(Kind.FLOW_END, fields=(*_FIELDS, BINDS)),
}
_DIRECTIONS: Final = ((FLOW_IN, _IN), (FLOW_OUT, _OUT))
#: The name of these flows: a number that events of flows have, too, is another flow.
_TEXT: Final = b"bind_id"


def followed_kinds(trace: Trace) -> frozenset[Kind]:
    """Return the kinds whose flow ids viewers of the source follow."""
    if trace.semantics.flows_at_begins:
        return frozenset({Kind.SLICE_BEGIN, Kind.SLICE_COMPLETE})
    return frozenset(FOLLOWED)


def with_bound_flows(trace: Trace, kinds: frozenset[Kind], report: LossReport) -> Trace:
    """Return the trace whose flow ids are followed in a format whose viewers follow those of these kinds.

    Without such kinds, ids become events of flows. Else those of other kinds are dropped: events of flows are other
    flows there. Ids that viewers of the source do not follow are dropped, too: else an arrow would appear.
    """
    result = dataclasses.replace(trace, event_classes=[])
    result.make_batches = _BoundFlows(trace, result, kinds, report).batches
    return result


class _BoundFlows:
    def __init__(
        self, source: Trace, result: Trace, kinds: frozenset[Kind], report: LossReport
    ) -> None:
        self._source = source
        self._result = result
        self._report = report
        self._followed = followed_kinds(source)
        self._kept = kinds & self._followed
        #: By the number of a class in the source: its number in the result, and the fields that it loses there.
        self._numbers: list[int] = []
        self._fields: list[tuple[int, ...]] = []
        self._added: dict[int, int] = {}

    def batches(self) -> Iterator[Batch]:
        for batch in self._source.batches():
            for event_class in self._source.event_classes[len(self._numbers) :]:
                self._follow(event_class)
            bound = [
                number
                for number, table in batch.tables.items()
                if len(table) and self._fields[number]
            ]
            if not bound:
                yield in_classes(batch, self._numbers)
                continue
            yield self._with_events(batch, bound)

    def _follow(self, event_class: EventClass) -> None:
        fields: tuple[int, ...] = ()
        if event_class.kind in FOLLOWED and event_class.kind not in self._kept:
            fields = _fields_of(event_class)
        self._fields.append(fields)
        if fields:
            left = tuple(one for i, one in enumerate(event_class.fields) if i not in fields)
            event_class = replace(event_class, fields=left, native=b"")
        self._numbers.append(self._result.add_class(event_class))

    def _with_events(self, batch: Batch, bound: list[int]) -> Batch:
        """Return the batch without the fields of these classes, and with events in their place."""
        classes = self._source.event_classes
        tables = dict(batch.tables)
        before: list[tuple[NDArray[Any], ...]] = []
        behind: list[tuple[NDArray[Any], ...]] = []
        for number in bound:
            table, kind = batch.tables[number], classes[number].kind
            kept = [i for i in range(table.width) if i not in self._fields[number]]
            tables[number] = Table(len(table), [table.lazy(i) for i in kept])
            at = batch.positions(number)
            is_followed = kind in self._followed
            if self._kept or not is_followed:
                code = "arrows-at-ends" if is_followed else "flow-id-not-followed"
                self._report.add_at(code, self._source, batch, at)
                continue
            ids, direction = self._directions(classes[number], table)
            known = np.flatnonzero(direction)
            points = at[known].astype(np.int64), ids[known], direction[known]
            (before if kind is Kind.SLICE_END else behind).append(points)
        result = in_classes(batch, self._numbers, tables)
        for some_points, insert in ((behind, with_events_behind), (before, with_events_before)):
            if some_points:
                at, ids, direction = map(np.concatenate, zip(*some_points, strict=True))
                order = np.argsort(at, kind="stable")
                at = at[order]
                if insert is with_events_before and behind:
                    # The events that were inserted after those before it.
                    places = np.concatenate([some[0] for some in behind])
                    at = at + np.searchsorted(np.sort(places), at)
                added = self._events(ids[order], direction[order])
                if len(at):
                    result = insert(result, at, added, result.track[at])
        count = sum(len(some[0]) for some in (*before, *behind))
        self._report.add("flow-ids-as-events", count, int(batch.ts.min()))
        return result

    def _directions(
        self, event_class: EventClass, table: Table
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the ids of events, and the bits of their directions: none without an id that is a number."""
        fields = event_class.fields
        direction = np.zeros(len(table), np.int64)
        for field, bit in _DIRECTIONS:
            if field in fields:
                told: Any = table.column(fields.index(field))
                direction |= np.where(told.astype(np.bool_), bit, 0)
        index = next(
            i for i, one in enumerate(fields) if one.role is Role.ID and one.name == BIND_NAME
        )
        column: Any = table.column(index)
        if isinstance(fields[index].type, IntegerClass):
            return column.astype(np.uint64), direction
        strings = self._source.strings
        texts, which = np.unique(string_ids(column, strings), return_inverse=True)
        numbers = [hexadecimal(strings[text]) for text in texts.tolist()]
        ids = np.array([one or 0 for one in numbers], np.uint64)[which]
        known = np.array([one is not None for one in numbers], np.bool_)[which]
        return ids, np.where(known, direction, 0)

    def _events(
        self, ids: NDArray[np.uint64], direction: NDArray[np.int64]
    ) -> dict[int, tuple[NDArray[np.intp], Table]]:
        text = self._source.strings.intern(_TEXT)
        added = {}
        for which, event_class in _CLASSES.items():
            rows = np.flatnonzero(direction == which)
            if not len(rows):
                continue
            if which not in self._added:
                self._added[which] = self._result.add_class(event_class)
            columns: list[Column] = [
                constant_column(np.int32(text), len(rows)),
                constant_column(np.int32(0), len(rows)),
                ids[rows],
            ]
            if which == _IN:
                columns.append(np.ones(len(rows), np.bool_))
            added[self._added[which]] = rows, Table(len(rows), columns)
        return added


def _fields_of(event_class: EventClass) -> tuple[int, ...]:
    """Return the fields with a flow's id and its direction; none where one of them is missing."""
    ids, directions = [], []
    for i, field in enumerate(event_class.fields):
        is_id = field.role is Role.ID and field.name == BIND_NAME
        if is_id and isinstance(field.type, IntegerClass | StringClass):
            ids.append(i)
        elif field in (FLOW_IN, FLOW_OUT):
            directions.append(i)
    return (*ids[:1], *directions) if ids and directions else ()


def hexadecimal(text: bytes) -> int | None:
    """Return the number that viewers take the text of an id for; None for one that is not of hexadecimal digits."""
    try:
        return int(text, 16) & 0xFFFFFFFFFFFFFFFF
    except ValueError:
        return None
