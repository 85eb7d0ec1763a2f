"""Converts traces that have very many of one thing: ``python -m tests.scale --to 12``.

A dimension is something that traces have a number of (tasks, classes, fields, pages, ...). For each there is a trace of
0, 1 and 2, and of 2^k - 1, 2^k and 2^k + 1 for k from 7 on, where tables of kernels are renewed, or of what the format
has as its limit. Of each in each format:

    law         what is read of what was written is what the format can hold
    names       each name that was drawn is there
    programs    trace-cmd, Babeltrace, uftrace and trace_processor read the same events, those of them that are on PATH

Each case is a process of its own, so that a crash is a finding. With ``--valgrind`` each format is read and written
once under valgrind instead, on kernels as they are, and only reports that pass through one of these count.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import importlib
import os
import pkgutil
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import pytest  # noqa: E402 - the path is set above
from scale import watched  # noqa: E402
from scale.checks import TARGETS, check_law, check_program, drawn_case, programs_for  # noqa: E402
from scale.dimensions import DIMENSIONS  # noqa: E402
from scale.drawn import FIRST, LAST, Dimension  # noqa: E402

from converter.registry import format_named  # noqa: E402

#: A dimension is not tried at larger sizes when one took longer than this, in seconds.
PATIENCE = 120.0


def outcomes(
    dimension: Dimension, size: int, targets: list[str], with_programs: bool
) -> Iterator[tuple[str, str, str]]:
    """What came of one size: the format, what was checked there, and what is wrong, if anything."""
    with tempfile.TemporaryDirectory(prefix="traceconv-scale-") as folder:
        with drawn_case(dimension, size, Path(folder)) as case:
            yield "", "read", ""
            for target in targets:
                yield target, "law", "started"
                path = None
                try:
                    path = check_law(case, target)
                    yield target, "law", ""
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - any is a finding
                    yield target, "law", described(error)
                if path is None:
                    continue
                for program in programs_for(target) if with_programs else ():
                    try:
                        check_program(case, target, path, program)
                        yield target, program, ""
                    except Exception as error:  # noqa: BLE001
                        yield target, program, described(error)
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def described(error: BaseException) -> str:
    """An error in one line, with where it came from unless that is a check."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f" ({Path(frame.filename).name}:{frame.lineno})"
    return f"{type(error).__name__}: {error}{where}".replace("\n", " ").replace("\t", " ")[:400]


class Tally:
    """Cases by dimension and format, and findings."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {}
        self.largest: dict[str, int] = {}
        self.findings: list[str] = []

    def note(self, dimension: str, size: int, target: str, check: str, fault: str) -> None:
        """Count one check."""
        counts = self.counts.setdefault(dimension, Counter())
        self.largest[dimension] = max(self.largest.get(dimension, 0), size)
        column = target.partition("+")[0] if check == "law" else check
        counts[column] += 1
        if fault:
            found = f"{dimension} {size} {target} {check}: {fault}"
            self.findings.append(found)
            sys.stdout.write(f"{found}\n")
            sys.stdout.flush()

    def table(self) -> str:
        """Cases by dimension and format, as a table of Markdown."""
        columns = list(dict.fromkeys(name for counts in self.counts.values() for name in counts))
        lines = [f"| dimension | up to | {' | '.join(columns)} |"]
        lines.append(f"| --- | ---: |{' ---: |' * len(columns)}")
        for name, counts in self.counts.items():
            cells = [str(counts[column] or "") for column in columns]
            lines.append(f"| {name} | {self.largest[name]:,} | {' | '.join(cells)} |")
        sums = [str(sum(one[column] for one in self.counts.values())) for column in columns]
        lines.append(f"| all | | {' | '.join(sums)} |")
        return "\n".join(lines)


def run_size(
    dimension: Dimension, size: int, targets: list[str], with_programs: bool, tally: Tally
) -> None:
    """Try one size in a process of its own."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(reading)
        status = 1
        with contextlib.suppress(BaseException):
            status = work(dimension, size, targets, with_programs, writing)
        os._exit(status)
    os.close(writing)
    last = ("", "read", "started")
    with os.fdopen(reading, encoding="utf-8", errors="replace") as told:
        for line in told:
            target, check, fault = line.rstrip("\n").split("\t")
            last = target, check, fault
            if fault != "started":
                tally.note(dimension.name, size, target, check, fault)
    status = os.waitpid(child, 0)[1]
    if status:
        fault = f"the process ended by {signal.Signals(status & 127).name}" if status & 127 else ""
        tally.note(
            dimension.name, size, *last[:2], fault or f"the process ended with {status >> 8}"
        )


def work(
    dimension: Dimension, size: int, targets: list[str], with_programs: bool, writing: int
) -> int:
    """Check one size, and tell of each check."""
    faulthandler.enable(sys.__stderr__)
    with os.fdopen(writing, "w", encoding="utf-8") as told:
        try:
            for outcome in outcomes(dimension, size, targets, with_programs):
                told.write("\t".join(outcome) + "\n")
                told.flush()
        except BaseException as error:  # noqa: BLE001 - any is a finding
            told.write(f"\tread\t{described(error)}\n")
    return 0


def imported() -> None:
    """Import what conversions import when they need it, so that each process has it."""
    for package in ("formats", "projection", "columnar", "storage"):
        folder = [str(ROOT / "converter" / package)]
        for module in pkgutil.walk_packages(folder, f"converter.{package}."):
            if ".remote" not in module.name:
                importlib.import_module(module.name)


def run(options: argparse.Namespace) -> Tally:
    """Try all that is asked for."""
    tally = Tally()
    targets = [name for name in TARGETS if not options.format or matches(name, options.format)]
    for name in options.dimension or DIMENSIONS:
        dimension = DIMENSIONS[name]
        given = dimension.sizes(options.to) if options.sizes is None else options.sizes
        # What a dimension has no room for is tried as the most or the least that it has.
        for size in dict.fromkeys(dimension.within(size) for size in given):
            start = time.monotonic()
            run_size(dimension, size, targets, options.programs, tally)
            if time.monotonic() - start > options.patience:
                sys.stdout.write(f"{name}: no more than {size:,}, which took longer\n")
                break
        sys.stdout.write(f"{name}: {tally.counts[name].total()} checks\n")
        sys.stdout.flush()
    return tally


def matches(name: str, wanted: list[str]) -> bool:
    """Whether a format and variant is among those that are named."""
    for one in wanted:
        format, variant = format_named(one)
        own, _, its = name.partition("+")
        if own == format.name and ("+" not in one or its == variant):
            return True
    return False


def main() -> int:
    """Run the command; 1 if anything was found."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dimension", choices=DIMENSIONS, action="append", metavar="NAME")
    parser.add_argument("--format", action="append", help="write only this one")
    parser.add_argument("--sizes", type=int, nargs="+", help="in place of those around powers of 2")
    parser.add_argument(
        "--to", type=int, default=LAST, metavar="K", help="sizes around 2^K are the largest"
    )
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, help="seconds of a size that end its dimension"
    )
    parser.add_argument(
        "--no-programs", dest="programs", action="store_false", help="ask nobody else"
    )
    parser.add_argument("--list", action="store_true", help="print all dimensions")
    parser.add_argument("--valgrind", action="store_true", help="run conversions under valgrind")
    options = parser.parse_args()
    if options.list:
        for one in DIMENSIONS.values():
            what = (one.draw.__doc__ or "").partition("\n")[0]
            sys.stdout.write(f"{one.name:28} {one.format or 'all':13} {what}\n")
        return 0
    if options.valgrind:
        return watched.main(options.format, (options.sizes or [watched.SIZE])[0])
    imported()
    tally = run(options)
    sys.stdout.write(f"{tally.table()}\n{len(tally.findings)} findings\n")
    return int(bool(tally.findings))


assert FIRST <= LAST
if __name__ == "__main__":
    sys.exit(main())
