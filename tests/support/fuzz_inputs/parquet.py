"""Parquet files and directories that no fixture is like."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from support.fuzzing.corpus import Files
from support.fuzzing.outputs import written
from support.traces.any_traces import any_trace

#: Tables of somebody else: their columns are events of one class.
FOREIGN: tuple[dict[str, Any], ...] = (
    {
        "when": pa.array([1_000_000, 2_000_000, None], pa.timestamp("us")),
        "cpu": pa.array([0, None, 3], pa.int16()),
        "tid": [7, 8, 7],
        "path": ["/a", None, ""],
        "took": [0.5, 1.5, float("nan")],
        "tags": [["x", "y"], [], None],
    },
    {
        "ts": pa.array([1, None, 3], pa.int64()),
        "flags": [True, None, False],
        "data": pa.array([b"\xff", b"", None], pa.binary()),
        "held": [{"a": 1, "b": "x"}, {"a": None, "b": None}, None],
        "map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int8())),
        "word": pa.array(["a", "b", "a"]).dictionary_encode(),
        "fixed": pa.array([[1, 2], [3, 4], None], pa.list_(pa.int32(), 2)),
        "null": pa.nulls(3),
        "large": pa.array(["a", None, "b"], pa.large_string()),
        "date": pa.array([1, 2, None], pa.date32()),
        "took": pa.array([1, 2, None], pa.duration("ms")),
        "exact": pa.array([1, 2, None], pa.decimal128(9, 2)),
        "half": pa.array([1.5, 2, 3], pa.float32()),
        "bytes": pa.array([b"ab", b"cd", None], pa.binary(2)),
    },
    {"x": [1.5], "y": ["a"]},
    {"ts": [1], "cpu": [1 << 40]},
    {"ts": [1e300]},
    {"ts": [0.25, 1e-9], "name": ["a", "b"]},
    {"ts": pa.array([], pa.int64())},
)


def inputs() -> list[Files]:
    """Traces with fields of any types, tables of others, and footers that make no sense."""
    found = [
        written(any_trace(seed, classes=2, events=8), target)
        for seed in range(3)
        for target in ("parquet", "parquet+dataset")
    ]
    dataset = found[1]
    for name in list(dataset)[:3]:
        found += [
            {other: data for other, data in dataset.items() if other != name},
            {**dataset, name: dataset[name][:-20]},
        ]
    return [*found, *({"": data} for data in (*_foreign(), *_damaged()))]


def _file(columns: dict[str, Any], **options: Any) -> bytes:
    output = io.BytesIO()
    pq.write_table(pa.table(columns), output, **options)
    return output.getvalue()


def _foreign() -> Iterator[bytes]:
    for columns in FOREIGN:
        yield _file(columns, row_group_size=2)
    yield _file(FOREIGN[1], use_dictionary=False, write_statistics=False, compression="zstd")


def _damaged() -> Iterator[bytes]:
    """Footers that are cut, or contradict themselves."""
    whole = _file({"ts": [1, 2, 3], "name": ["a", "b", "c"]})
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    footer = whole[start:-8]
    for at in (0, 1, 9, 60, 110):
        cut = footer[:at]
        yield whole[:start] + cut + len(cut).to_bytes(4, "little") + b"PAR1"
    for old, new in (
        (b"\x15\x0c\x19", b"\x15\x04\x19"),
        (b"\x15\x04\x19", b"\x15\x02\x19"),
        (b"\x18\x08" + bytes([3, *bytes(7)]), b"\x18\x7f" + bytes([3, *bytes(7)])),
        (b"\x19", b"\x1b"),
        (b"\x19", b"\x1e"),
        (b"\x16\x06", b"\x16" + b"\xff" * 11),
        (b"\x15\x04", b"\x1b\x01\x55"),
        (footer, b"\x1c" * 100),
    ):
        changed = footer.replace(old, new, 1)
        yield whole[:start] + changed + len(changed).to_bytes(4, "little") + b"PAR1"
    yield whole[:-8] + b"\xff\xff\xff\x7fPAR1"
    yield b"PAR1" + b"PAR1"
