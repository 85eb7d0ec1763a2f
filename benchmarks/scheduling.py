"""Workers of Dask against one process, on several traces.

python -m benchmarks.scheduling SEED FORMAT [--traces N] [--megabytes M] [--workers W]

SEED is a trace.dat whose pages are repeated. Nothing else should run meanwhile: the load is printed with the result.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import converter
from benchmarks.inputs import repeat_trace_dat
from converter.scheduling import scheduler


class Task(NamedTuple):
    """One conversion."""

    source: str
    target: str
    format: str


def convert(task: Task) -> float:
    """Convert; the processor's seconds that it took."""
    begin = time.process_time()
    converter.convert(task.source, task.target, target_format=task.format)
    return time.process_time() - begin


def tasks(folder: Path, sources: list[Path], format: str) -> list[Task]:
    """A conversion for each trace, into a folder."""
    folder.mkdir()
    return [Task(str(source), str(folder / source.stem), format) for source in sources]


def main() -> None:
    """Measure, compare the outputs, and print what a gigabyte costs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=Path)
    parser.add_argument("format")
    parser.add_argument("--traces", type=int, default=8)
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--workers", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = folder / "0.dat"
        repeat_trace_dat(given.seed, first, given.megabytes)
        sources = [first]
        for number in range(1, given.traces):
            sources.append(folder / f"{number}.dat")
            os.link(first, sources[-1])
        gigabytes = given.traces * first.stat().st_size / 1e9
        convert(tasks(folder / "warm", sources[:1], given.format)[0])

        begin = time.perf_counter()
        alone = [convert(task) for task in tasks(folder / "one", sources, given.format)]
        one = time.perf_counter() - begin

        begin = time.perf_counter()
        with scheduler(f"local:{given.workers}") as workers:
            # What a worker does first is to import.
            list(workers.run(convert, tasks(folder / "starting", sources[:1], given.format)))
            started = time.perf_counter() - begin
            begin = time.perf_counter()
            results = dict(workers.run(convert, tasks(folder / "several", sources, given.format)))
            several = time.perf_counter() - begin
        for result in results.values():
            if isinstance(result, BaseException):
                raise result
        spent = sum(result for result in results.values() if isinstance(result, float))
        same = all(
            filecmp.cmp(folder / "one" / source.stem, folder / "several" / source.stem, False)
            for source in sources
        )
    print(f"{given.traces} traces, {gigabytes:.2f} GB, to {given.format}; {os.cpu_count()} CPUs")
    print(f"one process        {one:8.2f} s  {one / gigabytes:6.2f} s/GB")
    print(f"{given.workers} workers          {several:8.2f} s  {several / gigabytes:6.2f} s/GB")
    print(f"faster by          {one / several:8.2f}")
    print(
        f"processor          {sum(alone) / gigabytes:8.2f} s/GB alone, {spent / gigabytes:.2f} s/GB"
    )
    print(f"starting them      {started:8.2f} s, which is not in the above")
    print(f"same outputs       {same}")
    print(f"load               {os.getloadavg()[0]:8.2f}")


if __name__ == "__main__":
    main()
