"""Columns gathered from records: of integers, bytes, texts and arrays at their places."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from converter.formats.trace_cmd.event_format import EventFormat, Location
from converter.formats.trace_cmd.symbol_lookup import SymbolLookup
from converter.ir.columns import Column, ListColumn, take
from converter.ir.events import Table
from converter.ir.tables import Together
from converter.kernels.gather import Segments
from converter.kernels.strings import StringTable

#: Gives location and size of each record.
Locate = Callable[[], tuple[NDArray[np.int64], NDArray[np.uint32]]]


class Records:
    """The records of one event class in a batch: where they are, and how to read them.

    `locate` gives location (int64) and size (uint32) of each; it is asked once.
    """

    __slots__ = (
        "__weakref__",
        "_located",
        "big_endian",
        "count",
        "format",
        "locate",
        "long_size",
        "segments",
        "strings",
        "texts",
    )

    def __init__(
        self,
        count: int,
        locate: Locate,
        segments: Segments,
        strings: StringTable,
        *,
        big_endian: bool,
    ) -> None:
        self.count = count
        self.locate = locate
        self.segments = segments
        self.strings = strings
        self.big_endian = big_endian
        #: What their text is made with, where they have a format: the kernel's size of longs, and its texts by address.
        self.format: EventFormat | None = None
        self.long_size = 8
        self.texts: SymbolLookup | None = None
        self._located: tuple[NDArray[np.int64], NDArray[np.uint32]] | None = None

    @property
    def located(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Location and size of each record."""
        if self._located is None:
            self._located = self.locate()
        return self._located

    def gathered(self, integers: Integers) -> list[NDArray[Any]]:
        """The columns of integers."""
        return self.segments.gathered(
            *self.located, integers.places, self.big_endian, integers.dtypes
        )

    def select(self, rows: NDArray[np.integer[Any]]) -> Records:
        """Some of the records."""

        def locate() -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
            location, size = self.located
            return location[rows], size[rows]

        some = Records(
            len(rows),
            locate,
            self.segments,
            self.strings,
            big_endian=self.big_endian,
        )
        some.format, some.long_size, some.texts = self.format, self.long_size, self.texts
        return some

    def record(self, row: int) -> bytes:
        """The bytes of one record."""
        location, size = self.located
        offsets = np.array([0, size[row]], np.int64)
        data = np.empty(int(size[row]), np.uint8)
        self.segments.copy(location[row : row + 1], offsets, data)
        return data.tobytes()


class RecordTable(Table):
    """A table that knows the records that it is made of, while not all of its columns are."""

    __slots__ = ("_records",)

    def __init__(self, records: Records, columns: Sequence[Column | Callable[[], Column]]) -> None:
        super().__init__(records.count, columns)
        # A trace that is collected must not keep its file in memory beside its columns.
        self._records = weakref.ref(records)

    @property
    def records(self) -> Records | None:
        """The records, None when every column has been decoded."""
        return self._records()

    def select(self, rows: NDArray[np.integer[Any]]) -> Table:
        """The given rows, which know their records as long as this table does."""
        records = self.records
        if records is None:
            return super().select(rows)
        some = records.select(rows)

        def selected(index: int) -> Callable[[], Column]:
            # It keeps the records until it is decoded.
            def column(_records: Records = some) -> Column:
                return take(self.column(index), rows)

            return column

        return RecordTable(some, [selected(index) for index in range(self.width)])


class IntegerAt(NamedTuple):
    """An integer at a fixed place of the record."""

    offset: int
    width: int
    dtype: np.dtype[np.generic]

    def load(self, records: Records) -> Column:
        """The column."""
        return records.gathered(Integers((self,)))[0]


class BytesAt(NamedTuple):
    """Bytes at a fixed place (`length` -1: to the record's end), or where a data location leads."""

    offset: int
    length: int
    location: Location = Location.INLINE
    width: int = 4

    def spans(self, records: Records) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Location and size of each record's bytes."""
        location, size = records.located
        span = np.empty(records.count, np.int64)
        length = np.empty(records.count, np.int64)
        if self.location is Location.INLINE:
            records.segments.fixed_spans(location, size, self.offset, self.length, span, length)
        else:
            records.segments.dynamic_spans(
                location,
                size,
                self.offset,
                self.width,
                self.location is Location.REL_LOC,
                records.big_endian,
                span,
                length,
            )
        return span, length

    def copied(self, records: Records, multiple_of: int, *, until_nul: bool) -> ListColumn:
        """The bytes of each record, cut at the first NUL if asked, and to a multiple."""
        span, length = self.spans(records)
        offsets = np.empty(records.count + 1, np.int64)
        records.segments.measure(span, length, until_nul, multiple_of, offsets)
        values = np.empty(int(offsets[-1]), np.uint8)
        records.segments.copy(span, offsets, values)
        return ListColumn(offsets, values)

    def load(self, records: Records) -> Column:
        """The column of uninterpreted bytes."""
        return self.copied(records, 1, until_nul=False)


class StringAt(NamedTuple):
    """Text up to its first NUL: interned, or, where values hardly repeat, as bytes."""

    bytes: BytesAt
    interned: bool = True

    def load(self, records: Records) -> Column:
        """The column."""
        if not self.interned:
            return self.bytes.copied(records, 1, until_nul=True)
        ids = np.empty(records.count, np.int32)
        records.segments.intern(*self.bytes.spans(records), records.strings, ids)
        return ids


class ArrayAt(NamedTuple):
    """An array of integers, of `length` in each record if that is not None: what a record is too short for is zero."""

    bytes: BytesAt
    dtype: np.dtype[np.generic]
    length: int | None = None

    def load(self, records: Records) -> Column:
        """The column."""
        width = self.dtype.itemsize
        column = self.bytes.copied(records, width, until_nul=False)
        assert isinstance(column.values, np.ndarray)
        stored = self.dtype.newbyteorder("big" if records.big_endian else "little")
        values = column.values.view(stored).astype(self.dtype, copy=False)
        offsets = column.offsets // width
        if self.length is None or len(values) == records.count * self.length:
            return ListColumn(offsets, values)
        whole = np.zeros((records.count, self.length), self.dtype)
        whole[np.arange(self.length) < np.diff(offsets)[:, np.newaxis]] = values
        return ListColumn(np.arange(records.count + 1) * self.length, whole.reshape(-1))


class MissedCount:
    """The number of events that a page says were lost before it, -1 where the kernel did not store it."""

    def load(self, records: Records) -> Column:
        """The column."""
        location, size = records.located
        column = np.empty(records.count, np.int64)
        records.segments.missed_counts(location, size, records.big_endian, column)
        return column


class Gather(Protocol):
    """How the column of a field is made of records."""

    def load(self, records: Records) -> Column:
        """The column."""


class Integers:
    """Integers of a class that are gathered together: most of the time goes into fetching the records from memory."""

    __slots__ = ("dtypes", "places")

    def __init__(self, integers: Sequence[IntegerAt]) -> None:
        self.dtypes = [each.dtype for each in integers]
        places = [(each.offset, each.width) for each in integers]
        self.places = np.array(places, np.int64).reshape(len(places), 2)


class ClassGathers:
    """How all columns of a class are made: decided once a class, done once a batch."""

    __slots__ = ("_gathers", "_integers")

    def __init__(self, gathers: Sequence[Gather]) -> None:
        self._integers = Integers([each for each in gathers if isinstance(each, IntegerAt)])
        numbers = count()
        #: Each with its number among the integers.
        self._gathers = [
            (each, next(numbers) if isinstance(each, IntegerAt) else None) for each in gathers
        ]

    def table(
        self,
        length: int,
        locate: Locate,
        segments: Segments,
        strings: StringTable,
        *,
        big_endian: bool,
    ) -> RecordTable:
        """The table of so many records; its columns are gathered when asked for."""
        records = Records(length, locate, segments, strings, big_endian=big_endian)
        together = Together(partial(records.gathered, self._integers))
        integers = together.columns(len(self._integers.dtypes))
        return RecordTable(
            records,
            [
                partial(gather.load, records) if number is None else integers[number]
                for gather, number in self._gathers
            ],
        )
