"""A file of Parquet: its columns, groups of rows and their statistics."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from converter.columnar.files import SourceFile
from converter.columnar.stored import BATCH_ROWS, Group
from converter.storage.source import Source

_MAGIC: Final = b"PAR1"
#: What a file ends with: the size of its footer, and the magic bytes.
_END: Final = struct.Struct("<I4s")


class ParquetFile:
    """What `columnar.stored.Stored` describes.

    Args:
        source: the file.
        footer: that of the file, where it was opened before.

    """

    def __init__(self, source: Source, footer: pq.FileMetaData | None = None) -> None:
        footer = footer or _footer(source)
        # Pages of columns that are not wanted are not read.
        self._file = pq.ParquetFile(SourceFile(source), metadata=footer, pre_buffer=False)
        #: For who opens it again.
        self.footer: pq.FileMetaData = self._file.metadata
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


def _footer(source: Source) -> pq.FileMetaData | None:
    """The footer of a file, of which no more is read; None where PyArrow is to say what is wrong with it.

    PyArrow reads 64 KiB, which is more than most files of a class have.
    """
    end = source.size - _END.size
    if end < len(_MAGIC):
        return None
    size, magic = _END.unpack(source.read(end, _END.size))
    if magic != _MAGIC or size > end - len(_MAGIC):
        return None
    footer = source.read(end - size, size + _END.size)
    return pq.read_metadata(pa.BufferReader(_MAGIC + footer))


def _leaf(schema: pq.ParquetSchema, name: str) -> int | None:
    """The number of a column that is no structure or list."""
    for number in range(len(schema)):
        if schema.column(number).path == name:
            return number
    return None


def _ticks(bound: object) -> int | None:
    return bound if isinstance(bound, int) else None
