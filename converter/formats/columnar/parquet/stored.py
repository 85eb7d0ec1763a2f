"""A Parquet file: its columns, row groups and their statistics."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from converter.formats.columnar.files import SourceFile
from converter.formats.columnar.parquet.footer import Chunk, RowGroup, row_groups
from converter.formats.columnar.stored import BATCH_ROWS, Group
from converter.storage.source import Source

_MAGIC: Final = b"PAR1"
#: The end of a file: the size of its footer, and the magic bytes.
_END: Final = struct.Struct("<I4s")


class Footer:
    """The footer of a file; without metadata if PyArrow has to report the error in it."""

    def __init__(self, data: bytes, metadata: pq.FileMetaData | None) -> None:
        self._data = data
        self.metadata = metadata

    @cached_property
    def groups(self) -> list[RowGroup]:
        """The row groups."""
        return row_groups(self._data)


class ParquetFile:
    """A Parquet file with the interface of `columnar.stored.Stored`.

    Args:
        source: the file.
        footer: that of the file, if it was opened before.

    """

    def __init__(self, source: Source, footer: Footer | None = None) -> None:
        #: For opening the file again.
        self.footer = footer or _footer(source)
        # Pages of unwanted columns are not read.
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
        """The number of rows."""
        count: int = self._file.metadata.num_rows
        return count

    def groups(self, time: str) -> list[Group]:
        """Return the row groups, and their times."""
        found = []
        for number, group in enumerate(self.footer.groups):
            chunk = self._chunk_of(group, time)
            first, last = (chunk.bounds or (None, None)) if not chunk.nulls else (None, None)
            found.append(Group(number, group.rows, first, last))
        return found

    def _chunk_of(self, group: RowGroup, column: str) -> Chunk:
        place = _leaf(self._file.schema, column)
        if place is None or place >= len(group.columns):
            return Chunk()
        return group.columns[place]

    def batches(
        self, columns: Sequence[str], groups: Sequence[Group] | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some groups, or all, with some columns."""
        numbers = None if groups is None else [group.number for group in groups]
        if numbers != []:
            for batch in self._file.iter_batches(
                BATCH_ROWS, row_groups=numbers, columns=list(columns), use_threads=False
            ):
                # In the order of the file: names that are not column paths must not matter.
                yield batch.select(list(columns))

    def nulls(self, column: str) -> bool:
        """Return True if there may be nulls in a column."""
        return any(self._chunk_of(group, column).nulls != 0 for group in self.footer.groups)


def _footer(source: Source) -> Footer:
    """Read only the footer of a file.

    PyArrow reads 64 KiB, which is more than the whole of most class files.
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
    """Return the index of a column that is not a structure or list."""
    for number in range(len(schema)):
        if schema.column(number).path == name:
            return number
    return None
