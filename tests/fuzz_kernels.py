"""Makes the calls of kernels again with changed bytes: ``python -m tests.fuzz_kernels --minutes 10``.

`tests.fuzz` changes whole inputs, and most of the time of each goes into opening it. Here inputs are read and written
once, and the calls of compiled modules are kept; then single calls are made anew, with those that they need and some
behind them, and one of their buffers or arrays changed: a window of an input, the places of records in it, the columns
of a batch. Whatever a kernel is given, it ends with a result or refuses; it never reads or writes elsewhere, which
``python -m tests.instrumented sanitized tests.fuzz_kernels`` watches. A call depends on its format and number alone:
``--first NUMBER --count 1`` makes it again. A run over all formats fails, too, if no call of a kernel was kept, unless
`support.fuzzing.kernel_calls.UNCALLED` says why.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fuzz import (  # noqa: E402 - the path is set above
    GROWTH,
    PART,
    REPORT,
    SHOWN,
    Shared,
    attempt,
    forked,
    limited,
    most_memory,
    originals,
    targets,
)
from support.fuzzing.corpus import Files, packed, size_of  # noqa: E402
from support.fuzzing.kernel_calls import KERNELS, UNCALLED, Recording, changed, recorded  # noqa: E402
from support.fuzzing.kernel_examples import EXAMPLES  # noqa: E402

from converter.errors import DefectError  # noqa: E402
from converter.registry import FORMATS  # noqa: E402
from converter.storage.pool.workers import use_workers  # noqa: E402

#: So many of the smallest inputs of a format that can be read are, and each written once.
INPUTS = 80
#: Calls of one child process.
ROUND = 500_000
#: In place of a format: calls of kernels that hardly any input leads to.
OTHERS = "examples"
#: After so many calls the clock is looked at.
LOOK = 4096
#: Kernels of which calls were kept in this run.
REACHED: set[str] = set()


def recordings(format: str, inputs: list[Files]) -> list[Recording]:
    """The calls of reading inputs of a format, and of writing each in one of the formats."""
    if format == OTHERS:
        return [made(example) for example in EXAMPLES]
    use_workers(1)
    found = []
    ordered = sorted(inputs, key=size_of)
    names = ["", REPORT, PART, SHOWN, *targets()]
    for name in names:  # modules are imported before their calls can be kept
        attempt(format, packed(ordered[-1]), name, lossless=False)
    for files in ordered:
        for name in ("", names[1 + len(found) // 2 % (len(names) - 1)]):
            with recorded() as recording:
                try:
                    is_read = attempt(format, packed(files), name, lossless=False)
                except DefectError as error:
                    # Not every kernel takes what stands before another's object; `tests.fuzz` finds what fails without.
                    sys.stdout.write(f"{format} to {name}: not kept: {error}\n")
                    is_read = False
            if not is_read:
                break
            if recording.inputs:
                found.append(recording)
        if len(found) >= 2 * INPUTS:
            break
    use_workers(None)
    return found


def made(example: Callable[[], None]) -> Recording:
    """The calls of an example."""
    with recorded() as recording:
        example()
    return recording


def reached(among: list[Recording]) -> set[str]:
    """The kernels of which calls were kept."""
    return set().union(*(recording.kernels() for recording in among))


def chosen(
    format: str, number: int, among: list[Recording]
) -> tuple[Recording, int, list[int | str], Any]:
    """The call of this number: whose it is, which one, the place of what is changed, and what it becomes."""
    rng = random.Random(f"{format} {number}")
    recording = rng.choice(among)
    step, path, value = rng.choice(recording.inputs)
    return recording, step, path, changed(value, rng)


class Child:
    """A process that makes calls until one of them ends it."""

    def __init__(self, format: str, among: list[Recording], shared: Shared) -> None:
        self._format = format
        self._among = among
        self._shared = shared
        self._known: Counter[str] = Counter()
        warnings.simplefilter("error")
        faulthandler.enable()
        faulthandler.register(signal.SIGPROF, chain=True)
        self._seconds = limited()
        self._most = most_memory()

    def run(self, first: int, end: int, until: float) -> None:
        """Make calls."""
        failed = 0
        for number in range(first, min(first + ROUND, end)):
            self._shared.tell(number, 0, failed)
            if number % LOOK == 0 and time.monotonic() > until and number > first:
                return
            signal.setitimer(signal.ITIMER_PROF, self._seconds)
            failed += self._fails(number)
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._shared.tell(min(first + ROUND, end), 0, failed)

    def _fails(self, number: int) -> bool:
        recording, step, path, value = chosen(self._format, number, self._among)
        try:
            recording.again(step, path, value)
        except Exception:  # noqa: BLE001 - any that `again` lets through is a finding
            fault = traceback.format_exc()
            place = "\n".join(fault.splitlines()[-3:])
            if not self._known[place]:
                sys.stdout.write(
                    f"{fault}{self._format} {number}: {recording.named(step)} failed\n"
                )
                sys.stdout.flush()
            self._known[place] += 1
            return True
        finally:
            # Arrays come from Python, which knows how large their results may be; bytes are anybody's.
            before, self._most = self._most, most_memory()
            grown = self._most - before
            if grown > GROWTH and isinstance(value, bytes):
                sys.stdout.write(f"{grown >> 20} MiB of memory\n")
                sys.stdout.flush()
                os._exit(1)
        return False


def fuzz(format: str, seconds: float, first: int, count: int) -> int:
    """Make calls from a number on, and say which fail; how many did."""
    among = recordings(format, [] if format == OTHERS else originals(format))
    REACHED.update(reached(among))
    until, end = time.monotonic() + seconds, first + count
    shared = Shared()
    number, failed = first, 0

    def make_calls() -> None:
        Child(format, among, shared).run(number, end, until)

    while number == first or (number < end and time.monotonic() < until):
        shared.tell(number, 0, 0)
        status = forked(make_calls)
        number, _, bad, *_ = shared.told()
        if status:
            recording, step, *_ = chosen(format, number, among)
            sys.stdout.write(f"{format} {number}: {recording.named(step)} ended with {status}\n")
        number, failed = number + (status != 0), failed + bad + (status != 0)
    calls = sum(len(recording.steps) for recording in among)
    sys.stdout.write(f"{format}: {number - first} of {calls} calls changed, {failed} failed\n")
    sys.stdout.flush()
    return failed


if __name__ == "__main__":
    names = [*(format.name for format in FORMATS if format.readable), OTHERS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=1, help="for each format")
    parser.add_argument("--format", choices=names, action="append")
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    parser.add_argument("--count", type=int, default=1 << 60, help="of calls, for each format")
    options = parser.parse_args()
    found = [
        fuzz(name, 60 * options.minutes, options.first, options.count)
        for name in options.format or names
    ]
    forgotten = [] if options.format else sorted(KERNELS - REACHED - UNCALLED.keys())
    for kernel in forgotten:
        sys.stdout.write(f"{kernel}: no call of it was kept\n")
    sys.exit(any(found) or bool(forgotten))
