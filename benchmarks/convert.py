"""How fast traceconv is, beside each format's own tool reading the same file, and beside the machine's own limits.

python -m benchmarks.convert [--runs 5] [--megabytes 64] [--sizes 1,4,16] [--cache FOLDER] [--input FILE] [--case NAME]
[--write]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import figures
from benchmarks.cases import CASES, PAIRS, Case, events_in, made
from benchmarks.figures import Figures
from benchmarks.processes import ENVIRONMENT, interleaved

#: Instructions of an event, as last counted.
_COUNTED = Path(__file__).with_name("instructions.json")


def main() -> None:
    """Measure the cases and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each command")
    parser.add_argument("--megabytes", type=int, default=64, help="size of the smallest inputs")
    parser.add_argument("--sizes", default="1,4,16", help="inputs are so many times that large")
    parser.add_argument("--cache", type=Path, help="a folder where inputs are kept")
    parser.add_argument("--input", type=Path, help="a file to use in place of generated ones")
    parser.add_argument("--case", action="append", help="only cases with this in their name")
    parser.add_argument("--pairs", action="store_true", help="only the main pairs")
    parser.add_argument("--write", action="store_true", help="put them into benchmarks/README.md")
    options = parser.parse_args()
    cases = [
        case
        for case in (PAIRS if options.pairs else CASES)
        if options.case is None or any(text in case.name for text in options.case)
    ]
    sizes = [options.megabytes * int(times) for times in options.sizes.split(",")]
    print(figures.heading())
    measured: list[list[Figures]] = []
    with _folder() as scratch, _folder(options.cache) as cache:
        for case in cases:
            sources = [options.input] if options.input else [made(case, cache, mb) for mb in sizes]
            measured.append([])
            for source in sources:
                measured[-1].append(_measured(case, source, scratch, options.runs))
                print(figures.line(measured[-1][-1]), flush=True)
            if len(measured[-1]) > 1:
                print(figures.growth(measured[-1]), flush=True)
    if options.write:
        figures.keep(measured, _told(options.runs))


def _told(runs: int) -> str:
    load = os.getloadavg()[1]
    return (
        f"{os.cpu_count()} processors ({platform.machine()}, Python {platform.python_version()}), which others used as "
        f"well (load {load:.1f}); medians of {runs} interleaved runs.\n"
    )


@contextmanager
def _folder(kept: Path | None = None) -> Iterator[Path]:
    """One that stays, or one that goes."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="traceconv-benchmark-") as folder:
        yield Path(folder)


def _measured(case: Case, source: Path, scratch: Path, runs: int) -> Figures:
    output = scratch / (case.output or "report.txt")
    theirs = case.theirs(source, scratch)
    events = events_in(source)
    run, *tools = interleaved([case.ours(source, output), *([theirs] if theirs else [])], runs)
    counted = json.loads(_COUNTED.read_text())["cases"].get(case.name)
    limits = [str(output), str(scratch / "limits"), str(runs)]
    command = [sys.executable, "-m", "benchmarks.limits", *limits]
    told = subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT)
    taken = tuple(json.loads(told.stdout))
    if output.is_dir():
        shutil.rmtree(output)
    return Figures(case.name, events, run, tools[0] if tools else None, taken, counted)


if __name__ == "__main__":
    main()
