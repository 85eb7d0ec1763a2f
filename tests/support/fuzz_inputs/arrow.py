"""Files and streams of Arrow that no fixture is like."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pyarrow as pa
from support.fuzz_inputs.parquet import FOREIGN
from support.fuzzing.corpus import Files
from support.fuzzing.outputs import written
from support.traces.any_traces import any_trace

from converter.formats.columnar.layout import SPANS


def inputs() -> list[Files]:
    """Traces with fields of any types, tables of others, and footers that say nothing of use."""
    found = [
        written(any_trace(seed, classes=2, events=8), target)
        for seed in range(3)
        for target in ("arrow", "arrow+stream")
    ]
    whole = found[0][""]
    data = [*_foreign(), *_spans(whole), *(whole[: len(whole) * part // 5] for part in range(1, 5))]
    stream = found[1][""]
    data += [
        *(stream[: len(stream) * part // 5] for part in range(1, 5)),
        b"ARROW1\0\0",
        b"ARROW1\0\0ARROW1",
    ]
    return [*found, *({"": each} for each in data)]


def _foreign() -> Iterator[bytes]:
    for columns in FOREIGN:
        table = pa.table(columns)
        for new in (pa.ipc.new_file, pa.ipc.new_stream):
            output = io.BytesIO()
            with new(output, table.schema) as writer:
                writer.write_table(table, max_chunksize=2)
            yield output.getvalue()


def _spans(whole: bytes) -> Iterator[bytes]:
    """What says where batches are in time is no list of such."""
    with pa.ipc.open_file(io.BytesIO(whole)) as file:
        batches = [file.get_batch(number) for number in range(file.num_record_batches)]
        schema = file.schema
    for spans in (b"", b"{}", b"[[1, 2]]", b'[["1", 2, 3]]', b"[" * 5000):
        output = io.BytesIO()
        with pa.ipc.new_file(output, schema, metadata={SPANS: spans}) as again:
            for batch in batches:
                again.write_batch(batch)
        yield output.getvalue()
