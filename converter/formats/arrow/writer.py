"""Writing Arrow IPC: a file, or a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from converter.arrow.tables import Piece
from converter.arrow.tasks import TASK_COLUMNS, task_arrays
from converter.columnar.files import SinkFile
from converter.columnar.layout import ABOUT, TABLES, encoded_tables
from converter.columnar.rows import Rows
from converter.ir.trace import Trace
from converter.storage.sink import Sink

_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write any trace, which is read twice, as a file or, as "stream", as a stream.

    Raises:
        TraceError: as `Trace.batches` does, or the trace is another the second time.

    """
    is_stream = variant == "stream"
    dictionaries = Dictionaries()
    rows = Rows(trace, None if is_stream else dictionaries.meet)
    schema = rows.schema().with_metadata(
        {ABOUT: rows.about().to_json(), TABLES: encoded_tables(rows.trace)}
    )
    batches: Iterable[pa.RecordBatch] = (
        batch for table in rows.tables(schema) for batch in table.to_batches()
    )
    if not is_stream:
        dictionaries.meet_tasks(trace)
        batches = dictionaries.of_all(batches)
    make = pa.ipc.new_stream if is_stream else pa.ipc.new_file
    with make(SinkFile(sink), schema, options=_OPTIONS) as writer:
        for batch in batches:
            writer.write_batch(batch)


class Dictionaries:
    """The texts of each column. A file has one dictionary for all of its batches (readers seldom take more), which has
    to be known when the first is written; in a stream each batch has its own.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}
        self._arrays: dict[str, pa.Array] = {}

    def meet(self, piece: Piece) -> None:
        """Add the texts of columns."""
        for name, array in piece.arrays.items():
            if pa.types.is_dictionary(array.type):
                self._add(name, array.dictionary.to_pylist())

    def meet_tasks(self, trace: Trace) -> None:
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

    def of_all(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches with these dictionaries."""
        for batch in batches:
            arrays = [
                self._renumbered(name, array) if pa.types.is_dictionary(array.type) else array
                for name, array in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    def _renumbered(self, name: str, array: pa.DictionaryArray) -> pa.DictionaryArray:
        numbers = self._numbers.get(name, {})
        if name not in self._arrays:
            self._arrays[name] = pa.array(numbers, pa.string())
        own = [numbers[text] for text in array.dictionary.to_pylist()]
        indices = pa.array(own, pa.int32()).take(array.indices)
        return pa.DictionaryArray.from_arrays(indices, self._arrays[name])
