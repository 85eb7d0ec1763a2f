"""Draws traces, writes them, and has programs of others read them: ``python -m tests.programs --seconds 60``.

Whatever the trace was, each command of uftrace and of trace-cmd, of every version that is found on PATH, ends well.
What a trace is depends on its number alone: ``--format F --first N --count 1`` makes number N again, ``--keep DIR``
leaves there what was written.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: E402 - the path is set above
from support.traces.strategies import traces  # noqa: E402
from support.uftrace.oracle import COMMANDS, LATER_COMMANDS, VERSIONS  # noqa: E402

import converter  # noqa: E402
from converter.fixtures import synthetic_trace  # noqa: E402
from converter.fixtures.kinds import GROUPS  # noqa: E402
from converter.ir.trace import Trace  # noqa: E402

#: Seconds that a program may take.
TIMEOUT = 60
#: Traces that hypothesis draws in one run: the first few of each run are the simplest.
RUN = 20


def synthetic(number: int) -> Trace:
    """A trace whose events make sense."""
    rng = random.Random(number)
    groups = rng.sample(sorted(GROUPS), rng.randint(1, 3))
    return synthetic_trace(groups, rng.randint(20, 100), number)


@lru_cache(1)
def drawn(run: int) -> list[Trace]:
    """Traces of every kind, field class and table entry, which make none."""
    found: list[Trace] = []

    @seed(run)
    @settings(
        max_examples=RUN,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(traces(max_events=40))
    def draw(trace: Trace) -> None:
        found.append(trace)

    draw()
    return found


def numbered(number: int) -> Trace:
    """The trace of this number: every fourth is drawn, which takes longer than all that is done with it."""
    turn, rest = divmod(number, 4)
    if rest:
        return synthetic(number)
    found = drawn(turn // RUN)
    return found[turn % RUN % len(found)]


def uftrace_lines(path: Path) -> Iterator[list[str]]:
    """All commands of uftrace that need no terminal."""
    for program in filter(shutil.which, VERSIONS):
        for command in COMMANDS + (LATER_COMMANDS if program != "uftrace" else ()):
            yield [program, *command, "--no-pager", "-d", str(path)]


def trace_cmd_lines(path: Path) -> Iterator[list[str]]:
    """The commands of trace-cmd that read a file."""
    for program in filter(shutil.which, ("trace-cmd", "trace-cmd-3.4")):
        for command in (["report"], ["report", "-R"], ["report", "-t", "-l"], ["report", "--stat"]):
            yield [program, *command, str(path)]
        yield [program, "dump", "--all", str(path)]


def uftrace_fault(told: str) -> str:
    """What is wrong though the program ended well."""
    return told if re.search("ERROR|inverted|broken", told) else ""


def trace_cmd_fault(told: str) -> str:
    """What is wrong though the program ended well."""
    return told


@dataclass(frozen=True, slots=True)
class Target:
    """What is written for programs to read."""

    variants: tuple[str, ...]
    lines: Callable[[Path], Iterator[list[str]]]
    fault: Callable[[str], str]


TARGETS = {
    "uftrace": Target(("uftrace",), uftrace_lines, uftrace_fault),
    "trace_cmd": Target(
        ("trace_cmd+v7", "trace_cmd+v7_none", "trace_cmd+v6"), trace_cmd_lines, trace_cmd_fault
    ),
}


def attempt(name: str, number: int, folder: Path) -> list[str]:
    """Write the trace of this number, and let programs read it; what is wrong."""
    target = TARGETS[name]
    path = folder / f"{name}-{number}"
    rng = random.Random(f"{name} {number}")
    converter.write(
        numbered(number), path, rng.choice(target.variants), lossless=rng.random() < 0.1
    )
    faults = []
    for line in target.lines(path):
        try:
            done = subprocess.run(
                line,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                timeout=TIMEOUT,
                check=False,
                close_fds=False,
            )
        except subprocess.TimeoutExpired:
            faults.append(f"{' '.join(line)}: takes more than {TIMEOUT} seconds")
            continue
        told = done.stderr.decode("utf-8", "replace")
        if done.returncode:
            faults.append(f"{' '.join(line)}: ended with {done.returncode}: {told[-500:]}")
        elif fault := target.fault(told):
            faults.append(f"{' '.join(line)}: {fault[-500:]}")
    return faults


def run(name: str, first: int, count: int, seconds: float, keep: Path | None) -> int:
    """Try numbers until there are as many, or time is over, and say which fail; how many did."""
    until = time.monotonic() + seconds
    failed, number = 0, first
    while number < first + count and time.monotonic() < until:
        with tempfile.TemporaryDirectory() as folder:
            faults = attempt(name, number, keep or Path(folder))
        for fault in faults:
            sys.stdout.write(f"{name}: number {number}: {fault}\n")
        sys.stdout.flush()
        failed += bool(faults)
        number += 1
    sys.stdout.write(f"{name}: {number - first} traces, {failed} failed\n")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=TARGETS, action="append")
    parser.add_argument("--first", type=int, default=0, help="number of the first trace")
    parser.add_argument("--count", type=int, default=10_000, help="traces for each format")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each format")
    parser.add_argument("--keep", type=Path, help="a directory for what is written")
    options = parser.parse_args()
    found = [
        run(name, options.first, options.count, options.seconds, options.keep)
        for name in options.format or TARGETS
    ]
    sys.exit(any(found))
