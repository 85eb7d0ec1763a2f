"""Reads a directory with files for each class of events, and restores the trace's order of events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from converter.analysis.arrow.buffers import numbers
from converter.errors import TraceError
from converter.formats.columnar.files import errors_of
from converter.formats.columnar.layout import EVENT, About, about_of, unpacked_tables
from converter.formats.columnar.own import GroupSeeking, OwnRows, check_columns, warn
from converter.formats.columnar.parquet import ABOUT_FILE, TABLES_FILE
from converter.formats.columnar.parquet.stored import Footer, ParquetFile
from converter.formats.columnar.stored import Group
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.storage.source import Source

#: The files of a class, by its number.
_FILE: Final = re.compile(r"event=[^/]*/(\d{1,9})\.(\d{1,9})\.parquet")
_FORMAT: Final = "parquet"


def read_dataset(source: Source) -> Trace:
    """Return the trace in a directory.

    Raises:
        TraceError: it is damaged.

    """
    with source.open(ABOUT_FILE) as file:
        about = about_of(file.read(0, file.size))
    if about is None:
        raise TraceError(field=ABOUT_FILE, expected="what the directory holds")
    with source.open(TABLES_FILE) as file:
        trace = unpacked_tables(file.read(0, file.size))
    _Dataset(source, about, trace)
    return trace


class _Dataset:
    def __init__(self, source: Source, about: About, trace: Trace) -> None:
        self._source = source
        self._about = about
        self._trace = trace
        self._rows = OwnRows(trace, about, source, _FORMAT)
        self._files: dict[int, list[tuple[int, str]]] = {number: [] for number in about.columns}
        for name in source.walk():
            found = _FILE.fullmatch(name)
            if found is not None and int(found[1]) in self._files:
                self._files[int(found[1])].append((int(found[2]), name))
        self._footers: dict[str, Footer] = {}
        self._wanted: Callable[[Group], bool] | None = None
        self._done = 0
        trace.make_batches = trace.source_batches = self._batches
        trace.progress = lambda: (self._done, about.events)
        trace.leave_out = self._rows.leave_out
        trace.seeking = GroupSeeking(trace, self._groups, self._narrow)

    def _groups(self) -> list[Group]:
        """Return the row groups of all files."""
        found = []
        for number in sorted(self._rows.wanted):
            for _, name in self._files[number]:
                with self._source.open(name) as source, errors_of(source, _FORMAT):
                    found += self._opened(name, source).groups(self._rows.time)
        return found

    def _opened(self, name: str, source: Source) -> ParquetFile:
        """Return a file; its footer is read once."""
        stored = ParquetFile(source, self._footers.get(name))
        self._footers[name] = stored.footer
        return stored

    def _narrow(self, wanted: Callable[[Group], bool]) -> None:
        self._wanted = wanted

    def _batches(self) -> Iterator[Batch]:
        self._done = 0
        streams = [_Stream(number, self._rows_of(number)) for number in sorted(self._rows.wanted)]
        while True:
            try:
                with errors_of(self._source, _FORMAT):
                    batch = self._next(streams)
            except TraceError as error:
                if not self._done:
                    raise
                warn(self._trace, error)
                return
            if batch is None:
                break
            self._done += len(batch)
            yield batch
        is_all = self._wanted is None and not self._rows.is_part
        if is_all and self._done != self._about.events:
            missing = TraceError(
                expected=f"{self._about.events} events",
                found=self._done,
                format=_FORMAT,
                path=self._source.name,
            )
            warn(self._trace, missing)

    def _rows_of(self, number: int) -> Iterator[pa.RecordBatch]:
        columns = [*self._rows.columns([number]), EVENT]
        for _, name in sorted(self._files[number]):
            with self._source.open(name) as source:
                stored = self._opened(name, source)
                check_columns(stored.schema, columns)
                groups = None
                if self._wanted is not None:
                    groups = list(filter(self._wanted, stored.groups(self._rows.time)))
                for rows in stored.batches(columns, groups):
                    rows.validate(full=True)
                    yield rows

    def _next(self, streams: list[_Stream]) -> Batch | None:
        """Return the next events: as many as are known of all classes."""
        streams[:] = [stream for stream in streams if stream.fill()]
        if not streams:
            return None
        last = min(stream.last for stream in streams)
        tables, parts = {}, []
        for stream in streams:
            events, rows = stream.until(last)
            if rows.num_rows:
                tables[stream.number] = self._rows.table(stream.number, rows, None)
                parts.append((stream.number, events, rows))
        order = np.argsort(np.concatenate([events for _, events, _ in parts]), kind="stable")
        lengths = [rows.num_rows for _, _, rows in parts]
        places = [self._rows.places(rows) for _, _, rows in parts]
        return Batch(
            ts=np.concatenate([self._rows.times(rows) for _, _, rows in parts])[order],
            class_id=np.repeat(np.array([number for number, _, _ in parts], np.int32), lengths)[
                order
            ],
            row=np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])[order],
            tables=tables,
            thread=np.concatenate([one.thread for one in places])[order],
            cpu=np.concatenate([one.cpu for one in places])[order],
            track=np.concatenate([one.track for one in places])[order],
        )


class _Stream:
    """The rows of a class; some are held until those of other classes have been read."""

    def __init__(self, number: int, rows: Iterator[pa.RecordBatch]) -> None:
        self.number = number
        self._rows = rows
        self._held: pa.RecordBatch | None = None
        self._events: NDArray[np.int64] = np.zeros(0, np.int64)

    def fill(self) -> bool:
        """Read rows unless there are some; return False at the end."""
        while not len(self._events):
            self._held = next(self._rows, None)
            if self._held is None:
                return False
            before = self._events
            self._events = numbers(self._held.column(EVENT).cast(pa.int64()), null=-1)
            if (np.diff(self._events, prepend=before[-1:]) <= 0).any():
                raise TraceError(field=EVENT, expected="growing numbers")
        return True

    @property
    def last(self) -> int:
        """The number of the last event that is held."""
        return int(self._events[-1])

    def until(self, last: int) -> tuple[NDArray[np.int64], pa.RecordBatch]:
        """Return and release the held events up to the number `last`."""
        assert self._held is not None
        count = int(np.searchsorted(self._events, last, "right"))
        events, rows = self._events[:count], self._held.slice(0, count)
        self._events, self._held = self._events[count:], self._held.slice(count)
        return events, rows
