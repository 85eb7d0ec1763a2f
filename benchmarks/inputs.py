"""Inputs for benchmarks: big traces made of small ones.

python -m benchmarks.inputs SEED TARGET MEGABYTES {events | pages [FORMAT]}
"""

from __future__ import annotations

import dataclasses
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import converter
from converter.ir.events import Batch

_MAGIC = b"\x17\x08\x44tracing"
_FLYRECORD = b"flyrecord\0"
_OPTIONS = b"options  \0"

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
        for column in pages:
            for copy in range(copies):
                for page in column:
                    (ts,) = struct.unpack_from(f"{order}Q", page)
                    file.write(struct.pack(f"{order}Q", ts + copy * step) + page[8:])


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
