"""Restores a trace from the rows that were made of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from converter.analysis.arrow.arrays import TEXT, arrow_type
from converter.analysis.arrow.buffers import array_of, numbers
from converter.analysis.arrow.restored import restored
from converter.errors import TraceError, note
from converter.formats.columnar.files import errors_of
from converter.formats.columnar.layout import CLASS, THREAD, TICKS, TRACK, About
from converter.formats.columnar.stored import Group, Stored
from converter.formats.ir.layout import rows_in_order
from converter.ir.columns import Column
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.kinds import TICK_ROLES
from converter.ir.trace import Narrowed, Trace
from converter.storage.source import Source

_MAX_CPU = 1 << 31


class Places(NamedTuple):
    """The threads, tracks and CPUs of events, as numbers; -1 for none."""

    thread: NDArray[np.int32]
    track: NDArray[np.int32]
    cpu: NDArray[np.int32]


class OwnRows:
    """Converts rows to batches of the trace.

    Raises:
        TraceError: the tables do not have the classes of the rows.
    """

    def __init__(self, trace: Trace, about: About, source: Source, format: str) -> None:
        self.trace = trace
        self._about = about
        self._source = source
        self._format = format
        #: The column with the time in ticks.
        self.time = TICKS if about.has_ticks else "ts"
        #: The classes whose events are wanted.
        self.wanted = set(about.columns)
        for number, names in about.columns.items():
            if number >= len(trace.event_classes) or len(names) != len(
                trace.event_classes[number].fields
            ):
                raise TraceError(field="columns", expected="a column for each field of a class")

    def leave_out(self, wanted: Callable[[EventClass], bool]) -> bool:
        """Skip the events of classes that are not wanted; return True if there are any."""
        classes = self.trace.event_classes
        left = {number for number in self.wanted if wanted(classes[number])}
        changed = left != self.wanted
        self.wanted = left
        return changed

    @property
    def is_part(self) -> bool:
        """True if some classes are skipped."""
        return len(self.wanted) < len(self._about.columns)

    def columns(self, classes: Collection[int] | None = None) -> list[str]:
        """Return the columns that are read, of all wanted classes or of some."""
        chosen = self.wanted if classes is None else classes
        fields = [name for number in sorted(chosen) for name in self._about.columns[number]]
        return list(dict.fromkeys([self.time, "cpu", CLASS, THREAD, TRACK, *fields]))

    def batch(self, rows: pa.RecordBatch) -> Batch:
        """Return the batch of these rows."""
        class_id = self._numbers(rows, CLASS, 0, len(self.trace.event_classes))
        if self.is_part:
            keep = np.isin(class_id, list(self.wanted))
            if not keep.all():
                rows, class_id = rows.filter(array_of(keep)), class_id[keep]
        tables = {}
        for number in np.flatnonzero(np.bincount(class_id)).tolist():
            at = np.flatnonzero(class_id == number)
            tables[number] = self.table(number, rows, at)
        places = self.places(rows)
        return Batch(
            ts=self.times(rows),
            class_id=class_id,
            row=rows_in_order(class_id),
            tables=tables,
            thread=places.thread,
            cpu=places.cpu,
            track=places.track,
        )

    def times(self, rows: pa.RecordBatch) -> NDArray[np.int64]:
        """Return the times of rows."""
        times = rows.column(self.time)
        if times.null_count:
            raise TraceError(field=self.time, expected="a time for each event")
        kind = times.type
        if pa.types.is_duration(kind):
            times = times.cast(pa.duration("ns")).view(pa.int64())
        return numbers(times.cast(pa.int64()))

    def places(self, rows: pa.RecordBatch) -> Places:
        """Return the threads, tracks and CPUs of rows."""
        return Places(
            thread=self._numbers(rows, THREAD, -1, len(self.trace.threads)),
            track=self._numbers(rows, TRACK, -1, len(self.trace.tracks)),
            cpu=self._numbers(rows, "cpu", -1, _MAX_CPU),
        )

    def _numbers(self, rows: pa.RecordBatch, name: str, low: int, end: int) -> NDArray[np.int32]:
        column = rows.column(name).cast(pa.int64())
        found = numbers(column, null=-1)
        if len(found) and (int(found.min()) < low or int(found.max()) >= end):
            raise TraceError(field=name, expected=f"numbers from {low} to {end - 1}")
        return found.astype(np.int32)

    def table(
        self, number: int, rows: pa.RecordBatch, positions: NDArray[np.int64] | None
    ) -> Table:
        """Return the table of a class, whose events are at these positions, or all rows."""
        names = self._about.columns.get(number)
        if names is None:
            raise TraceError(field=CLASS, expected="a class that occurs", found=number)
        if positions is not None and len(positions) == rows.num_rows:
            positions = None
        fields = self.trace.event_classes[number].fields
        count = rows.num_rows if positions is None else len(positions)
        columns = [
            partial(self._column, rows, name, positions, field)
            for name, field in zip(names, fields, strict=True)
        ]
        return Table(count, columns)

    def _column(
        self, rows: pa.RecordBatch, name: str, positions: NDArray[np.int64] | None, field: Field
    ) -> Column:
        with errors_of(self._source, self._format):
            try:
                array = rows.column(name)
                if positions is not None:
                    array = array.take(array_of(positions))
                expected = arrow_type(field.type, exact=True)
                if pa.types.is_duration(array.type) and field.role in TICK_ROLES:
                    array = _with_width(array.view(pa.int64()), expected)
                elif expected not in (array.type, TEXT):
                    array = array.cast(expected)
                return restored(field.type, array, self.trace.strings)
            except TraceError as error:
                raise error.within(field=name) from None


def _with_width(array: pa.Array, expected: pa.DataType) -> pa.Array:
    """Return 64-bit durations as they were, signed or unsigned."""
    return array.view(expected) if expected.bit_width == 64 else array.cast(expected)


class OwnTable:
    """A file with the events of all classes."""

    def __init__(
        self, stored: Stored, about: About, trace: Trace, source: Source, format: str
    ) -> None:
        self._stored = stored
        self._rows = OwnRows(trace, about, source, format)
        self._about = about
        self._source = source
        self._format = format
        self._groups: list[Group] | None = None
        self._done = 0
        check_columns(stored.schema, self._rows.columns())
        trace.make_batches = trace.source_batches = self._batches
        trace.progress = lambda: (self._done, about.events)
        trace.leave_out = self._rows.leave_out
        if stored.groups(self._rows.time):
            trace.seeking = GroupSeeking(trace, self._all_groups, self._narrow)

    def _all_groups(self) -> list[Group]:
        return self._stored.groups(self._rows.time)

    def _narrow(self, wanted: Callable[[Group], bool]) -> None:
        self._groups = [group for group in self._all_groups() if wanted(group)]

    def _batches(self) -> Iterator[Batch]:
        rows = self._stored.batches(self._rows.columns(), self._groups)
        self._done = 0
        while True:
            try:
                with errors_of(self._source, self._format):
                    found = next(rows, None)
                    if found is None:
                        break
                    found.validate(full=True)
                    batch = self._rows.batch(found)
            except TraceError as error:
                if not self._done:
                    raise
                warn(self._rows.trace, error)
                return
            self._done += found.num_rows
            yield batch
        if self._groups is None and self._done != self._about.events:
            missing = TraceError(
                expected=f"{self._about.events} events",
                found=self._done,
                format=self._format,
                path=self._source.name,
            )
            warn(self._rows.trace, missing)


class GroupSeeking:
    """Finds groups of rows by the statistics of their times."""

    def __init__(
        self,
        trace: Trace,
        groups: Callable[[], list[Group]],
        narrow: Callable[[Callable[[Group], bool]], None],
    ) -> None:
        self._trace = trace
        self._groups = groups
        self._narrow = narrow

    def first(self) -> int | None:
        """Return the time of the first event."""
        known = self._bounds("first")
        return min(known, default=None)

    def last(self) -> int | None:
        """Return the time of the last event."""
        known = self._bounds("last")
        return max(known, default=None)

    def _bounds(self, which: str) -> list[int]:
        """Return None if a group does not say, or has events that have no time."""
        found = [getattr(group, which) for group in self._groups()]
        timed = all(event_class.timed for event_class in self._trace.event_classes)
        return found if timed and None not in found else []

    def narrow(self, start: int, end: int) -> Narrowed:
        """Skip groups of other times."""

        def wanted(group: Group) -> bool:
            if group.first is None or group.last is None:
                return True
            return group.last >= start and group.first <= end

        groups = self._groups()
        left_out = [group for group in groups if not wanted(group)]
        self._narrow(wanted)
        has_later = any(group.first is not None and group.first > end for group in left_out)
        return Narrowed(bool(left_out), has_later)


def check_columns(schema: pa.Schema, names: Sequence[str]) -> None:
    """Check that a file has the columns that it declares, each once.

    Raises:
        TraceError: it lacks one.
    """
    for name in names:
        if len(schema.get_all_field_indices(name)) != 1:
            raise TraceError(expected=f"a column {name!r}", found=columns_of(schema))


def columns_of(schema: pa.Schema) -> str:
    """Return the columns of a file, for messages."""
    return ", ".join(f"{field.name} ({field.type})" for field in schema) or "none"


def warn(trace: Trace, error: TraceError) -> None:
    """Add a warning to a trace, once."""
    note(trace.warnings, error.to_warning())
