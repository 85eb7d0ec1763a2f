"""Writes Parquet: a table of all events in one file, or files of each class in a directory."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from converter.formats.columnar.files import SinkFile
from converter.formats.columnar.layout import (
    ABOUT,
    EVENT,
    TABLES,
    TICKS,
    encoded_tables,
    packed_tables,
)
from converter.formats.columnar.parquet import ABOUT_FILE, TABLES_FILE
from converter.formats.columnar.rows import Part, Rows
from converter.ir.events import EventClass
from converter.ir.trace import Trace
from converter.storage.sink import Sink

#: Rows of a group, the unit that readers skip and read in parallel.
GROUP_ROWS: Final = 1 << 16
#: The same in a directory, where the rows of a class cover a longer time.
CLASS_GROUP_ROWS: Final = 1 << 16
#: Rows of a file in a directory.
_FILE_ROWS: Final = 1 << 22
#: Bytes of the rows of all classes that are buffered until their groups are large.
_WAITING_BYTES: Final = 1 << 23
#: Files that are open at once.
_OPEN_FILES: Final = 128
#: The longest folder name, in bytes.
_LONGEST_NAME: Final = 200
#: Columns that grow from row to row: their differences are stored.
_GROWING: Final = frozenset({"ts", "time", TICKS, EVENT})
_COMPRESSION: Final = "zstd"
#: Rows that are encoded at once.
_ENCODED_ROWS: Final = 1 << 16
#: The pages of a column have all rows of a group (PyArrow 22 and later, which otherwise cut them smaller): that saves a
#: tenth of the time, and a fifth of the size.
_PAGES: Final = (
    {"max_rows_per_page": GROUP_ROWS}
    if "max_rows_per_page" in signature(pq.ParquetWriter.__init__).parameters
    else {}
)
#: The values of a list, in the names of columns.
_ELEMENTS: Final = ".list.element"
#: Values of a column that decide its encoding. Compressing fewer takes longer than writing them, and hardly makes them
#: smaller.
_LOOKED_AT: Final = 1 << 12


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write any trace, which is read twice, as one file or, as "dataset", as a directory.

    If several processes write a directory together, each has the rows of its batches in files of its own.

    Raises:
        TraceError: as `Trace.batches` does, or the trace differs the second time.

    """
    rows = Rows(trace)
    if variant == "dataset":
        _write_dataset(rows, sink)
        return
    metadata = {ABOUT: rows.about().to_json(), TABLES: encoded_tables(rows.trace)}
    file = _File(sink, rows.schema(), metadata, GROUP_ROWS)
    waiting: list[pa.Table] = []
    for table in rows.tables(file.schema, GROUP_ROWS):
        waiting.append(table)
        if sum(map(len, waiting)) >= GROUP_ROWS:
            del table
            file.write(pa.concat_tables(waiting))
            waiting.clear()
    if waiting:
        file.write(pa.concat_tables(waiting))
    file.close()


def _write_dataset(rows: Rows, sink: Sink) -> None:
    about = rows.about()
    if sink.writers[0] == 0:
        sink.create(ABOUT_FILE).write(about.to_json())
        sink.create(TABLES_FILE).write(packed_tables(rows.trace))
    classes = rows.trace.event_classes
    metadata = {ABOUT: about.to_json(part=True)}
    files = {
        number: _ClassFiles(sink, classes[number], number, rows, metadata)
        for number in rows.classes
    }
    run = 0
    for number, part in rows.parts(sink.begin_batch):
        if sink.run != run:
            run = sink.run
            for held in files.values():
                held.close()
        files[number].add(part, run)
        while sum(held.bytes_held for held in files.values()) > _WAITING_BYTES:
            max(files.values(), key=lambda held: held.bytes_held).flush()
        opened = [held for held in files.values() if held.is_open]
        if len(opened) > _OPEN_FILES:
            min(opened, key=lambda held: held.rows).close()
    for held in files.values():
        held.close()


class _File:
    """Writes tables to a file; the first rows decide the encoding of each column."""

    def __init__(
        self, sink: Sink, schema: pa.Schema, metadata: Mapping[bytes, bytes], group_rows: int
    ) -> None:
        self.schema = schema
        self._sink = sink
        self._group_rows = group_rows
        self._metadata = metadata
        self._writer: pq.ParquetWriter | None = None

    def write(self, table: pa.Table) -> None:
        """Append the rows of a table, as groups of one size."""
        groups = max(-(-len(table) // self._group_rows), 1)
        table = table.unify_dictionaries()
        self._open_writer(table).write_table(table, -(-len(table) // groups) or None)

    def _open_writer(self, table: pa.Table) -> pq.ParquetWriter:
        if self._writer is None:
            growing = [name for name in self.schema.names if name in _GROWING]
            self._writer = pq.ParquetWriter(
                SinkFile(self._sink),
                self.schema,
                compression=_COMPRESSION if len(table) >= _LOOKED_AT else "none",
                use_dictionary=[
                    f"{held.name}{_ELEMENTS if _is_list(held.type) else ''}"
                    for held in self.schema
                    if held.name not in _GROWING and _repeats(table.column(held.name))
                ],
                column_encoding=dict.fromkeys(growing, "DELTA_BINARY_PACKED"),
                write_statistics=[
                    held.name for held in self.schema if not pa.types.is_dictionary(held.type)
                ],
                write_batch_size=_ENCODED_ROWS,
                **_PAGES,
            )
        return self._writer

    def close(self) -> None:
        """Write the metadata of the whole file."""
        writer = self._open_writer(pa.Table.from_batches([], self.schema))
        writer.add_key_value_metadata(self._metadata)
        writer.close()


def _repeats(column: pa.ChunkedArray) -> bool:
    """Return True if values repeat, judging by the first of them; addresses and times seldom do."""
    if pa.types.is_dictionary(column.type):
        return True
    if _is_list(column.type):
        return _repeats(pc.list_flatten(column.slice(0, _LOOKED_AT)))
    if not pa.types.is_primitive(column.type) or pa.types.is_boolean(column.type):
        return False
    first = column.slice(0, _LOOKED_AT)
    return 2 * int(pc.count_distinct(first).as_py()) <= len(first)


def _is_list(kind: pa.DataType) -> bool:
    """Return True for lists of numbers."""
    return bool(pa.types.is_large_list(kind) and pa.types.is_primitive(kind.value_type))


class _ClassFiles:
    """The files of a class, one after the other."""

    def __init__(
        self,
        directory: Sink,
        event_class: EventClass,
        number: int,
        rows: Rows,
        metadata: Mapping[bytes, bytes],
    ) -> None:
        name = event_class.name or event_class.kind.name.lower()
        value = quote(name.encode("utf-8", "surrogateescape"), safe=" ")[:_LONGEST_NAME]
        self._place = f"event={value}/{number}"
        self._rows = rows
        self._schema = rows.schema(number)
        self._directory = directory
        self._metadata = metadata
        self._file: _File | None = None
        self._sink: Sink | None = None
        self._count = 0
        self._parts: list[Part] = []
        #: Rows of the open file including buffered ones; buffered rows, and their size.
        self.rows = self.waiting = self.bytes_held = 0

    @property
    def is_open(self) -> bool:
        """True if a file is open."""
        return self._file is not None

    def add(self, part: Part, run: int) -> None:
        """Append some events. A file has those of one run of batches, and its number defines their order."""
        if self._file is None:
            self._count = max(self._count, run)
            self._sink = self._directory.create(f"{self._place}.{self._count:05}.parquet")
            self._file = _File(self._sink, self._schema, self._metadata, CLASS_GROUP_ROWS)
            self._count += 1
            self.rows = 0
        self._parts.append(part)
        self.waiting += len(part)
        self.bytes_held += part.bytes_held
        self.rows += len(part)
        if self.rows >= _FILE_ROWS:
            self.close()
        elif self.waiting >= CLASS_GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the buffered rows."""
        if self._file is not None and self._parts:
            self._file.write(self._rows.table_of_class(self._parts, self._schema))
        self._parts = []
        self.waiting = self.bytes_held = 0

    def close(self) -> None:
        """Close the open file, if any."""
        self.flush()
        if self._file is not None and self._sink is not None:
            self._file.close()
            self._sink.close()
            self._file = self._sink = None
