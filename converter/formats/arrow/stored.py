"""A file or stream of Arrow IPC: its columns and batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from converter.columnar.files import SourceFile
from converter.columnar.stored import BATCH_ROWS, Group
from converter.formats.arrow import MAGIC
from converter.storage.source import Source


class IpcFile:
    """What `columnar.stored.Stored` describes."""

    rows = None

    def __init__(self, source: Source) -> None:
        self._source = source
        self._is_file = source.read(0, len(MAGIC)) == MAGIC
        held = self._reader(None).schema
        self.metadata: dict[bytes, bytes] = dict(held.metadata or {})
        self.schema: pa.Schema = held.remove_metadata()

    def _reader(
        self, columns: list[int] | None
    ) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
        options = pa.ipc.IpcReadOptions(included_fields=columns, use_threads=False)
        opened = pa.ipc.open_file if self._is_file else pa.ipc.open_stream
        return opened(SourceFile(self._source), options=options)

    def groups(self, time: str) -> list[Group]:
        """None: batches say nothing of what is in them."""
        return []

    def batches(
        self,
        columns: Sequence[str],
        groups: Sequence[Group] | None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows with some columns."""
        wanted = sorted(self.schema.get_field_index(name) for name in columns)
        reader = self._reader(wanted)
        for batch in _all_of(reader):
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS)

    def nulls(self, column: str) -> bool:
        """Nobody says so in front of the rows."""
        return True


def _all_of(
    reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader,
) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.RecordBatchFileReader):
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
    else:
        yield from reader
