"""Writes Arrow IPC: a file, or a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from inspect import signature
from typing import Final

import numpy as np
import pyarrow as pa

from converter.analysis.arrow.buffers import array_of, text_array_of
from converter.analysis.arrow.buffers import numbers as numbers_of
from converter.analysis.arrow.tasks import TASK_COLUMNS, task_arrays
from converter.formats.columnar.files import SinkFile
from converter.formats.columnar.layout import ABOUT, SPANS, TABLES, encoded_tables
from converter.formats.columnar.rows import Rows
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up
from converter.storage.sink import Sink

#: Rows of a batch of a file, the unit that readers skip.
BATCH_ROWS: Final = 1 << 16
#: True if PyArrow accepts metadata for a file's footer, which programs that change the rows do not copy (from 21 on).
HAS_FOOTER: Final = "metadata" in signature(pa.ipc.new_file).parameters
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write any trace, which is read twice, as a file or, as "stream", as a stream.

    Raises:
        TraceError: as `Trace.batches` does, or the trace differs the second time.

    """
    if variant == "stream":
        rows = Rows(trace)
        schema = _schema(rows)
        with pa.ipc.new_stream(SinkFile(sink), schema, options=_OPTIONS) as stream:
            for table in rows.tables(schema, BATCH_ROWS):
                stream.write_table(table)
        return
    dictionaries = Dictionaries()
    spans: list[tuple[int, int, int]] = []

    def add_texts(batch: Batch, texts: Iterator[tuple[str, list[str]]]) -> None:
        dictionaries.add_texts(texts)
        for start in range(0, len(batch), BATCH_ROWS):
            part = batch.ts[start : start + BATCH_ROWS]
            spans.append((len(part), int(part.min()), int(part.max())))

    rows = Rows(trace, add_texts)
    schema = _schema(rows)
    dictionaries.add_task_names(trace)
    batches = (batch for table in rows.tables(schema, BATCH_ROWS) for batch in table.to_batches())
    footer = {"metadata": {SPANS: json.dumps(spans)}} if HAS_FOOTER else {}
    with pa.ipc.new_file(SinkFile(sink), schema, options=_OPTIONS, **footer) as file:
        for batch in dictionaries.apply(batches):
            file.write_batch(batch)


def _schema(rows: Rows) -> pa.Schema:
    metadata = {ABOUT: rows.about().to_json(), TABLES: encoded_tables(rows.trace)}
    return rows.schema().with_metadata(metadata)


class Dictionaries:
    """The texts of each column.

    A file has one dictionary for all of its batches, as few readers accept more, which must be known when the first is
    written; in a stream each batch has its own.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}
        self._arrays: dict[str, pa.Array] = {}

    def add_texts(self, texts: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Add the texts of columns."""
        for name, found in texts:
            self._add(name, found)

    def add_task_names(self, trace: Trace) -> None:
        """Add the names of all tasks and tracks, which are complete."""
        every = np.arange(len(trace.threads), dtype=np.int32)
        tracks = np.arange(len(trace.tracks), dtype=np.int32)
        for name, array in task_arrays(trace, every, tracks).items():
            if pa.types.is_dictionary(TASK_COLUMNS[name]):
                self._add(name, array.dictionary.to_pylist())

    def _add(self, name: str, texts: Iterable[str]) -> None:
        numbers = self._numbers.setdefault(name, {})
        for text in texts:
            numbers.setdefault(text, len(numbers))

    def apply(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches with these dictionaries."""
        for batch in batches:
            arrays = [
                self._renumbered(name, array) if pa.types.is_dictionary(array.type) else array
                for name, array in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    def _renumbered(self, name: str, array: pa.DictionaryArray) -> pa.DictionaryArray:
        numbers = self._numbers.get(name, {})
        if name not in self._arrays:
            self._arrays[name] = text_array_of(list(numbers))
        own = [numbers[text] for text in array.dictionary.to_pylist()]
        indices = numbers_of(array.indices, null=-1).astype(np.int32)
        found = looked_up(np.array([*own, -1], np.int32), indices)
        known = array_of(found, valid=found >= 0)
        return pa.DictionaryArray.from_arrays(known, self._arrays[name])
