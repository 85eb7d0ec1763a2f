"""The columns of a batch: names and values, sorted by class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from converter.formats.uftrace.arguments.shown_values import SymbolNames, texts
from converter.formats.uftrace.reading.functions import ClassColumns, Place
from converter.formats.uftrace.reading.kernels.scan_values import gather_words
from converter.formats.uftrace.task_records import CallTable, TaskTable, located
from converter.ir.columns import Column, ListColumn, NullColumn
from converter.ir.events import EventClass, Table
from converter.ir.field_classes import (
    BooleanClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    NullClass,
)
from converter.ir.kinds import Kind
from converter.kernels.batches.gather import Segments
from converter.kernels.batches.order import group_by_class

#: The bytes that old recorders wrote for a null pointer instead of a text.
_OLD_NULL = b"\xff\xff\xff\xff"
_NULL = b"NULL"
_CALLS = frozenset({Kind.SLICE_BEGIN, Kind.SLICE_END})


class BatchValues:
    """The results of a scan, in stream order, sorted by class; `values` are the words of all events that have some.

    Sorting happens immediately, on the scanning thread, which has more time than the one that requests columns. Of the
    arguments only `values` and `segments` are kept.

    Args:
        class_id, row: int32, of each event.
        counts: int32, rows of each class.
        name, category: int32 ids.
        first: int64, the start of an event's words, or the location of its payload.
        size: uint32, of its payload; for calls and returns the depth of the record plus 1, or 0.
        values: uint64.
        segments: the buffers that locations are in.
        names: the names of symbols at addresses.
        records: int64 and uint32, location and length of each event's record; None where nobody wants them.
        replace_nulls: True if texts may be null pointers.

    """

    def __init__(
        self,
        class_id: NDArray[np.int32],
        row: NDArray[np.int32],
        counts: NDArray[np.int32],
        name: NDArray[np.int32],
        category: NDArray[np.int32],
        first: NDArray[np.int64],
        size: NDArray[np.uint32],
        values: NDArray[np.uint64],
        segments: Segments,
        names: SymbolNames,
        records: tuple[NDArray[np.int64], NDArray[np.uint32]] | None,
        *,
        replace_nulls: bool,
    ) -> None:
        self._counts = counts
        self._values = values
        self.segments = segments
        self._symbol_names = names
        self._replace_nulls = replace_nulls
        self._bases = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=self._bases[1:])
        self._names = np.empty_like(name), np.empty_like(category)
        group_by_class(class_id, row, self._bases[:-1], name, category, *self._names)
        self._payloads = np.empty_like(first), np.empty_like(size)
        group_by_class(class_id, row, self._bases[:-1], first, size, *self._payloads)
        self._records: tuple[NDArray[np.int64], NDArray[np.uint32]] | None = None
        if records is not None:
            self._records = np.empty_like(records[0]), np.empty_like(records[1])
            group_by_class(class_id, row, self._bases[:-1], *records, *self._records)
        self._words: dict[int, NDArray[np.uint64]] = {}

    def _here(self, id: int) -> slice:
        return slice(int(self._bases[id]), int(self._bases[id + 1]))

    def located(self, id: int) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return location and size of the payloads of a class."""
        first, size = self._payloads
        return first[self._here(id)], size[self._here(id)]

    def words(self, id: int, count: int) -> NDArray[np.uint64]:
        """Return the words of a class, of shape (words, events)."""
        if id not in self._words:
            words = np.empty((count, int(self._counts[id])), np.uint64)
            gather_words(self._values, self.located(id)[0], words)
            self._words[id] = words
        return self._words[id]

    def table(self, id: int, event_class: EventClass, columns: ClassColumns) -> Table:
        """Return the table of a class; its columns are decoded lazily."""
        lazy_columns: list[Column | Callable[[], Column]] = []
        fields = event_class.fields
        for number, (location, word) in enumerate(columns.places):
            if location is Place.TEXT:
                lazy_columns.append(self._texts(lazy_columns[number - 1], fields[number - 1].type))
            else:
                lazy_columns.append(
                    self._column(id, fields[number].type, location, word, columns.words)
                )
        records = None if self._records is None else lambda: self._records_of(id)
        if event_class.kind not in _CALLS:
            return TaskTable(int(self._counts[id]), lazy_columns, records)
        depths, names = self._payloads[1][self._here(id)], self._names[0][self._here(id)]
        return CallTable(lazy_columns, depths, names, columns.formats, self._symbol_names, records)

    def _records_of(self, id: int) -> ListColumn:
        assert self._records is not None
        span, length = self._records
        here = self._here(id)
        return located(self.segments, span[here], length[here].astype(np.int64))

    def _texts(
        self, values: Column | Callable[[], Column], held: FieldClass
    ) -> Callable[[], Column]:
        return lambda: texts(values() if callable(values) else values, held, self._symbol_names)

    def _column(
        self, id: int, held: FieldClass, location: Place, word: int, words: int
    ) -> Callable[[], Column]:
        match location:
            case Place.NAME:
                return lambda: self._names[0][self._here(id)]
            case Place.CATEGORY:
                return lambda: self._names[1][self._here(id)]
            case Place.STRING:
                return lambda: self.words(id, words)[word].astype(np.int32)
            case Place.SPAN if not isinstance(held, NullClass):
                return lambda: self._spans(self.words(id, words), word)
            case _:
                return lambda: _scalar(self.words(id, words)[word], held)

    def _spans(self, words: NDArray[np.uint64], word: int) -> ListColumn:
        """Return the texts or bytes whose location and length are two words."""
        span, size = words[word].view(np.int64), words[word + 1].view(np.int64)
        column = located(self.segments, span, size)
        if self._replace_nulls:
            _replace_old_nulls(column, size)
        return column


def _replace_old_nulls(column: ListColumn, size: NDArray[np.int64]) -> None:
    values = column.values
    assert isinstance(values, np.ndarray)
    starts = column.offsets[:-1][size == len(_OLD_NULL)]
    if not len(starts):
        return
    offsets = starts[:, np.newaxis] + np.arange(len(_OLD_NULL))
    null = (values[offsets] == np.frombuffer(_OLD_NULL, np.uint8)).all(axis=1)
    values[offsets[null]] = np.frombuffer(_NULL, np.uint8)


def _scalar(words: NDArray[np.uint64], held: FieldClass) -> Column:
    match held:
        case NullClass():
            return NullColumn(len(words))
        case BooleanClass():
            true: NDArray[np.bool_] = (words & np.uint64(0xFF)) != 0
            return true
        case FloatClass(bits):
            if bits == 64:
                return words.view(np.float64)
            return words.astype(np.uint32).view(np.float32)
        case IntegerClass():
            # Modulo 2^bits, as the words were extended from values of this size.
            unsigned = np.dtype(f"u{held.dtype.itemsize}")
            return words.astype(unsigned, copy=False).view(held.dtype)
    raise TypeError(f"no word holds {held}")
