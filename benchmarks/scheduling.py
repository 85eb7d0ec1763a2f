"""Workers of Dask against one process, and against processes without Dask, on several traces.

python -m benchmarks.scheduling SEED FORMAT [--traces N] [--megabytes M] [--workers W] [--rounds R]

SEED is a trace.dat whose pages are repeated. The ways take turns, each begins when what was written before is on
the disk, and its median is shown. Nothing else should run meanwhile: the load is printed with the result.
"""

from __future__ import annotations

import argparse
import filecmp
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import converter
from benchmarks.inputs import repeat_trace_dat
from converter.scheduling import Scheduler, scheduler
from converter.storage.pool.workers import use_workers


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


class Spent(NamedTuple):
    """What converting all of them took, in seconds by the clock and of processors."""

    seconds: float
    processors: float


@contextmanager
def one_cpu() -> Iterator[None]:
    """One CPU for this process, as it has where there are as many processes as CPUs."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def alone(todo: list[Task]) -> float:
    """One after the other in this process; what others took, nothing."""
    for task in todo:
        convert(task)
    return 0.0


def alone_on_one_cpu(todo: list[Task]) -> float:
    """The same with one CPU."""
    with one_cpu():
        return alone(todo)


def by_processes(pool: ProcessPoolExecutor, todo: list[Task]) -> float:
    """By processes that take them one after the other; what these took of processors."""
    return sum(pool.map(convert, todo))


def by_workers(workers: Scheduler, todo: list[Task]) -> float:
    """By workers of Dask, likewise."""
    return sum(done(workers.run(convert, todo)))


def done(results: Iterable[tuple[int, float | BaseException]]) -> list[float]:
    """What tasks took of processors."""
    found = []
    for _, result in results:
        if isinstance(result, BaseException):
            raise result
        found.append(result)
    return found


def measured(way: Callable[[list[Task]], float], todo: list[Task]) -> Spent:
    """What a way takes, what this process has to do for it included."""
    os.sync()
    begin, before = time.perf_counter(), time.process_time()
    others = way(todo)
    return Spent(time.perf_counter() - begin, others + time.process_time() - before)


def main() -> None:
    """Measure, compare the outputs, and print what a gigabyte costs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=Path)
    parser.add_argument("format")
    parser.add_argument("--traces", type=int, default=8)
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    count = given.workers
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = folder / "0.dat"
        repeat_trace_dat(given.seed, first, given.megabytes)
        sources = [first]
        for number in range(1, given.traces):
            sources.append(folder / f"{number}.dat")
            os.link(first, sources[-1])
        gigabytes = given.traces * first.stat().st_size / 1e9
        begin = time.perf_counter()
        spawn = multiprocessing.get_context("spawn")
        with (
            scheduler(f"local:{count}") as workers,
            ProcessPoolExecutor(count, spawn, use_workers, (1,)) as pool,
        ):
            started = time.perf_counter() - begin
            ways: dict[str, Callable[[list[Task]], float]] = {
                "one process, all CPUs": alone,
                "one process on one CPU": alone_on_one_cpu,
                f"{count} processes, no Dask": partial(by_processes, pool),
                f"{count} workers": partial(by_workers, workers),
            }
            took: dict[str, list[Spent]] = {what: [] for what in ways}
            same = True
            # What a process does first is to import: the first round is not one.
            for number in range(given.rounds + 1):
                for index, (what, way) in enumerate(ways.items()):
                    spent = measured(way, tasks(folder / str(index), sources, given.format))
                    if number:
                        took[what].append(spent)
                    same = same and alike(folder / "0", folder / str(index))
                    if index:
                        shutil.rmtree(folder / str(index))
                shutil.rmtree(folder / "0")
    print(f"{given.traces} traces, {gigabytes:.2f} GB, to {given.format}; {os.cpu_count()} CPUs")
    print(f"{'':24}{'seconds':>10}{'s/GB':>8}{'CPU s/GB':>10}{'workers are faster by':>24}")
    seconds = {what: median(spent.seconds for spent in runs) for what, runs in took.items()}
    for what, runs in took.items():
        processors = median(spent.processors for spent in runs) / gigabytes
        print(
            f"{what:24}{seconds[what]:10.2f}{seconds[what] / gigabytes:8.2f}{processors:10.2f}"
            f"{seconds[what] / seconds[f'{count} workers']:24.2f}"
        )
    print(f"starting the workers: {started:.2f} s, which is not in the above")
    print(f"same outputs: {same}; load {os.getloadavg()[0]:.2f}")


def alike(one: Path, other: Path) -> bool:
    """Whether two folders have the same files."""
    names = sorted(path.name for path in one.iterdir())
    found = sorted(path.name for path in other.iterdir())
    return names == found and all(filecmp.cmp(one / n, other / n, False) for n in names)


if __name__ == "__main__":
    main()
