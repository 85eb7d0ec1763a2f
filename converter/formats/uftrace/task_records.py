"""The tables of events that were read from task files, with the records themselves if a writer wants them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.uftrace.arguments.shown_values import SymbolNames
from converter.formats.uftrace.layout import RECORD_SIZE, RecordType
from converter.ir.columns import Column, ListColumn, take
from converter.ir.events import Table
from converter.kernels.batches.gather import Segments

#: Bits of a record's second word: its type, and that values follow.
_TYPE: Final = np.uint8(0b11)
_MORE: Final = np.uint8(0b100)


class TaskTable(Table):
    """Events of task files.

    Args:
        count: how many.
        columns: as in `Table`.
        records: the bytes of each event's record, empty for an event that no record has; None where nobody wants them.

    """

    __slots__ = ("_records",)

    def __init__(
        self,
        count: int,
        columns: Sequence[Column | Callable[[], Column]],
        records: ListColumn | Callable[[], ListColumn] | None = None,
    ) -> None:
        super().__init__(count, columns)
        self._records = records

    @property
    def records(self) -> ListColumn | None:
        """The bytes of the records."""
        if callable(self._records):
            self._records = self._records()
        return self._records

    def select(self, rows: NDArray[np.integer[Any]]) -> Table:
        """Return the given rows."""
        return TaskTable(len(rows), super().select(rows).lazy_columns(), self.chosen(rows))

    def chosen(self, rows: NDArray[np.integer[Any]]) -> ListColumn | None:
        """Return the records of the given rows."""
        records = self.records
        if records is None:
            return None
        column = take(records, rows)
        assert isinstance(column, ListColumn)
        return column


class CallTable(TaskTable):
    """Calls or returns, with the details that only `uftrace` shows.

    Attributes:
        depths: uint32, the depth of each record plus 1; 0 for an end without a record.
        names: int32, of the functions, also for ends that have no other name.
        formats: the letters of the formats of values, where they say more than the types.
        symbols: the names of symbols at addresses.
        closes: True for ends that a part has since its window ends.

    """

    __slots__ = ("closes", "depths", "formats", "names", "symbols")

    def __init__(
        self,
        columns: Sequence[Column | Callable[[], Column]],
        depths: NDArray[np.uint32],
        names: NDArray[np.int32],
        formats: tuple[str, ...],
        symbols: SymbolNames,
        records: ListColumn | Callable[[], ListColumn] | None = None,
        *,
        closes: bool = False,
    ) -> None:
        super().__init__(len(depths), columns, records)
        self.depths = depths
        self.names = names
        self.formats = formats
        self.symbols = symbols
        self.closes = closes

    def select(self, rows: NDArray[np.integer[Any]]) -> Table:
        """Return the given rows."""
        columns = Table.select(self, rows).lazy_columns()
        return CallTable(
            columns,
            self.depths[rows],
            self.names[rows],
            self.formats,
            self.symbols,
            self.chosen(rows),
            closes=self.closes,
        )

    def ends(self, rows: NDArray[np.integer[Any]], columns: Sequence[Column]) -> Table:
        """Return the ends, with these columns, of the functions that the given rows enter."""
        records = self.chosen(rows)
        return CallTable(
            columns,
            self.depths[rows],
            self.names[rows],
            ("",) * len(columns),
            self.symbols,
            None if records is None else _exits(records),
            closes=True,
        )


def located(segments: Segments, span: NDArray[np.int64], size: NDArray[np.int64]) -> ListColumn:
    """Return the bytes at spans of segments."""
    offsets = np.empty(len(span) + 1, np.int64)
    segments.measure(span, size, False, 1, offsets)
    values = np.empty(int(offsets[-1]), np.uint8)
    segments.copy(span, offsets, values)
    return ListColumn(offsets, values)


def _exits(entries: ListColumn) -> ListColumn:
    """Return the exits, without values, of the functions that records enter."""
    assert isinstance(entries.values, np.ndarray)
    count = len(entries)
    places = entries.offsets[:-1, np.newaxis] + np.arange(RECORD_SIZE)
    records = entries.values[places].reshape(count, RECORD_SIZE)
    # The lowest byte of the second word: records that are written again are little-endian.
    word = RECORD_SIZE // 2
    records[:, word] = records[:, word] & ~(_TYPE | _MORE) | np.uint8(RecordType.EXIT)
    return ListColumn(np.arange(count + 1, dtype=np.int64) * RECORD_SIZE, records.reshape(-1))
