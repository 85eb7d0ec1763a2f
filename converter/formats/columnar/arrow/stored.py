"""A file or stream of Arrow IPC: its columns and batches."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from converter.formats.columnar.arrow import MAGIC
from converter.formats.columnar.files import SourceFile
from converter.formats.columnar.layout import SPANS
from converter.formats.columnar.stored import BATCH_ROWS, Group
from converter.storage.source import Source

#: The end of a file: the size of its footer, and the magic bytes.
_END: Final = struct.Struct("<i6s")


class IpcFile:
    """An Arrow IPC file or stream with the interface of `columnar.stored.Stored`."""

    rows = None

    def __init__(self, source: Source) -> None:
        self._source = source
        self._is_file = source.read(0, len(MAGIC)) == MAGIC
        self._footer = _footer(source) if self._is_file else b""
        reader = self._reader(None)
        held = reader.schema
        self.metadata: dict[bytes, bytes] = dict(held.metadata or {})
        self.schema: pa.Schema = held.remove_metadata()
        self._groups = _groups(reader) if isinstance(reader, pa.RecordBatchFileReader) else []

    def _reader(
        self, columns: list[int] | None
    ) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
        options = pa.ipc.IpcReadOptions(included_fields=columns, use_threads=False)
        opened = pa.ipc.open_file if self._is_file else pa.ipc.open_stream
        return opened(SourceFile(self._source, self._footer), options=options)

    def groups(self, time: str) -> list[Group]:
        """Return the batches of a file and their times, if the footer has them: those of the column of ticks."""
        return self._groups

    def batches(
        self,
        columns: Sequence[str],
        groups: Sequence[Group] | None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows with some columns."""
        wanted = sorted(self.schema.get_field_index(name) for name in columns)
        reader = self._reader(wanted)
        for batch in _some_of(reader, groups):
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS)

    def nulls(self, column: str) -> bool:
        """Return True: it is not known before the rows are read."""
        return True


def _footer(source: Source) -> bytes:
    """Return the footer of a file, "" if it has none. It has the tables of a trace, so it is read only once."""
    end = source.size - _END.size
    if end < len(MAGIC):
        return b""
    size, _ = _END.unpack(source.read(end, _END.size))
    return source.read(end - size, size + _END.size) if 0 <= size <= end - len(MAGIC) else b""


def _groups(reader: pa.RecordBatchFileReader) -> list[Group]:
    """Return the batches of a file whose footer has the times of all; none if it has anything else."""
    footer = getattr(reader, "metadata", None) or {}
    try:
        spans = json.loads(footer.get(SPANS, b"[]"))
    except (ValueError, RecursionError):
        return []
    if not isinstance(spans, list) or len(spans) != reader.num_record_batches:
        return []
    if not all(isinstance(span, list) and list(map(type, span)) == [int] * 3 for span in spans):
        return []
    return [Group(number, *span) for number, span in enumerate(spans)]


def _some_of(
    reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader, groups: Sequence[Group] | None
) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.RecordBatchFileReader):
        every = range(reader.num_record_batches)
        for number in every if groups is None else [group.number for group in groups]:
            yield reader.get_batch(number)
    else:
        yield from reader
