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
from collections.abc import Iterable
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


def processors() -> float:
    """The processor's seconds of this process, and of those that were waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


class Way(NamedTuple):
    """What a way to convert all of them took, in seconds by the clock and of processors."""

    what: str
    seconds: float
    processors: float


def alone(what: str, todo: list[Task]) -> Way:
    """One after the other in this process."""
    begin, before = time.perf_counter(), processors()
    for task in todo:
        convert(task)
    return Way(what, time.perf_counter() - begin, processors() - before)


def on_one_cpu(todo: list[Task]) -> Way:
    """The same with one CPU, as a process has where there are as many processes as CPUs."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        return alone("one process on one CPU", todo)
    finally:
        os.sched_setaffinity(0, allowed)


def shared(count: int, warming: list[Task], todo: list[Task]) -> tuple[Way, float]:
    """By workers, and what starting these took by the clock."""
    begin = time.perf_counter()
    with scheduler(f"local:{count}") as workers:
        # What a worker does first is to import.
        done(workers.run(convert, warming))
        started = time.perf_counter() - begin
        begin = time.perf_counter()
        spent = sum(done(workers.run(convert, todo)))
        return Way(f"{count} workers", time.perf_counter() - begin, spent), started


def done(results: Iterable[tuple[int, float | BaseException]]) -> list[float]:
    """What tasks took of processors."""
    found = []
    for _, result in results:
        if isinstance(result, BaseException):
            raise result
        found.append(result)
    return found


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
        one = alone("one process, all CPUs", tasks(folder / "one", sources, given.format))
        slow = on_one_cpu(tasks(folder / "slow", sources, given.format))
        several, started = shared(
            given.workers,
            tasks(folder / "starting", sources, given.format),
            tasks(folder / "several", sources, given.format),
        )
        same = all(
            filecmp.cmp(folder / "one" / source.stem, folder / "several" / source.stem, False)
            for source in sources
        )
    print(f"{given.traces} traces, {gigabytes:.2f} GB, to {given.format}; {os.cpu_count()} CPUs")
    print(f"{'':24}{'seconds':>10}{'s/GB':>8}{'CPU s/GB':>10}{'workers are faster by':>24}")
    for way in (one, slow, several):
        print(
            f"{way.what:24}{way.seconds:10.2f}{way.seconds / gigabytes:8.2f}"
            f"{way.processors / gigabytes:10.2f}{way.seconds / several.seconds:24.2f}"
        )
    print(f"starting them and converting all once: {started:.2f} s, which is not in the above")
    print(f"same outputs: {same}; load {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
