"""Inputs for benchmarks: big traces made of small ones.

python -m benchmarks.inputs SEED TARGET MEGABYTES {events | pages [FORMAT]}
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import converter
from converter.ir.events import Batch

_MAGIC = b"\x17\x08\x44tracing"
_FLYRECORD = b"flyrecord\0"
_OPTIONS = b"options  \0"

#: Of a page of the ring buffer: the bits of its size, kinds of records, and the bits of a time beside the kind.
_SIZE_BITS = 0xFFFFF
_PADDING = 29
_TIME_EXTEND = 30
_TIME_STAMP = 31
_LOW_BITS = (1 << 27) - 1

#: Between two copies, so that events at the end of a page are over when the next copy begins.
_PAUSE_NS = 1_000_000_000


def repeat_trace_dat(source: Path, target: Path, megabytes: int) -> None:
    """Write a trace.dat of version 6 with about so many megabytes of ring-buffer pages.

    The pages are those of `source`, over and over, each copy later than the one before. Everything in front of them
    (event formats, symbols, options) stays as it is. The layout is that of trace-cmd.dat.v6(5): after the options the
    word "flyrecord", then offset and size of each CPU's pages. A `source` of version 7 is converted by trace-cmd first.
    """
    data = source.read_bytes()
    if not data.startswith(_MAGIC + b"6\0"):
        data = _as_version_6(source)
    order = ">" if data[12] else "<"
    (page_size,) = struct.unpack_from(f"{order}I", data, 14)
    (cpus,) = struct.unpack_from(f"{order}I", data, data.rindex(_OPTIONS) - 4)
    table = data.rindex(_FLYRECORD) + len(_FLYRECORD)
    spans = [struct.unpack_from(f"{order}QQ", data, table + 16 * cpu) for cpu in range(cpus)]
    pages = [
        [data[at : at + page_size] for at in range(offset, offset + size, page_size)]
        for offset, size in spans
    ]
    declared = re.search(rb"field: char data;\s*offset:(\d+)", data)
    header = int(declared[1]) if declared is not None else 16
    stamps = [[list(_time_stamps(page, header, order)) for page in column] for column in pages]
    # A page begins with the time of its first event.
    times = [struct.unpack_from(f"{order}Q", page)[0] for column in pages for page in column]
    step = max(times) - min(times) + _PAUSE_NS
    copies = max(1, (megabytes << 20) // sum(size for _, size in spans))
    start = -(-(table + 16 * cpus) // page_size) * page_size
    with target.open("wb") as file:
        file.write(data[:table])
        offset = start
        for column in pages:
            size = len(column) * copies * page_size
            file.write(struct.pack(f"{order}QQ", offset, size))
            offset += size
        file.write(bytes(start - file.tell()))
        for column, stamped in zip(pages, stamps, strict=True):
            for copy in range(copies):
                for page, places in zip(column, stamped, strict=True):
                    file.write(_later(page, places, copy * step, order))


def _time_stamps(page: bytes, header: int, order: str) -> Iterator[int]:
    """Where the absolute times are among the records of a page (kernel, Documentation/trace/ring-buffer-design)."""
    (size,) = struct.unpack_from(f"{order}{'Q' if header == 16 else 'I'}", page, 8)
    at = header
    end = min(at + (size & _SIZE_BITS), len(page) - 7)
    while at < end:
        word, second = struct.unpack_from(f"{order}II", page, at)
        kind = word & 31 if order == "<" else word >> 27
        if kind == _TIME_STAMP:
            yield at
        if kind >= _TIME_EXTEND:
            at += 8
        elif kind in (0, _PADDING):
            at += 4 + second
        else:
            at += 4 + 4 * kind


def _later(page: bytes, stamps: Sequence[int], by: int, order: str) -> bytes:
    """A page whose events are so many nanoseconds later."""
    result = bytearray(page)
    (ts,) = struct.unpack_from(f"{order}Q", page)
    struct.pack_into(f"{order}Q", result, 0, ts + by)
    for at in stamps:
        word, high = struct.unpack_from(f"{order}II", page, at)
        low = word >> 5 if order == "<" else word & _LOW_BITS
        ts = (high << 27 | low) + by
        low = ts & _LOW_BITS
        word = low << 5 | _TIME_STAMP if order == "<" else _TIME_STAMP << 27 | low
        struct.pack_into(f"{order}II", result, at, word, ts >> 27 & 0xFFFFFFFF)
    return bytes(result)


def repeat_trace(source: Path, target: Path, megabytes: int) -> None:
    """Write a trace of `source`'s format and about so many megabytes: its events, over and over, each time later."""
    trace = converter.read(source)
    files = [source] if source.is_file() else source.rglob("*")
    copies = max(1, (megabytes << 20) // sum(file.stat().st_size for file in files))
    batches = list(trace.batches())
    step = max(int(batch.ts.max()) for batch in batches) - min(
        int(batch.ts.min()) for batch in batches
    )

    def repeated() -> Iterator[Batch]:
        for copy in range(copies):
            for batch in batches:
                yield Batch(
                    ts=batch.ts + copy * (step + _PAUSE_NS),
                    class_id=batch.class_id,
                    row=batch.row,
                    tables=batch.tables,
                    thread=batch.thread,
                    cpu=batch.cpu,
                    track=batch.track,
                )

    # Without what its own writer would replay.
    again = dataclasses.replace(trace, format="", sidecar={}, make_batches=repeated)
    converter.write(again, target, trace.format)


def _as_version_6(source: Path) -> bytes:
    if shutil.which("trace-cmd") is None:
        raise SystemExit(
            f"making an input of {source} takes trace-cmd; --input names a file instead"
        )
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "version6.dat"
        versions = ("--file-version", "6", "--compression", "none")
        command = ["trace-cmd", "convert", *versions, "-i", str(source), "-o", str(target)]
        subprocess.run(command, check=True, capture_output=True)
        return target.read_bytes()


def make(seed: Path, target: Path, megabytes: int, how: str, to: str = "") -> None:
    """Repeat the events of a trace, or the pages of a trace.dat, which then becomes another format's."""
    if how == "events":
        repeat_trace(seed, target, megabytes)
    elif not to:
        repeat_trace_dat(seed, target, megabytes)
    else:
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            big = Path(folder) / "big.dat"
            repeat_trace_dat(seed, big, megabytes)
            converter.convert(big, target, target_format=to)


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
