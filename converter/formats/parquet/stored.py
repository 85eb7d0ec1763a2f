"""A file of Parquet: its columns, groups of rows and their statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from converter.columnar.files import SourceFile
from converter.columnar.stored import BATCH_ROWS, Group
from converter.storage.source import Source


class ParquetFile:
    """What `columnar.stored.Stored` describes."""

    def __init__(self, source: Source) -> None:
        # Pages of columns that are not wanted are not read.
        self._file = pq.ParquetFile(SourceFile(source), pre_buffer=False)
        held = self._file.schema_arrow
        self.metadata: dict[bytes, bytes] = {
            **(held.metadata or {}),
            **(self._file.metadata.metadata or {}),
        }
        self.schema: pa.Schema = held.remove_metadata()

    @property
    def rows(self) -> int:
        """How many rows there are."""
        count: int = self._file.metadata.num_rows
        return count

    def groups(self, time: str) -> list[Group]:
        """The groups of rows, and their times."""
        metadata = self._file.metadata
        found = []
        place = _leaf(self._file.schema, time)
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            first = last = None
            if place is not None:
                statistics = group.column(place).statistics
                if statistics is not None and statistics.has_min_max and not statistics.null_count:
                    first, last = _ticks(statistics.min_raw), _ticks(statistics.max_raw)
            found.append(Group(number, group.num_rows, first, last))
        return found

    def batches(
        self, columns: Sequence[str], groups: Sequence[Group] | None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of some groups, or all, with some columns."""
        numbers = None if groups is None else [group.number for group in groups]
        if numbers != []:
            for batch in self._file.iter_batches(
                BATCH_ROWS, row_groups=numbers, columns=list(columns), use_threads=False
            ):
                # In the order of the file: names that are no paths of columns must not matter.
                yield batch.select(list(columns))

    def nulls(self, column: str) -> bool:
        """Whether there may be nulls in a column."""
        place = _leaf(self._file.schema, column)
        if place is None:
            return True
        metadata = self._file.metadata
        every = [
            metadata.row_group(number).column(place).statistics
            for number in range(metadata.num_row_groups)
        ]
        return any(one is None or not one.has_null_count or one.null_count for one in every)


def _leaf(schema: pq.ParquetSchema, name: str) -> int | None:
    """The number of a column that is no structure or list."""
    for number in range(len(schema)):
        if schema.column(number).path == name:
            return number
    return None


def _ticks(bound: object) -> int | None:
    return bound if isinstance(bound, int) else None
