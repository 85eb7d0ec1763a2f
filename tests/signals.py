"""Sends signals at random times to conversions: ``python -m tests.signals --count 500``.

A trace is converted to each format, as `tests.faults` does. Each conversion gets one of SIGINT, SIGTERM, SIGHUP and
SIGKILL, some a second one soon after. Then the output is not there, or is what was there before, and the status is 128
plus the signal's number; or it is whole, and the status is 0. Nothing temporary is left, except by SIGKILL.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from faults import Contents, Conversion, Fault, complaint, contents, conversions, prepare, run  # noqa: E402

from converter.cli.signals import handled  # noqa: E402

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
#: The share of conversions that get a second signal, and how much later at most, in seconds.
TWICE = 0.2
SOON = 0.01


def interrupted(
    folder: Path, conversion: Conversion, number: int, delay: float, again: float | None
) -> tuple[int, str]:
    """Convert in a process of its own that gets a signal: how that ended, and what it printed."""
    ends = os.pipe()
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            _convert(folder, conversion, ends[1], said.fileno())
        os.close(ends[1])
        os.read(ends[0], 1)
        time.sleep(delay)
        os.kill(child, number)
        if again is not None:
            time.sleep(again)
            os.kill(child, number)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(ends[0])
        said.seek(0)
        return status, said.read().decode()


def _convert(folder: Path, conversion: Conversion, ready: int, said: int) -> None:
    """Convert, and end the process as the command does."""
    status = 99
    try:
        os.dup2(said, 2)
        with handled():
            os.write(ready, b"x")
            status = run(folder, conversion)
            os._exit(status)
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    except SystemExit as end:
        status = int(str(end.code))
    except BaseException:  # noqa: BLE001 - the end of the child must not be that of the program
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(status)


def send(count: int, number: int) -> int:
    """Try signals in the order that a number gives, and say which end badly; how many do."""
    rng = random.Random(number)
    every = list(conversions())
    known: dict[Conversion, tuple[Path, float, Contents, Contents]] = {}
    failed = 0
    with tempfile.TemporaryDirectory(prefix="traceconv-signals-") as temporary:
        folder = Path(temporary) / "out"
        for tried in range(count):
            conversion = rng.choice(every)
            if conversion not in known:
                original = Path(temporary) / f"before-{len(known)}"
                prepare(original, conversion)
                shutil.copytree(original, folder)
                start = time.monotonic()
                if run(folder, conversion):
                    raise RuntimeError(f"{conversion}: it fails")
                took = time.monotonic() - start
                known[conversion] = original, took, contents(original), contents(folder)
                shutil.rmtree(folder)
            original, took, before, whole = known[conversion]
            shutil.copytree(original, folder)
            sent = rng.choice(SIGNALS)
            again = rng.random() * SOON if rng.random() < TWICE else None
            delay = rng.random() * took * 1.2
            status, said = interrupted(folder, conversion, sent, delay, again)
            wrong = complaint(Fault(0, signal=sent), status, said, contents(folder), before, whole)
            if wrong is None and said:
                wrong = f"it says {said[-300:]!r}"
            if wrong is not None:
                failed += 1
                name = signal.Signals(sent).name
                sys.stdout.write(f"{conversion}: {name} after {delay:.4f} s: {wrong}\n")
            shutil.rmtree(folder)
            if tried % 100 == 99:
                sys.stdout.flush()
    sys.stdout.write(f"{count} signals, {failed} failed\n")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="number of the order of the signals")
    options = parser.parse_args()
    sys.exit(bool(send(options.count, options.first)))
