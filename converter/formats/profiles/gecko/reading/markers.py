"""Markers of a thread as batches: their data are arguments, in classes by the names and types of these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.profiles.gecko.layout import OWN, OWN_TRACK, MarkerPhase
from converter.formats.profiles.gecko.mapping import KINDS, marker_fields
from converter.formats.profiles.gecko.reading.document import Own
from converter.formats.profiles.gecko.reading.tables import (
    columns,
    numbers_of,
    padded,
    times_of,
    values_at,
)
from converter.formats.profiles.gecko.reading.values import class_of_value, column_of
from converter.ir.columns import Column, StructColumn
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import FieldClass, StructureClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace, Track, TrackScope
from converter.limits import limit
from converter.projection.timeline_fields import JSON_TEXT

_BATCH_SIZE: Final = 1 << 14
#: The argument of data that are no object, and of all data once there are too many classes.
_DATA: Final = "data"
#: How many shapes of data have classes of their own.
_SHAPES: Final = 1 << 12

_Shape = tuple[tuple[str, FieldClass], ...]


class MarkerClasses:
    """The classes of all markers of a profile, by kind and by the names and types of their data."""

    def __init__(self, trace: Trace, own: Own | None) -> None:
        self._trace = trace
        self._numbers: dict[tuple[Kind, _Shape], int] = {}
        #: By the number of a class: the names of its fields in data.
        self.keys: dict[int, list[Any]] = {}
        self._own: list[int] = []
        if own is not None:
            for event_class, keys in zip(own.classes, own.keys, strict=True):
                if event_class is not None and _is_marker(event_class):
                    number = trace.add_class(event_class)
                    self.keys[number] = keys
                    self._own.append(number)
                else:
                    self._own.append(-1)

    def own(self, number: Any, kind: Kind) -> int:
        """Return the class that a marker of a file of this project has; -1 if it is not one of its kind."""
        if type(number) is int and 0 <= number < len(self._own):
            found = self._own[number]
            if found >= 0 and self._trace.event_classes[found].kind is kind:
                return found
        return -1

    def of(self, kind: Kind, data: Any) -> int:
        """Return the class of a marker with these data."""
        shape = _shape_of(data)
        number = self._numbers.get((kind, shape))
        if number is None:
            if len(self._numbers) >= min(_SHAPES, limit("classes") - 8) and len(shape) > 0:
                shape = ((_DATA, JSON_TEXT),)
                if (kind, shape) in self._numbers:
                    return self._numbers[kind, shape]
            standard = marker_fields(kind)
            fields = (*standard, *(Field(name, held) for name, held in shape))
            number = self._trace.add_class(EventClass(kind, fields=fields))
            self._numbers[kind, shape] = number
            is_whole = shape == ((_DATA, JSON_TEXT),) or not isinstance(data, dict)
            names: list[Any] = [None] if is_whole else [name for name, _ in shape]
            self.keys[number] = [*[None] * len(standard), *names][: len(fields)]
        return number


def _is_marker(event_class: EventClass) -> bool:
    """Return True for classes of markers, whose first fields are those of the table."""
    standard = marker_fields(event_class.kind)
    return event_class.kind in KINDS.values() and event_class.fields[: len(standard)] == standard


def _shape_of(data: Any) -> _Shape:
    if isinstance(data, dict):
        return tuple([(name, class_of_value(value)) for name, value in data.items()])
    return () if data is None else ((_DATA, class_of_value(data)),)


@dataclass(frozen=True, slots=True)
class Markers:
    """The markers of a thread: columns of the table that are valid, and the thread or the tracks that they are on."""

    kind: list[Kind]
    ts: NDArray[np.int64]
    duration: NDArray[np.int64]
    #: Strings of the trace.
    name: NDArray[np.int32]
    category: NDArray[np.int32]
    data: list[Any]
    #: Of a file of this project: the numbers of classes, and tracks.
    own_class: list[Any]
    track: NDArray[np.int64]

    def batches(self, classes: MarkerClasses, tracks: MarkerTracks, thread: int) -> Iterator[Batch]:
        """Yield the markers in batches."""
        for first in range(0, len(self.ts), _BATCH_SIZE):
            yield self._batch(slice(first, first + _BATCH_SIZE), classes, tracks, thread)

    def _batch(
        self, window: slice, classes: MarkerClasses, tracks: MarkerTracks, thread: int
    ) -> Batch:
        data, kinds = self.data[window], self.kind[window]
        if self.own_class:
            numbers = [
                classes.own(number, kind)
                for number, kind in zip(self.own_class[window], kinds, strict=True)
            ]
            if -1 in numbers:
                raise TraceError(
                    format="gecko", field=f"markers.{OWN}", expected="a class of the kind"
                )
        else:
            numbers = [classes.of(kind, one) for kind, one in zip(kinds, data, strict=True)]
        class_id = np.array(numbers, np.int32)
        row = np.zeros(len(class_id), np.int32)
        tables = {}
        for number in np.unique(class_id).tolist():
            at = np.flatnonzero(class_id == number)
            row[at] = np.arange(len(at), dtype=np.int32)
            rows = [data[index] for index in at.tolist()]
            tables[number] = self._table(number, window, at, rows, classes, tracks.trace)
        track = tracks.of(thread, self.name[window], self.track[window], own=bool(self.own_class))
        return Batch(
            ts=self.ts[window],
            class_id=class_id,
            row=row,
            tables=tables,
            # What is on a track of a thread is on the thread.
            thread=np.where(track >= 0, np.int32(-1), np.int32(thread)),
            track=track,
        )

    def _table(
        self,
        number: int,
        window: slice,
        at: NDArray[np.int64],
        data: list[Any],
        classes: MarkerClasses,
        trace: Trace,
    ) -> Table:
        event_class, keys = trace.event_classes[number], classes.keys[number]
        standard: dict[Role, NDArray[Any]] = {
            Role.NAME: self.name,
            Role.CATEGORY: self.category,
            Role.DURATION: self.duration,
        }
        made: list[Any] = []
        for index, (field, key) in enumerate(zip(event_class.fields, keys, strict=True)):
            found = standard.get(field.role)
            if found is not None and index < len(marker_fields(event_class.kind)):
                made.append(found[window][at])
            else:
                made.append(partial(_column, data, key, field.type, trace))
        return Table(len(at), made)


def _column(data: list[Any], key: Any, held: FieldClass, trace: Trace) -> Column:
    """Return the values of a field: all data if there is no name for it, or its parts."""
    if isinstance(key, list) and isinstance(held, StructureClass):
        if len(key) != len(held.members):
            raise TraceError(format="gecko", field=OWN, expected="the parts of a structure")
        parts = zip(key, held.members, strict=True)
        return StructColumn(
            len(data), tuple(_column(data, inner, member.type, trace) for inner, member in parts)
        )
    if not isinstance(key, str | None):
        raise TraceError(format="gecko", field=OWN, expected="the name of a field")
    values = data
    if key is not None:
        values = [one.get(key) if isinstance(one, dict) else None for one in data]
    return column_of(values, held, trace.strings)


class MarkerTracks:
    """A track for each thread and marker name, as viewers have them: markers of different names overlap."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._tracks: dict[tuple[int, int], int] = {}

    def of(
        self, thread: int, names: NDArray[np.int32], track: NDArray[np.int64], *, own: bool
    ) -> NDArray[np.int32]:
        """Return the track of each marker of a thread; files of this project say it."""
        if own:
            return np.where(track < len(self.trace.tracks), track, -1).astype(np.int32)
        found, which = np.unique(names, return_inverse=True)
        numbers = [self._track(thread, name) for name in found.tolist()]
        return np.array(numbers, np.int32)[which.reshape(-1)]

    def _track(self, thread: int, name: int) -> int:
        if thread < 0 or not name:
            return -1
        if (thread, name) not in self._tracks:
            text = self.trace.strings[name].decode("utf-8", "surrogateescape")
            self._tracks[thread, name] = len(self.trace.tracks)
            self.trace.tracks.append(Track(text, TrackScope.THREAD, thread))
        return self._tracks[thread, name]


def markers_of(
    table: dict[str, Any],
    names: NDArray[np.int64],
    categories: NDArray[np.int32],
    later: float,
    stacks: Any,
) -> tuple[Markers | None, int]:
    """Return the markers of a table, if there are any, and how many are not in the form of the table.

    Args:
        table: the columns.
        names: by index: strings of the trace.
        categories: by index: strings of the trace.
        later: what is added to times, in milliseconds.
        stacks: returns the names of the functions of a stack, by its number.

    """
    name, start, end, phase, category, data, own_class, track = columns(
        table, "name", "startTime", "endTime", "phase", "category", "data", OWN, OWN_TRACK
    )
    if not start and not phase:
        (time,) = columns(table, "time")
        start, end, phase = _older(time, padded(data, len(name)))
    count = min(map(len, (name, start, end, phase)))
    skipped = max(map(len, (name, start, end, phase))) - count
    index, phases = numbers_of(name[:count]), numbers_of(phase[:count])
    starts, has_start = times_of([0 if one is None else one for one in start[:count]], later)
    ends, has_end = times_of([0 if one is None else one for one in end[:count]], later)
    is_end, is_interval = phases == MarkerPhase.INTERVAL_END, phases == MarkerPhase.INTERVAL
    known = (index >= 0) & (index < len(names)) & (phases >= 0) & (phases < len(KINDS))
    known &= np.where(is_end, has_end, has_start) & (~is_interval | has_end)
    rows = np.flatnonzero(known).tolist()
    skipped += count - len(rows)
    if not rows:
        return None, skipped
    of_category = numbers_of(padded(category, count))
    lengths = np.where(is_interval, np.maximum(ends.astype(object) - starts, 0), 0)
    found = padded(data, count)
    own = padded(own_class, count) if own_class else []
    return (
        Markers(
            [KINDS[MarkerPhase(one)] for one in phases[known].tolist()],
            np.where(is_end, ends, starts)[known],
            np.array([min(one, (1 << 63) - 1) for one in lengths[known]], np.int64),
            names[index[known]].astype(np.int32),
            values_at(categories, of_category[known]).astype(np.int32),
            [found[row] if own else _with_stack(found[row], stacks) for row in rows],
            [own[row] for row in rows] if own else [],
            numbers_of(padded(track, count))[known],
        ),
        skipped,
    )


def _older(time: list[Any], data: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return start, end and phase of markers of profiles that have one time for each."""
    phases = {"start": MarkerPhase.INTERVAL_START, "end": MarkerPhase.INTERVAL_END}
    phase = [
        phases.get(str(one.get("interval")), MarkerPhase.INSTANT)
        if isinstance(one, dict)
        else MarkerPhase.INSTANT
        for one in data[: len(time)]
    ]
    return time, time, [int(one) for one in padded(phase, len(time)) if one is not None]


def _with_stack(data: Any, stacks: Any) -> Any:
    """Return data with the functions of a stack in place of its number, which only the file's tables explain."""
    if not isinstance(data, dict):
        return data
    cause = data.get("cause")
    if isinstance(cause, dict) and type(cause.get("stack")) is int:
        data = {**data, "cause": {**cause, "stack": stacks(cause["stack"])}}
    if type(data.get("stack")) is int:
        data = {**data, "stack": stacks(data["stack"])}
    return data
