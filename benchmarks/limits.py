"""What the machine itself takes for the bytes of an output: to copy them, to write them, to compress them.

python -m benchmarks.limits OUTPUT SCRATCH RUNS
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import zstandard


def limits(output: Path, scratch: Path, runs: int) -> list[float]:
    """Seconds of one processor, medians, for memcpy, for write(2) to a new file, and for zstd at its default level."""
    files = [output] if output.is_file() else sorted(filter(Path.is_file, output.rglob("*")))
    data = b"".join(file.read_bytes() for file in files)
    room = bytearray(len(data))

    def copy() -> None:
        room[:] = data

    def write() -> None:
        scratch.write_bytes(data)

    def compress() -> None:
        zstandard.compress(data)

    taken = [_median(work, runs) for work in (copy, write, compress)]
    scratch.unlink()
    return taken


def _median(work: Callable[[], None], runs: int) -> float:
    work()
    taken = []
    for _ in range(runs):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return median(taken)


if __name__ == "__main__":
    print(json.dumps(limits(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))
