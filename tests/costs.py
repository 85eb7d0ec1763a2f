"""Reads the worst inputs that are known, at two sizes: ``python -m tests.costs``.

Each is read to its end, columns and all, in a process of its own. The processor time for a byte of input stays below a
bound and does not grow with the size, nor does what is in memory beyond the input grow past 512 MiB.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fuzz import packed  # noqa: E402 - the path is set above
from support.inputs.costly_inputs import INPUTS  # noqa: E402

from converter.errors import TraceError  # noqa: E402
from converter.ir.events import decode  # noqa: E402
from converter.jobs.reading import open_trace  # noqa: E402
from converter.registry import FORMATS  # noqa: E402

#: Seconds that one input may take for each MB of it, and besides for anything, as modules are loaded.
PER_MEGABYTE = 30.0
BESIDES = 1.0
#: How much longer a byte of the larger input may take than one of the smaller.
GROWTH = 2.0
MEMORY = 512 << 20
#: How much larger the larger is.
TIMES = 4


@dataclass(frozen=True, slots=True)
class Cost:
    """Of reading an input: how large it is, how many events were read, seconds of the processor, bytes of memory."""

    size: int
    events: int
    seconds: float
    memory: int


def read_all(format: str, data: bytes) -> int:
    """How many events there are; all of them are decoded."""
    count = 0
    try:
        with open_trace(data, format) as trace:
            for batch in trace.batches():
                decode(batch)
                count += len(batch)
    except TraceError as error:
        str(error)
    return count


def cost(name: str, size: int) -> Cost:
    """Of reading an input of a size, in a process of its own."""
    # `perf` is also how another begins.
    format = max((one.name for one in FORMATS if name.startswith(f"{one.name}_")), key=len)
    data = packed(INPUTS[name](size))
    ends = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            read_all(format, b"")
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            start = time.process_time()
            count = read_all(format, data)
            seconds = time.process_time() - start
            more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
            os.write(ends[1], json.dumps([count, seconds, more * 1024]).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(ends[1])
    ended = os.waitpid(child, 0)[1]
    with open(ends[0], "rb") as told:
        text = told.read()
    if ended:
        raise RuntimeError(f"{name} of {len(data):,} bytes: it ends with {ended}")
    return Cost(len(data), *json.loads(text))


def faults(name: str, size: int) -> tuple[str, list[str]]:
    """What reading an input costs at two sizes, and what of it is too much."""
    small, large = (cost(name, size * times) for times in (1, TIMES))
    each = [one.seconds / one.size * 1e6 for one in (small, large)]
    told = (
        f"{name}: {large.size / 1e6:.1f} MB, {large.events:,} events: {each[1]:.2f} s/MB "
        f"({each[0]:.2f} at {small.size / 1e6:.1f} MB), {large.memory >> 20} MiB"
    )
    wrong = []
    if large.seconds > BESIDES + PER_MEGABYTE * large.size / 1e6:
        wrong.append(f"more than {PER_MEGABYTE} s/MB")
    if large.seconds > BESIDES + GROWTH * small.seconds * large.size / small.size:
        wrong.append("time grows faster than the input")
    if large.memory > MEMORY:
        wrong.append("more than 512 MiB beyond the input")
    return told, wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", choices=INPUTS, action="append")
    parser.add_argument("--size", type=int, default=1 << 20, help="bytes of the smaller one")
    options = parser.parse_args()
    failed = 0
    for chosen in options.input or INPUTS:
        line, found = faults(chosen, options.size)
        failed += bool(found)
        sys.stdout.write(f"{line}{''.join(': ' + one for one in found)}\n")
        sys.stdout.flush()
    sys.exit(bool(failed))
