"""Flows that a part cuts: arrows with one end inside the part and the other outside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, ListColumn, without_optional
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import FieldClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.passes.messages import MESSAGES, identities

Mask = NDArray[np.bool_]
_Places = NDArray[np.signedinteger[Any]]

_FLOWS: Final = frozenset({Kind.FLOW_BEGIN, Kind.FLOW_STEP, Kind.FLOW_END})
#: Fields of slices and instants that are points of flows: one id, with flags for whether an arrow ends and one begins
#: there,
_BIND, _IN, _OUT = "bind_id", "flow_in", "flow_out"
#: and arrays of ids, where each point has an arrow to the next one of its id, until one is terminating.
_ARRAYS: Final = {"flow_ids": False, "terminating_flow_ids": True}
#: Combines the scope and the id of a message into one number.
_SPREAD: Final = np.uint64(0xD6E8FEB86659FD93)


class _Points(NamedTuple):
    """Points of flows: their positions in a batch, their flow ids, and whether the flow begins or ends there.

    Flows that begin with any first point, and may never end, are `implied`.
    """

    places: _Places
    ids: NDArray[np.uint64]
    begins: Mask
    ends: Mask
    implied: Mask

    def subset(self, rows: _Places) -> _Points:
        """Return a subset of the points."""
        return _Points(
            self.places[rows],
            self.ids[rows],
            self.begins[rows],
            self.ends[rows],
            self.implied[rows],
        )


class _Space(NamedTuple):
    """A namespace of ids: equal ids of different spaces are different flows."""

    of: str
    is_text: bool = False


class CutFlows:
    """Counts the flows that a part cuts, as the batches of the full trace pass in time order."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._open: defaultdict[_Space, _OpenFlows] = defaultdict(_OpenFlows)
        #: By class: True if its events may be points of flows.
        self._has_points: list[bool] = []

    def count(self, *, goes_on: bool) -> int:
        """Return the number of flows that lack an arrow; `goes_on` says that the trace has more events than those that
        passed.
        """
        return sum(flows.cut + (flows.waiting() if goes_on else 0) for flows in self._open.values())

    def follow(self, batch: Batch, kept: _Places) -> None:
        """Process the next batch of the full trace, and the positions in it of the events that the part keeps."""
        spaces = self._points(batch)
        if not spaces:
            return
        stays = np.zeros(len(batch), np.bool_)
        stays[kept] = True
        for space, points in spaces.items():
            in_order = _sorted_by_id(_joined(points))
            self._open[space].follow(in_order, stays[in_order.places])

    def begin(self, batch: Batch) -> None:
        """Record the events that are open at the start of the part: they begin there, with their arrows."""
        for space, points in self._points(batch).items():
            self._open[space].keep(_joined(points).ids)

    def _points(self, batch: Batch) -> dict[_Space, list[_Points]]:
        classes = self._trace.event_classes
        self._has_points += map(_has_points, classes[len(self._has_points) :])
        spaces: dict[_Space, list[_Points]] = {}
        for number, table in batch.tables.items():
            if self._has_points[number] and len(table):
                at = batch.positions(number)
                if classes[number].kind in MESSAGES:
                    found = self._messages(batch, number, at)
                else:
                    found = _points_of(classes[number], table, at)
                for space, points in found:
                    spaces.setdefault(space, []).append(points)
        return spaces

    def _messages(self, batch: Batch, number: int, at: _Places) -> Iterator[tuple[_Space, _Points]]:
        """Return messages, each with a flow from its sender to all receivers, of which there may be none."""
        found = identities(self._trace, batch, number)
        if found is not None:
            scopes, ids, is_message = found
            implied = np.ones(len(at), np.bool_)
            sends = implied & (self._trace.event_classes[number].kind is Kind.MESSAGE_SEND)
            points = _Points(at, scopes * _SPREAD ^ ids, sends, ~implied, implied)
            yield _Space("message"), points.subset(np.flatnonzero(is_message))


class _OpenFlows:
    """The flows of a space that are still open, by id."""

    def __init__(self) -> None:
        self._ids: NDArray[np.uint64] = np.zeros(0, np.uint64)
        #: Flags: the last point is in the part; the flow is counted already; it need not have an end.
        self._kept, self._counted, self._implied = np.zeros((3, 0), np.bool_)
        self.cut = 0

    def waiting(self) -> int:
        """Return the number of flows that have their last point in the part and wait for an end."""
        return int(np.count_nonzero(self._kept & ~self._counted & ~self._implied))

    def keep(self, ids: NDArray[np.uint64]) -> None:
        """Mark the last points of these flows as in the part, though they were before it."""
        self._kept |= np.isin(self._ids, ids)

    def follow(self, points: _Points, kept: Mask) -> None:
        """Process the next points, sorted by id; `kept` says which of them are in the part."""
        ids = points.ids
        if not len(ids):
            return
        first = np.r_[True, ids[1:] != ids[:-1]]
        last = np.r_[first[1:], True]
        known, at = self._find(ids[first])
        # The previous point of each, if the flow has one.
        follows, from_kept = np.r_[False, ~points.ends[:-1]], np.r_[False, kept[:-1]]
        follows[first], from_kept[first] = known, self._of(self._kept, known, at)
        follows &= ~points.begins
        lacks = np.where(follows, from_kept != kept, kept & ~points.begins & ~points.implied)
        # Several flows may follow each other with one id; the first may continue from earlier batches.
        starts = np.flatnonzero(first | ~follows)
        number = np.cumsum(first | ~follows) - 1
        counted = np.zeros(len(starts), np.bool_)
        counted[number[first]] = self._of(self._counted, known, at) & follows[first]
        cut = np.logical_or.reduceat(lacks, starts)
        self.cut += int(np.count_nonzero(cut & ~counted))
        stay = last & ~points.ends
        self._replace(
            ids[first], ids[stay], kept[stay], (cut | counted)[number[stay]], points.implied[stay]
        )

    def _find(self, ids: NDArray[np.uint64]) -> tuple[Mask, _Places]:
        at = np.searchsorted(self._ids, ids)
        known = at < len(self._ids)
        known[known] = self._ids[at[known]] == ids[known]
        return known, at

    @staticmethod
    def _of(values: Mask, known: Mask, at: _Places) -> Mask:
        found = np.zeros(len(known), np.bool_)
        found[known] = values[at[known]]
        return found

    def _replace(
        self,
        gone: NDArray[np.uint64],
        ids: NDArray[np.uint64],
        kept: Mask,
        counted: Mask,
        implied: Mask,
    ) -> None:
        rest = ~np.isin(self._ids, gone, assume_unique=True)
        at = np.searchsorted(self._ids[rest], ids)
        self._ids = np.insert(self._ids[rest], at, ids)
        self._kept = np.insert(self._kept[rest], at, kept)
        self._counted = np.insert(self._counted[rest], at, counted)
        self._implied = np.insert(self._implied[rest], at, implied)


def _joined(points: list[_Points]) -> _Points:
    places, ids, begins, ends, implied = zip(*points, strict=True)
    return _Points(
        np.concatenate(places),
        np.concatenate(ids),
        np.concatenate(begins),
        np.concatenate(ends),
        np.concatenate(implied),
    )


def _sorted_by_id(points: _Points) -> _Points:
    return points.subset(np.lexsort((points.places, points.ids)))


def _has_points(event_class: EventClass) -> bool:
    names = {field.name for field in event_class.fields}
    return event_class.kind in _FLOWS | MESSAGES or _BIND in names or not names.isdisjoint(_ARRAYS)


def _points_of(
    event_class: EventClass, table: Table, at: _Places
) -> Iterator[tuple[_Space, _Points]]:
    """Return the points of flows among the events of a class, whose positions in the batch are `at`."""
    for index, field in enumerate(event_class.fields):
        if field.name in _ARRAYS and field.role is Role.CONTEXT:
            yield from _points_of_array(table.column(index), field.type, at, _ARRAYS[field.name])
            continue
        is_event = event_class.kind in _FLOWS and index == event_class.index_of(Role.ID)
        if not is_event and (field.name != _BIND or field.role is not Role.ID):
            continue
        ids, held, valid = without_optional(table.column(index), field.type)
        if not isinstance(ids, np.ndarray) or ids.dtype.kind not in "iu":
            continue
        if is_event:
            begins, ends = (
                np.full(len(table), event_class.kind is kind)
                for kind in (Kind.FLOW_BEGIN, Kind.FLOW_END)
            )
            known = np.ones(len(table), np.bool_)
        else:
            goes_in, goes_out = (_is_set(event_class, table, name) for name in (_IN, _OUT))
            begins, ends, known = goes_out & ~goes_in, goes_in & ~goes_out, goes_in | goes_out
        rows = np.flatnonzero(known if valid is None else known & valid)
        space = _Space("event" if is_event else "slice", isinstance(held, StringClass))
        points = _Points(at, ids.astype(np.uint64), begins, ends, np.zeros(len(table), np.bool_))
        yield space, points.subset(rows)


def _points_of_array(
    column: Column, field_class: FieldClass, at: _Places, ends: bool
) -> Iterator[tuple[_Space, _Points]]:
    """Return the points of flows in a column of arrays of ids."""
    lists, _, valid = without_optional(column, field_class)
    if not isinstance(lists, ListColumn) or not isinstance(lists.values, np.ndarray):
        return
    ids = lists.values[lists.offsets[0] : lists.offsets[-1]].astype(np.uint64)
    rows = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
    begins = np.zeros(len(ids), np.bool_)
    points = _Points(at[rows], ids, begins, begins | ends, ~begins)
    known = begins | True if valid is None else valid[rows]
    yield _Space("slice"), points.subset(np.flatnonzero(known))


def _is_set(event_class: EventClass, table: Table, name: str) -> Mask:
    """Return the mask of the rows whose flag is set."""
    for index, field in enumerate(event_class.fields):
        if field.name == name and field.role is Role.CONTEXT:
            values, _, valid = without_optional(table.column(index), field.type)
            assert isinstance(values, np.ndarray), "it is a boolean"
            return values.astype(np.bool_) if valid is None else values.astype(np.bool_) & valid
    return np.zeros(len(table), np.bool_)
