"""A prescan of an input: determines its time range, and the reference times that other inputs may also know.

Its batches are read once, decoding only the columns that are needed; afterwards its tables are complete.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, ListColumn
from converter.ir.events import Batch, EventClass, Field
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

#: The markers with which Chrome and Android record, in a kernel's trace, what other clocks show, and reference times
#: that other traces have recorded, too.
_MARK: Final = re.compile(
    rb"trace_event_clock_sync: *(?:(parent_ts|realtime_ts)=(\d{1,15}(?:\.\d{1,12})?)|name=(\S{1,200}))"
)
_SYNC_ID: Final = "sync_id"
_TEXTS: Final = frozenset({Role.NAME, Role.MESSAGE})
#: The maximum number of markers that are used; more would not relate a trace any better.
_MOST_MARKS: Final = 1000
#: Nanoseconds of the units that markers use: seconds of CLOCK_MONOTONIC, milliseconds since 1970.
_UNITS: Final = {b"parent_ts": 1_000_000_000, b"realtime_ts": 1_000_000}


@dataclass(slots=True)
class Survey:
    """The results of a prescan. Times are ticks of the input's clock."""

    events: int = 0
    first: int | None = None
    last: int = 0
    highest_cpu: int = -1
    #: The time of the first event that inputs are aligned by.
    aligned: int | None = None
    #: The reference times that the trace may share with others, by name.
    moments: dict[str, int] = field(default_factory=dict)
    #: What "monotonic" and "realtime" showed, in nanoseconds, and the tick at which they did.
    readings: dict[str, tuple[int, Fraction]] = field(default_factory=dict)


def survey(trace: Trace, align: str | None = None) -> Survey:
    """Scan all batches of a trace.

    Args:
        trace: any trace; its batches are read once.
        align: the event to look for: its name, "system:name", or the text of a marker.

    Raises:
        TraceError: as `Trace.batches` does.
    """
    found = Survey()
    wanted = None if align is None else _Wanted(trace, align)
    for batch in trace.batches():
        found.events += len(batch)
        _note_times(found, trace, batch)
        if len(batch):
            found.highest_cpu = max(found.highest_cpu, int(batch.cpu.max()))
        for number, table in batch.tables.items():
            if not len(table):
                continue
            event_class = trace.event_classes[number]
            _note_marks(found, trace, batch, number, event_class)
            if wanted is not None:
                at = wanted.first(batch, number, event_class)
                if at is not None and (found.aligned is None or at < found.aligned):
                    found.aligned = at
    return found


def _note_times(found: Survey, trace: Trace, batch: Batch) -> None:
    timed = np.array([event_class.timed for event_class in trace.event_classes], np.bool_)
    ts = batch.ts if timed.all() else batch.ts[timed[batch.class_id]]
    if len(ts):
        first, last = int(ts.min()), int(ts.max())
        found.last = last if found.first is None else max(found.last, last)
        found.first = first if found.first is None else min(found.first, first)


def _note_marks(
    found: Survey, trace: Trace, batch: Batch, number: int, event_class: EventClass
) -> None:
    """Record what events say about other clocks: JSON's clock_sync, and markers of the kernel."""
    if event_class.kind is Kind.CLOCK_SYNC:
        for index, one in enumerate(event_class.fields):
            if one.name == _SYNC_ID and isinstance(one.type, StringClass):
                texts = _texts(batch.tables[number].column(index), trace)
                for text, at in _first_of_each(texts, batch.ts[batch.positions(number)]):
                    _note_moment(found, text, at)
    elif event_class.kind is Kind.MARK:
        for index, one in enumerate(event_class.fields):
            if one.role is Role.MESSAGE:
                texts = _texts(batch.tables[number].column(index), trace, b"trace_event_clock_sync")
                for text, at in _first_of_each(texts, batch.ts[batch.positions(number)]):
                    _note_mark(found, text, at)


def _note_mark(found: Survey, text: bytes, at: int) -> None:
    mark = _MARK.search(text)
    if mark is None:
        return
    clock, value, name = mark.groups()
    if name is not None:
        _note_moment(found, name, at)
    else:
        known = "monotonic" if clock == b"parent_ts" else "realtime"
        found.readings.setdefault(known, (at, Fraction(value.decode()) * _UNITS[clock]))


def _note_moment(found: Survey, name: bytes, at: int) -> None:
    if len(found.moments) < _MOST_MARKS:
        found.moments.setdefault(name.decode("utf-8", "replace"), at)


#: The rows that have a text of interest, as pairs of a distinct text and its rows.
_Rows = list[tuple[bytes, NDArray[np.intp]]]


def _texts(column: Column, trace: Trace, part: bytes = b"") -> _Rows:
    """Return the distinct texts of a column that contain `part`, with their rows."""
    if isinstance(column, np.ndarray):
        ids, rows = np.unique(column, return_inverse=True)
        texts = [trace.strings[id] for id in ids.tolist()]
        return [
            (text, np.flatnonzero(rows == index))
            for index, text in enumerate(texts)
            if part in text
        ]
    if not isinstance(column, ListColumn) or not isinstance(column.values, np.ndarray):
        return []
    start, end = int(column.offsets[0]), int(column.offsets[-1])
    everything = column.values[start:end].tobytes()
    found: dict[bytes, list[int]] = {}
    if not part:
        for row in range(min(len(column), _MOST_MARKS)):
            text = everything[
                int(column.offsets[row]) - start : int(column.offsets[row + 1]) - start
            ]
            found.setdefault(text, []).append(row)
        return [(text, np.array(rows, np.intp)) for text, rows in found.items()]
    # Search for the part itself instead of looking at every text of a log.
    at = everything.find(part)
    while at >= 0 and len(found) < _MOST_MARKS:
        row = int(np.searchsorted(column.offsets, at + start, side="right")) - 1
        text = everything[int(column.offsets[row]) - start : int(column.offsets[row + 1]) - start]
        if part in text:
            found.setdefault(text, []).append(row)
        at = everything.find(part, max(int(column.offsets[row + 1]) - start, at + 1))
    return [(text, np.array(rows, np.intp)) for text, rows in found.items()]


def _first_of_each(rows: _Rows, ts: NDArray[np.int64]) -> list[tuple[bytes, int]]:
    return [(text, int(ts[positions].min())) for text, positions in rows]


class _Wanted:
    """The event that inputs are aligned by."""

    def __init__(self, trace: Trace, align: str) -> None:
        self._trace = trace
        self._align = align
        self._text = align.encode("utf-8", "surrogateescape")

    def first(self, batch: Batch, number: int, event_class: EventClass) -> int | None:
        """Return the time of its first occurrence among the events of a class of a batch."""
        ts = batch.ts[batch.positions(number)]
        name, system = event_class.name, event_class.category
        if name and self._align in (name, f"{system}:{name}"):
            return int(ts.min())
        times = [
            at
            for index, one in enumerate(event_class.fields)
            if self._may_name(one)
            for text, at in _first_of_each(
                _texts(batch.tables[number].column(index), self._trace, self._text), ts
            )
            if text.strip(b"\0 \n") == self._text
        ]
        return min(times, default=None)

    def _may_name(self, one: Field) -> bool:
        return isinstance(one.type, StringClass) and one.role in _TEXTS
