"""How long the main pairs take on so many processors: measured where the machine has them, else simulated.

python -m benchmarks --cores 1,2,4,16,64 [--case NAME] [--megabytes M] [--input FILE] [--runs R] [--cache FOLDER]

A command is run with as many threads and bound to as many processors. What is simulated comes from a recording of the
same command (`pool_recording`), which the model (`pool_model`) distributes over simulated processors.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.cases import PAIRS, Case, made
from benchmarks.pool_model import simulate
from benchmarks.pool_recording import record
from benchmarks.processes import measure


class Row(NamedTuple):
    """A case on a number of processors: seconds by the clock, and the processors that are busy on average."""

    case: str
    processors: int
    simulated: float
    busy: float
    measured: float | None
    measured_busy: float | None

    def line(self) -> str:
        """Return the row of the table."""
        measured = error = ""
        if self.measured is not None:
            measured = f"{self.measured:.2f} s, {self.measured_busy:.2f} busy"
            error = f"{self.simulated / self.measured - 1:+.0%}"
        simulated = f"{self.simulated:.2f} s, {self.busy:.2f} busy"
        return f"{self.case:<26}{self.processors:>6}{simulated:>22}{measured:>22}{error:>8}"


HEADING = f"{'case':<26}{'cores':>6}{'simulated':>22}{'measured':>22}{'error':>8}"


def run(
    cores: Sequence[int],
    *,
    names: Sequence[str] | None,
    megabytes: int,
    given: Path | None,
    runs: int,
    cache: Path | None,
) -> None:
    """Print a line for each case and number of processors.

    Args:
        cores: the numbers of processors.
        names: only cases with one of these in their names; None for conversions of trace.dat.
        megabytes: the size of inputs that are made.
        given: a file to use in place of these.
        runs: the number of runs and of recordings, of which the median is taken.
        cache: a folder where inputs are kept.

    """
    print(HEADING)
    with tempfile.TemporaryDirectory(prefix="traceconv-benchmark-") as folder:
        if cache is not None:
            cache.mkdir(parents=True, exist_ok=True)
        for case in PAIRS:
            if not case.counted or not case.output:
                continue
            if not any(name in case.name for name in names or ("trace_cmd to ",)):
                continue
            source = given or made(case, cache or Path(folder), megabytes)
            for count in cores:
                print(_row(case, source, Path(folder), count, runs).line(), flush=True)


def _row(case: Case, source: Path, folder: Path, processors: int, runs: int) -> Row:
    command = [*case.ours(source, folder / case.output), "--jobs", str(processors)]
    recordings = [
        record(command[3:]) for _ in range(runs)
    ]  # less the interpreter, -m and the module
    simulated = [simulate(recording, processors) for recording in recordings]
    measured = busy = None
    allowed = sorted(os.sched_getaffinity(0))
    if processors <= len(allowed):
        os.sched_setaffinity(0, allowed[:processors])
        try:
            found = [measure(command) for _ in range(runs)]
        finally:
            os.sched_setaffinity(0, allowed)
        measured = median(one.seconds for one in found)
        busy = median(one.processor / one.seconds for one in found)
    seconds = median(one.seconds for one in simulated)
    return Row(case.name, processors, seconds, median(s.busy for s in simulated), measured, busy)
