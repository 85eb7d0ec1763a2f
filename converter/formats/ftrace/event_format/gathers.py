"""Columns gathered from records: integers, bytes, texts and arrays at their offsets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.event_format.record_tables import RecordColumns, Records
from converter.formats.ftrace.event_format.syntax import EventFormat, Location
from converter.formats.ftrace.symbol_lookup import SymbolLookup
from converter.ir.columns import Column, ListColumn


class IntegerAt(NamedTuple):
    """An integer at a fixed offset in the record."""

    offset: int
    width: int
    dtype: np.dtype[np.generic]

    def load(self, records: Records) -> Column:
        """Return the column."""
        column = np.empty(records.count, self.dtype)
        records.segments.integers(
            *records.located, self.offset, self.width, records.big_endian, column.view(np.uint8)
        )
        return column


class BytesAt(NamedTuple):
    """Bytes at a fixed offset (`length` -1: to the record's end), or at a data location."""

    offset: int
    length: int
    location: Location = Location.INLINE
    width: int = 4

    def spans(self, records: Records) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return location and size of each record's bytes."""
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

    @property
    def place(self) -> tuple[int, int, int, int]:
        """The location as `Segments.gathered_with_texts` expects it."""
        if self.location is Location.INLINE:
            return self.offset, self.length, 0, 0
        return self.offset, -1, self.width, self.location is Location.REL_LOC

    def copied(self, records: Records, multiple_of: int, *, until_nul: bool) -> ListColumn:
        """Return the bytes of each record, cut to a multiple and, if `until_nul`, at the first NUL."""
        span, length = self.spans(records)
        offsets = np.empty(records.count + 1, np.int64)
        records.segments.measure(span, length, until_nul, multiple_of, offsets)
        values = np.empty(int(offsets[-1]), np.uint8)
        records.segments.copy(span, offsets, values)
        return ListColumn(offsets, values)

    def load(self, records: Records) -> Column:
        """Return the column of uninterpreted bytes."""
        return self.copied(records, 1, until_nul=False)


class StringAt(NamedTuple):
    """Text up to its first NUL: interned by `columns_of` with the integers or, where values rarely repeat, bytes."""

    bytes: BytesAt
    interned: bool = True

    def load(self, records: Records) -> Column:
        """Return the column of bytes."""
        return self.bytes.copied(records, 1, until_nul=True)


class ArrayAt(NamedTuple):
    """An array of integers, `length` in each record if not None: elements after the record's end are zero."""

    bytes: BytesAt
    dtype: np.dtype[np.generic]
    length: int | None = None

    def load(self, records: Records) -> Column:
        """Return the column."""
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
        """Return the column."""
        location, size = records.located
        column = np.empty(records.count, np.int64)
        records.segments.missed_counts(location, size, records.big_endian, column)
        return column


class Gather(Protocol):
    """Builds the column of a field from records."""

    def load(self, records: Records) -> Column:
        """Return the column."""


def columns_of(
    gathers: Sequence[Gather],
    format: EventFormat | None = None,
    long_size: int = 8,
    texts: SymbolLookup | None = None,
) -> RecordColumns:
    """Return a function that builds the columns of a class, whose records may have a format.

    Integers and texts are gathered in one pass: fetching the records from memory takes most of the time.
    """
    integers = [gather for gather in gathers if isinstance(gather, IntegerAt)]
    interned = [gather for gather in gathers if isinstance(gather, StringAt) and gather.interned]
    number, text_number = count(), count(len(integers))
    sources = [
        next(number)
        if isinstance(gather, IntegerAt)
        else next(text_number)
        if isinstance(gather, StringAt) and gather.interned
        else gather.load
        for gather in gathers
    ]
    locations = [(gather.offset, gather.width) for gather in integers]
    text_places = [gather.bytes.place for gather in interned]
    return RecordColumns(
        np.array(locations, np.int64).reshape(len(locations), 2),
        np.array(text_places, np.int64).reshape(len(text_places), 4),
        [gather.dtype for gather in integers],
        sources,
        format,
        long_size,
        texts,
    )
