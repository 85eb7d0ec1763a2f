"""A file of Parquet: its columns, groups of rows and their statistics."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from converter.columnar.files import SourceFile
from converter.columnar.stored import BATCH_ROWS, Group
from converter.formats.parquet.footer import Chunk, RowGroup, row_groups
from converter.storage.source import Source

_MAGIC: Final = b"PAR1"
#: What a file ends with: the size of its footer, and the magic bytes.
_END: Final = struct.Struct("<I4s")


class Footer:
    """What stands at the end of a file; without metadata where PyArrow is to say what is wrong with it."""

    def __init__(self, data: bytes, metadata: pq.FileMetaData | None) -> None:
        self._data = data
        self.metadata = metadata

    @cached_property
    def groups(self) -> list[RowGroup]:
        """The groups of rows."""
        return row_groups(self._data)


class ParquetFile:
    """What `columnar.stored.Stored` describes.

    Args:
        source: the file.
        footer: that of the file, where it was opened before.

    """

    def __init__(self, source: Source, footer: Footer | None = None) -> None:
        #: For who opens it again.
        self.footer = footer or _footer(source)
        # Pages of columns that are not wanted are not read.
        self._file = pq.ParquetFile(
            SourceFile(source), metadata=self.footer.metadata, pre_buffer=False
        )
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
        found = []
        for number, group in enumerate(self.footer.groups):
            told = self._told(group, time)
            first, last = (told.bounds or (None, None)) if not told.nulls else (None, None)
            found.append(Group(number, group.rows, first, last))
        return found

    def _told(self, group: RowGroup, column: str) -> Chunk:
        place = _leaf(self._file.schema, column)
        if place is None or place >= len(group.columns):
            return Chunk()
        return group.columns[place]

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
        return any(self._told(group, column).nulls != 0 for group in self.footer.groups)


def _footer(source: Source) -> Footer:
    """The footer of a file, of which no more is read.

    PyArrow reads 64 KiB, which is more than most files of a class have.
    """
    end = source.size - _END.size
    if end < len(_MAGIC):
        return Footer(b"", None)
    size, magic = _END.unpack(source.read(end, _END.size))
    if magic != _MAGIC or size > end - len(_MAGIC):
        return Footer(b"", None)
    footer = source.read(end - size, size + _END.size)
    return Footer(footer, pq.read_metadata(pa.BufferReader(_MAGIC + footer)))


def _leaf(schema: pq.ParquetSchema, name: str) -> int | None:
    """The number of a column that is no structure or list."""
    for number in range(len(schema)):
        if schema.column(number).path == name:
            return number
    return None
