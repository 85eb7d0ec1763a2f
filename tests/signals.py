"""Sends signals at random times to conversions: ``python -m tests.signals --count 500``.

A trace is converted to each format, as `tests.faults` does. Each conversion gets one of SIGINT, SIGTERM, SIGHUP and
SIGKILL, some a second one soon after. Then the output is not there, or is what was there before, and the status is 128
plus the signal's number; or it is whole, and the status is 0. Nothing temporary is left, except by SIGKILL. The other
commands get the same signals; of those with several outputs each is whole. What has not ended after a minute hangs.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from faults import (  # noqa: E402
    SOURCE,
    Contents,
    Conversion,
    Fault,
    complaint,
    contents,
    conversions,
    prepare,
    run,
)

from converter.cli import main  # noqa: E402
from converter.cli.signals import handled  # noqa: E402

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
#: The share of conversions that get a second signal, and how much later at most, in seconds.
TWICE = 0.2
SOON = 0.01
#: Seconds after which a command hangs.
LONG = 60
#: What a batch has finished.
RECORD = ".traceconv-batch.jsonl"


@dataclass(frozen=True)
class Command(Conversion):
    """Another command, and whether it has several outputs, of which those that are complete stay."""

    several: bool = False


def commands() -> Iterator[Command]:
    """All commands that read a trace and end by themselves; `name` is what each writes."""
    source = str(SOURCE)
    for words in (
        ("info", source),
        ("info", source, "--stats"),
        ("check", source),
        ("diff", source, source),
        ("roundtrip", source, "--via", "tcir"),
    ):
        yield Command("", words, replaces=False)
    for replaces in (False, True):
        for name, words in (
            ("out.txt", ("report", source)),
            ("out.html", ("view", source)),
            ("out.fxt", ("recover", source)),
            ("out.dat", ("recover", source)),
        ):
            yield Command(name, words, replaces=replaces)
    yield Command("part.json", (source, "--split", "5ms"), replaces=False, several=True)
    yield Command("part.ctf", (source, "--split", "cpu", "-t", "ctf"), False, several=True)
    for jobs in ("1", "2"):
        words = ("batch", source, "-t", "fxt", "-j", jobs)
        yield Command("folder", words, replaces=False, several=True)


def started(folder: Path, conversion: Conversion, more: tuple[str, ...] = ()) -> int:
    """Run a command in this process: the exit status."""
    if not isinstance(conversion, Command):
        return run(folder, conversion, more)
    named = ("-o", str(folder / conversion.name)) if conversion.name else ()
    force = ("--force",) * conversion.replaces
    # What is printed is of no interest here.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    kept = os.dup(1)
    os.dup2(nowhere, 1)
    try:
        return main([*conversion.arguments, *named, *force])
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def ended(child: int) -> int:
    """The status of a process; one that hangs prints where, and is ended by SIGABRT."""
    until = time.monotonic() + LONG
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGABRT)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


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
        status = ended(child)
        os.close(ends[0])
        said.seek(0)
        return status, said.read().decode()


def _contents(folder: Path) -> Contents:
    """What is in a folder, without what a batch notes of itself: it has times."""
    return {name: data for name, data in contents(folder).items() if not name.endswith(RECORD)}


def _is_usual(line: str) -> bool:
    """True for a line of standard error that a command prints of its work."""
    return line.startswith("traceconv: ") and "Traceback" not in line


def _convert(folder: Path, conversion: Conversion, ready: int, said: int) -> None:
    """Convert, and end the process as the command does."""
    status = 99
    try:
        os.dup2(said, 2)
        faulthandler.enable()
        with handled():
            os.write(ready, b"x")
            status = started(folder, conversion)
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
    every = [*conversions(), *commands()]
    known: dict[Conversion, tuple[Path, float, Contents, Contents]] = {}
    failed = 0
    with tempfile.TemporaryDirectory(prefix="traceconv-signals-") as temporary:
        folder = Path(temporary) / "out"
        for tried in range(count):
            conversion = rng.choice(every)
            if conversion not in known:
                original = Path(temporary) / f"before-{len(known)}"
                if isinstance(conversion, Command):
                    original.mkdir()
                    if conversion.replaces:
                        (original / conversion.name).write_text("another")
                else:
                    prepare(original, conversion)
                shutil.copytree(original, folder)
                start = time.monotonic()
                if started(folder, conversion):
                    raise RuntimeError(f"{conversion}: it fails")
                took = time.monotonic() - start
                known[conversion] = original, took, contents(original), _contents(folder)
                shutil.rmtree(folder)
            original, took, before, whole = known[conversion]
            shutil.copytree(original, folder)
            sent = rng.choice(SIGNALS)
            again = rng.random() * SOON if rng.random() < TWICE else None
            delay = rng.random() * took * 1.2
            status, said = interrupted(folder, conversion, sent, delay, again)
            found = _contents(folder)
            if isinstance(conversion, Command):
                said = "".join(line for line in said.splitlines(True) if not _is_usual(line))
                if conversion.several and all(whole.get(name) == found[name] for name in found):
                    found = before if status else found
            wrong = complaint(Fault(0, signal=sent), status, said, found, before, whole)
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
