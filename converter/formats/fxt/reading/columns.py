"""The columns of a scanned window: values are sorted by class when the first column is requested."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.fxt.mapping import Codec
from converter.formats.fxt.reading.scan_columns import (
    gather_arguments,
    gather_payloads,
    gather_texts,
    scatter,
)
from converter.ir.columns import Column, ListColumn, NullColumn
from converter.kernels.tables.strings import StringTable

_INLINE = np.uint64(63)


class WindowValues:
    """The value words of a window's events, as rows of words for each class.

    Args:
        data: the window.
        values: uint64, all events' words concatenated.
        first: int64, the start of each event's words.
        class_id, row: int32, an event's class and its row there.
        counts, widths: int32, rows and words per row of each class.

    """

    def __init__(
        self,
        data: memoryview,
        values: NDArray[np.uint64],
        first: NDArray[np.int64],
        class_id: NDArray[np.int32],
        row: NDArray[np.int32],
        counts: NDArray[np.int32],
        widths: NDArray[np.int32],
        strings: StringTable,
        *,
        big_endian: bool,
    ) -> None:
        self._data = data
        self._events = (values, first, class_id, row)
        self._counts = counts
        self._widths = widths
        self._strings = strings
        self._big_endian = big_endian
        self._bases = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts.astype(np.int64) * widths, out=self._bases[1:])
        self._sorted: NDArray[np.uint64] | None = None

    def rows(self, number: int) -> NDArray[np.uint64]:
        """Return the words of a class, of shape (events, words)."""
        if self._sorted is None:
            values, first, class_id, row = self._events
            if np.count_nonzero(self._counts) == 1:
                self._sorted = values
            else:
                self._sorted = np.empty(self._bases[-1], np.uint64)
                bases = self._bases[:-1]
                scatter(values, first, class_id, row, bases, self._widths, self._sorted)
        words = self._sorted[self._bases[number] : self._bases[number + 1]]
        return words.reshape(self._counts[number], self._widths[number])

    def column(self, number: int, word: int, codec: Codec) -> Callable[[], Column]:
        """Return a function that returns the column at `word` of a class's rows."""
        return lambda: self._decoded(self.rows(number), word, codec)

    def _decoded(self, rows: NDArray[np.uint64], word: int, codec: Codec) -> Column:
        match codec:
            case Codec.NULL:
                return NullColumn(len(rows))
            case Codec.STRING:
                words = rows[:, word]
                if not (words >> _INLINE).any():
                    return _narrow(rows, word, np.int32)
                return self._list(gather_texts(self._data, words, self._strings))
            case Codec.BYTES:
                return self._list(gather_texts(self._data, rows[:, word], self._strings))
            case Codec.FRAMES:
                bytes_, offsets = gather_texts(self._data, rows[:, word], self._strings)
                frames = bytes_.view(">u8" if self._big_endian else "<u8")
                return ListColumn(offsets // 8, frames.astype(np.uint64, copy=False))
            case Codec.PAYLOAD:
                return self._list(gather_payloads(self._data, rows[:, word], rows[:, word + 1]))
            case Codec.UNKNOWN:
                return self._list(gather_arguments(self._data, rows[:, word], self._big_endian))
            case _:
                return _narrow(rows, word, _TYPES[codec])

    def records(self, number: int, word: int) -> Callable[[], Column]:
        """Return a function that returns whole records as a column, their headers little-endian."""

        def payload() -> Column:
            rows = self.rows(number)
            bytes_, offsets = gather_payloads(self._data, rows[:, word], rows[:, word + 1])
            if self._big_endian:
                header = offsets[:-1, np.newaxis] + np.arange(8)
                bytes_[header] = bytes_[header[:, ::-1]]
            return ListColumn(offsets, bytes_)

        return payload

    @staticmethod
    def _list(parts: tuple[NDArray[np.uint8], NDArray[np.int64]]) -> ListColumn:
        values, offsets = parts
        return ListColumn(offsets, values)


_TYPES: dict[Codec, type[np.generic]] = {
    Codec.U8: np.uint8,
    Codec.U16: np.uint16,
    Codec.U32: np.uint32,
    Codec.I32: np.int32,
    Codec.U64: np.uint64,
    Codec.I64: np.int64,
    Codec.F64: np.float64,
    Codec.BOOLEAN: np.bool_,
}


def _narrow(rows: NDArray[np.uint64], word: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return the low bytes of a word of each row as a view: the first, or the last on big-endian machines."""
    parts = 8 // np.dtype(kind).itemsize
    low = parts - 1 if sys.byteorder == "big" else 0
    return rows.view(kind)[:, word * parts + low]
