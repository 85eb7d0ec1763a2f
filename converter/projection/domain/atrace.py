"""Interprets text that programs write into a kernel trace by the rules of Android's atrace (see `kernels.markers`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import ListColumn
from converter.ir.distinct_values import distinct
from converter.ir.events import Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Projection
from converter.projection.domain.markers import parse_marker_ids, parse_marker_texts
from converter.projection.engine.partitions import Partition
from converter.projection.instants import NAME, lower_to_instant

_VALUE = Field("value", IntegerClass(64, True), Role.VALUE)
_COOKIE = Field("cookie", IntegerClass(64, True), Role.ID)
_TRACK = Field("track", StringClass())

#: The kind of each letter.
KIND_OF_PHASE = {
    "B": Kind.SLICE_BEGIN,
    "E": Kind.SLICE_END,
    "C": Kind.COUNTER,
    "S": Kind.ASYNC_BEGIN,
    "F": Kind.ASYNC_END,
    "G": Kind.ASYNC_BEGIN,
    "H": Kind.ASYNC_END,
    "I": Kind.INSTANT,
    "N": Kind.INSTANT,
}


class _Markers(NamedTuple):
    """The fields of messages, one entry per row."""

    phase: NDArray[np.uint8]
    tgid: NDArray[np.int64]
    name: NDArray[np.int32]
    track: NDArray[np.int32]
    value: NDArray[np.int64]
    #: Something follows that viewers ignore.
    further: NDArray[np.uint8]

    def take(self, rows: NDArray[Any]) -> _Markers:
        return _Markers(*(column[rows] for column in self))


def lower_mark(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower messages of atrace to slices, counters and instants; any other becomes a log message, or else
    an instant.
    """
    index = partition.event_class.index_of(Role.MESSAGE)
    if index is None or not isinstance(partition.event_class.fields[index].type, StringClass):
        return _text(partition, projection)
    strings = projection.source.strings
    column = partition.table.column(index)
    if isinstance(column, ListColumn):
        assert isinstance(column.values, np.ndarray)
        markers = _Markers(*parse_marker_texts(strings, column.values, column.offsets))
    else:
        assert isinstance(column, np.ndarray)
        # A message that has a string id is likely to repeat.
        messages, inverse = distinct(column)
        markers = _Markers(*parse_marker_ids(strings, messages)).take(inverse)
    _name_ends(markers, projection.open_slices)
    parts: list[Partition] = []
    for phase in np.flatnonzero(np.bincount(markers.phase)).tolist():
        rows = np.flatnonzero(markers.phase == phase)
        part = partition.select(rows) if len(rows) < len(partition) else partition
        if phase == 0 or not _is_held(KIND_OF_PHASE[chr(phase)], projection):
            parts += _text(part, projection) or []
        else:
            parts.append(_part(part, chr(phase), markers.take(rows), projection))
    return parts


def _name_ends(markers: _Markers, open_slices: dict[tuple[int, ...], int]) -> None:
    """Name the ends of slices on named tracks: an H without a name gets the name of its begin (G).

    `open_slices` has the names of those that are open between batches, by tgid, track and cookie.
    """
    rows = np.flatnonzero((markers.phase == ord("G")) | (markers.phase == ord("H")))
    if not len(rows):
        return
    key = (markers.tgid[rows], markers.track[rows], markers.value[rows])
    order = np.lexsort((rows, *key))
    rows = rows[order]
    columns = [column[order] for column in key]
    first = np.ones(len(rows), np.bool_)
    first[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    begins = markers.phase[rows] == ord("G")
    at = np.arange(len(rows))
    latest = np.maximum.accumulate(np.where(begins | first, at, 0))
    starts = np.flatnonzero(first)
    keys = list(zip(*(column[starts].tolist() for column in columns), strict=True))
    # The name of a slice at the start of each run of its events, and then from begin to begin.
    known = np.array([open_slices.get(one, 0) for one in keys], np.int32)
    carried = known[np.cumsum(first) - 1]
    names = np.where(begins[latest], markers.name[rows][latest], carried)
    nameless = (markers.phase[rows] == ord("H")) & (markers.name[rows] == 0)
    markers.name[rows[nameless]] = names[nameless]
    last = np.append(starts[1:], len(rows)) - 1
    for one, row in zip(keys, last.tolist(), strict=True):
        if begins[row]:
            open_slices[one] = int(markers.name[rows[row]])
        else:
            open_slices.pop(one, None)


def _is_held(kind: Kind, projection: Projection) -> bool:
    kinds = projection.capabilities.kinds
    if kind in (Kind.SLICE_BEGIN, Kind.SLICE_END):
        return Kind.SLICE_BEGIN in kinds and Kind.SLICE_END in kinds
    if kind in (Kind.ASYNC_BEGIN, Kind.ASYNC_END):
        return Kind.ASYNC_BEGIN in kinds and Kind.ASYNC_END in kinds
    return kind in kinds


def _text(partition: Partition, projection: Projection) -> list[Partition] | None:
    if Kind.LOG in projection.capabilities.kinds and partition.column(Role.MESSAGE) is not None:
        return [partition.as_kind(Kind.LOG, roles={Role.MESSAGE: Role.MESSAGE})]
    return lower_to_instant(partition, projection)


def _part(partition: Partition, phase: str, markers: _Markers, projection: Projection) -> Partition:
    """Return the rows of one letter as events of its kind. The process is that of the thread; any other is lost."""
    kind = KIND_OF_PHASE[phase]
    threads = projection.threads_of(partition)
    leading: list[tuple[Field, Any]] = []
    projection.lose("mark-further-fields", partition, rows=markers.further != 0)
    if phase != "E":
        leading.append((NAME, markers.name))
    if kind is Kind.COUNTER:
        leading.append((_VALUE, markers.value))
        # A counter belongs to the process that the message names: its main thread has that number.
        main = projection.thread_of_tid(markers.tgid)
        threads = np.where(main >= 0, main, threads)
    elif kind in (Kind.ASYNC_BEGIN, Kind.ASYNC_END):
        leading.append((_COOKIE, markers.value))
    if phase in "GHN":
        leading.append((_TRACK, markers.track))
    other = (markers.tgid >= 0) & (markers.tgid != projection.pids_of(threads))
    projection.lose("marker-process-id", partition, rows=other)
    return partition.as_kind(kind, leading, without=frozenset({Role.MESSAGE}), thread=threads)
