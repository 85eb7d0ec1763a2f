"""Running a command and measuring what it took."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

#: Of commands: byte code is kept, as it is where the command is installed.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
#: The tools that commands are compared with do not wait for the disk either.
ENVIRONMENT["TRACECONV_NO_SYNC"] = "1"


@dataclass(frozen=True, slots=True)
class Run:
    """One run: wall-clock and processor time in seconds, peak memory in bytes."""

    seconds: float
    processor: float
    memory: int


def measure(command: Sequence[str]) -> Run:
    """Run a command, its output going nowhere.

    Memory is the largest resident set (ru_maxrss of wait4(2), in KiB on Linux) of the command and the children that it
    has waited for.
    """
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.stderr.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode}\n{said.decode()}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)


def interleaved(commands: Sequence[Sequence[str]], runs: int) -> list[Run]:
    """The median run of each command (each quantity by itself).

    The commands take turns, so that a machine that slows down slows all of them; a first round fills the caches and
    is not counted.
    """
    measured: list[list[Run]] = [[] for _ in commands]
    for turn in range(runs + 1):
        for command, held in zip(commands, measured, strict=True):
            run = measure(command)
            if turn:
                held.append(run)
    return [
        Run(
            median(run.seconds for run in held),
            median(run.processor for run in held),
            int(median(run.memory for run in held)),
        )
        for held in measured
    ]
