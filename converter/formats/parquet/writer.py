"""Writing Parquet: a table of all events in one file, or files of each class in a directory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from converter.columnar.files import SinkFile
from converter.columnar.layout import (
    ABOUT,
    EVENT,
    TABLES,
    TICKS,
    encoded_tables,
    packed_tables,
)
from converter.columnar.rows import Rows
from converter.formats.parquet import ABOUT_FILE, TABLES_FILE
from converter.ir.events import EventClass
from converter.ir.trace import Trace
from converter.storage.sink import Sink

#: Rows of a group, which is what readers skip, and what several threads of theirs read at once.
GROUP_ROWS: Final = 1 << 17
#: Likewise in a directory, where those of a class are of a longer time.
CLASS_GROUP_ROWS: Final = 1 << 15
#: Rows of a file in a directory.
_FILE_ROWS: Final = 1 << 22
#: Rows of all classes that wait for their groups to become large.
_WAITING_ROWS: Final = 1 << 20
#: Files that are open at once.
_OPEN_FILES: Final = 128
#: Of a folder's name, in bytes.
_LONGEST_NAME: Final = 200
#: Columns that grow from row to row: what is stored is by how much.
_GROWING: Final = frozenset({"ts", "time", TICKS, EVENT})
_COMPRESSION: Final = "zstd"


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write any trace, which is read twice, as one file or, as "dataset", as a directory.

    Several processes write a directory together: each has the rows of its batches in files of their own.

    Raises:
        TraceError: as `Trace.batches` does, or the trace is another the second time.

    """
    rows = Rows(trace)
    if variant == "dataset":
        _write_dataset(rows, sink)
        return
    metadata = {ABOUT: rows.about().to_json(), TABLES: encoded_tables(rows.trace)}
    file = _File(sink, rows.schema(), metadata, GROUP_ROWS)
    for table in rows.tables(file.schema):
        file.add(table)
    file.close()


def _write_dataset(rows: Rows, sink: Sink) -> None:
    about = rows.about()
    if sink.writers[0] == 0:
        sink.create(ABOUT_FILE).write(about.to_json())
        sink.create(TABLES_FILE).write(packed_tables(rows.trace))
    classes = rows.trace.event_classes
    metadata = {ABOUT: about.to_json(part=True)}
    parts = {
        number: _Parts(sink, classes[number], number, rows.schema(number), metadata)
        for number in rows.classes
    }
    schemas = {number: part.schema for number, part in parts.items()}
    run = 0
    for number, table in rows.tables_of_classes(schemas, sink.begin_batch):
        if sink.run != run:
            run = sink.run
            for part in parts.values():
                part.close()
        parts[number].add(table, run)
        while sum(part.waiting for part in parts.values()) > _WAITING_ROWS:
            max(parts.values(), key=lambda part: part.waiting).flush()
        opened = [part for part in parts.values() if part.is_open]
        if len(opened) > _OPEN_FILES:
            min(opened, key=lambda part: part.rows).close()
    for part in parts.values():
        part.close()


class _File:
    """A file to which tables are added."""

    def __init__(
        self, sink: Sink, schema: pa.Schema, metadata: Mapping[bytes, bytes], group_rows: int
    ) -> None:
        self.schema = schema
        self._group_rows = group_rows
        self._sink = sink
        self._metadata = metadata
        growing = [name for name in schema.names if name in _GROWING]
        self._writer = pq.ParquetWriter(
            SinkFile(sink),
            schema,
            compression=_COMPRESSION,
            use_dictionary=[name for name in schema.names if name not in _GROWING],
            column_encoding=dict.fromkeys(growing, "DELTA_BINARY_PACKED"),
        )
        self._tables: list[pa.Table] = []
        self.waiting = 0

    def add(self, table: pa.Table) -> None:
        """Append the rows of a table."""
        self._tables.append(table)
        self.waiting += len(table)
        if self.waiting >= self._group_rows:
            self.flush()

    def flush(self) -> None:
        """Write what waits, as groups of rows."""
        if self._tables:
            table = pa.concat_tables(self._tables).unify_dictionaries()
            self._writer.write_table(table, self._group_rows)
        self._tables = []
        self.waiting = 0

    def close(self) -> None:
        """Write all that is left."""
        self.flush()
        self._writer.add_key_value_metadata(self._metadata)
        self._writer.close()


class _Parts:
    """The files of a class, one after the other."""

    def __init__(
        self,
        directory: Sink,
        event_class: EventClass,
        number: int,
        schema: pa.Schema,
        metadata: Mapping[bytes, bytes],
    ) -> None:
        self.schema = schema
        name = event_class.name or event_class.kind.name.lower()
        value = quote(name.encode("utf-8", "surrogateescape"), safe=" ")[:_LONGEST_NAME]
        self._place = f"event={value}/{number}"
        self._directory = directory
        self._metadata = metadata
        self._file: _File | None = None
        self._sink: Sink | None = None
        self._count = 0
        self.rows = 0

    @property
    def is_open(self) -> bool:
        """Whether a file is."""
        return self._file is not None

    @property
    def waiting(self) -> int:
        """How many rows are not yet written."""
        return 0 if self._file is None else self._file.waiting

    def add(self, table: pa.Table, run: int) -> None:
        """Append the rows of a table. A file has those of one run of batches, and its number tells their order."""
        if self._file is None:
            self._count = max(self._count, run)
            self._sink = self._directory.create(f"{self._place}.{self._count:05}.parquet")
            self._file = _File(self._sink, self.schema, self._metadata, CLASS_GROUP_ROWS)
            self._count += 1
            self.rows = 0
        self._file.add(table)
        self.rows += len(table)
        if self.rows >= _FILE_ROWS:
            self.close()

    def flush(self) -> None:
        """Write what waits."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """End the file that is open, if any."""
        if self._file is not None and self._sink is not None:
            self._file.close()
            self._sink.close()
            self._file = self._sink = None
