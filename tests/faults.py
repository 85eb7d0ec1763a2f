"""Has conversions fail, or end, at each call that makes their output: ``python -m tests.faults --seconds 60``.

A trace is converted to each format, to files, folders and archives, to places that are free and that are replaced. The
n-th call that makes, writes, renames or links something fails (the disk is full, or broken), or the process is killed
in front of it, for each n. Then the output is not there, or is what was there before, or is whole; what is temporary is
gone, but after SIGKILL, which nothing survives that could remove it; and an error is one line that says what failed.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from converter.cli import main  # noqa: E402 - the path is set above
from converter.registry import FORMATS  # noqa: E402

os.environ.pop("TRACECONV_NO_SYNC", None)  # a disk can fail while it is synced

SOURCE = ROOT / "roundtrip_fixtures" / "trace_cmd" / "small.dat"
#: Inputs of other formats, which conversions read in turn.
SOURCES = (
    SOURCE,
    *(
        ROOT / "roundtrip_fixtures" / name
        for name in (
            "perf/pipe.data",
            "perf_script/callchains.script",
            "ftrace_text/timerlat.trace",
            "gecko/samply.profile.json",
            "simpleperf/every-record.simpleperf",
            "pprof/cpu.pb.gz",
            "cpuprofile/node.cpuprofile",
            "speedscope/mixed.speedscope.json",
            "folded/uftrace.folded",
        )
    ),
)
INJECTOR = ROOT / "tests/support/system/faults.c"
#: What happens at a call: an error number, or a signal that ends the process in front of it.
ERRORS = (errno.ENOSPC, errno.EIO)
SIGNALS = (signal.SIGKILL, signal.SIGTERM)
#: How an error begins, and how long it may be.
_MESSAGE = re.compile(r"traceconv: .{1,400}")
TEMPORARY = re.compile(r"\.traceconv-[0-9a-f]{12}\.tmp")

#: The files below a folder, each with what is in it.
Contents = dict[str, bytes]


@dataclass(frozen=True)
class Conversion:
    """Arguments, the name of the output, whether that is there before and is replaced, and the input."""

    name: str
    arguments: tuple[str, ...]
    replaces: bool
    source: Path = SOURCE

    def __str__(self) -> str:
        over = ("over another",) * self.replaces
        return " ".join((self.source.name, "to", self.name, *self.arguments, *over))


@dataclass(frozen=True)
class Fault:
    """What happens at which call."""

    call: int
    error: int = 0
    signal: int = 0

    def __str__(self) -> str:
        what = signal.Signals(self.signal).name if self.signal else errno.errorcode[self.error]
        return f"{what} at call {self.call}"


def conversions() -> Iterator[Conversion]:
    """To every format, as it is and wrapped, with and without the whole trace in it, from one of the sources each."""
    sources = cycle(SOURCES)
    for format in FORMATS:
        if not format.writable:
            continue
        name = f"out{format.suffixes[0]}" if format.suffixes else "out"
        wrapped = f"{name}.tar.gz" if format.directory else f"{name}.gz"
        for place, more in ((name, ()), (name, ("--lossless",)), (wrapped, ())):
            for replaces in (False, True):
                yield Conversion(place, ("-t", format.name, *more), replaces, next(sources))


class Injector:
    """The preloaded library of this process."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.faults_calls.restype = ctypes.c_long
        self._library.faults_arm.argtypes = (
            ctypes.c_char_p,
            ctypes.c_long,
            ctypes.c_int,
            ctypes.c_int,
        )

    def arm(self, folder: Path, fault: Fault) -> None:
        """From now on this happens below the folder."""
        self._library.faults_arm(
            os.fsencode(folder) + b"/", fault.call, fault.error, int(fault.signal)
        )

    def calls(self) -> int:
        """How many calls there were since."""
        return int(self._library.faults_calls())


def prepare(folder: Path, conversion: Conversion) -> None:
    """Make a folder: empty, or with what is replaced, which is an output of the same sort of a part of the trace."""
    folder.mkdir()
    if conversion.replaces:
        place = folder / conversion.name
        other = replace(conversion, source=SOURCE)
        if run(folder, other, ("--event", "sched:sched_switch")) or not place.exists():
            raise RuntimeError(f"{conversion}: nothing to replace")


def run(folder: Path, conversion: Conversion, more: tuple[str, ...] = ()) -> int:
    """Convert in this process: the exit status."""
    force = ("--force",) * conversion.replaces
    place = str(folder / conversion.name)
    return main([str(conversion.source), "-o", place, "-q", *conversion.arguments, *force, *more])


def converted(
    injector: Injector, folder: Path, conversion: Conversion, fault: Fault
) -> tuple[int, int, str]:
    """Convert in a process of its own: how that ended (negative for a signal), the number of calls, what it printed."""
    ends = os.pipe()
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            status = 99
            try:
                os.dup2(said.fileno(), 2)
                injector.arm(folder, fault)
                status = run(folder, conversion)
                os.write(ends[1], str(injector.calls()).encode())
            except BaseException:  # noqa: BLE001 - the end of the child must not be that of the program
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stderr.flush()
                os._exit(status)
        os.close(ends[1])
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with open(ends[0], "rb") as counted:
            calls = int(counted.read() or 0)
        said.seek(0)
        return status, calls, said.read().decode()


def contents(folder: Path) -> Contents:
    """All that is below a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).digest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def complaint(
    fault: Fault, status: int, said: str, found: Contents, before: Contents, whole: Contents
) -> str | None:
    """What is wrong with the end of a conversion, or None."""
    hidden = {name for name in found if TEMPORARY.match(name)}
    shown = {name: data for name, data in found.items() if name not in hidden}
    if hidden and fault.signal != signal.SIGKILL:
        return f"{len(hidden)} temporary files are left"
    if status == 0:
        return None if shown == whole else "it says that all went well, and the output is not whole"
    if fault.signal == signal.SIGKILL:
        expected = -signal.SIGKILL
    else:
        expected = 128 + fault.signal if fault.signal else 1
        if fault.error and not (
            _MESSAGE.fullmatch(said.strip()) and os.strerror(fault.error) in said
        ):
            return f"it says {said[-300:]!r}"
    if status != expected:
        return f"it ends with {status}, not {expected}: {said[-300:]!r}"
    if shown == before or (fault.signal == signal.SIGKILL and shown == whole):
        return None
    if fault.signal == signal.SIGKILL and all(
        shown.get(name) in (before.get(name), whole.get(name)) for name in shown | before
    ):
        # Files that come with another are there first; between the two nothing can be done any more.
        return None
    return f"half an output: {sorted(shown)} of {sorted(whole)}"


def inject(seconds: float, number: int, most: int | None) -> int:
    """Try faults in the order that a number gives, and say which end badly; how many do."""
    injector, rng = Injector(), random.Random(number)
    until = time.monotonic() + seconds
    tried = failed = 0
    counts: dict[Conversion, tuple[int, Contents, Contents]] = {}
    with tempfile.TemporaryDirectory(prefix="traceconv-faults-") as temporary:
        folder = Path(os.path.realpath(temporary)) / "out"
        every = list(conversions())
        rng.shuffle(every)
        while tried != most and (tried == 0 or time.monotonic() < until):
            conversion = every[tried % len(every)]
            original = Path(temporary) / f"before-{tried % len(every)}"
            if conversion not in counts:
                prepare(original, conversion)
                shutil.copytree(original, folder)
                status, calls, said = converted(injector, folder, conversion, Fault(0))
                if status or not calls:
                    raise RuntimeError(f"{conversion}: {said}")
                counts[conversion] = calls, contents(original), contents(folder)
                shutil.rmtree(folder)
            calls, before, whole = counts[conversion]
            call = rng.randint(1, calls)
            fault = rng.choice(
                [
                    *(Fault(call, error=error) for error in ERRORS),
                    *(Fault(call, signal=number) for number in SIGNALS),
                ]
            )
            shutil.copytree(original, folder)
            status, _, said = converted(injector, folder, conversion, fault)
            wrong = complaint(fault, status, said, contents(folder), before, whole)
            shutil.rmtree(folder)
            tried += 1
            if wrong is not None:
                failed += 1
                sys.stdout.write(f"{conversion}: {fault} of {calls}: {wrong}\n")
    sys.stdout.write(f"{tried} faults, {failed} failed\n")
    return failed


def preloaded() -> None:
    """Start again with the library in front of the system's, unless it is there."""
    if hasattr(ctypes.CDLL(None), "faults_arm"):
        return
    with tempfile.TemporaryDirectory(prefix="traceconv-faults-") as folder:
        library = os.path.join(folder, "faults.so")
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-o", library, str(INJECTOR), "-ldl"], check=True
        )
        command = [sys.executable, "-m", "tests.faults", *sys.argv[1:]]
        environment = {**os.environ, "LD_PRELOAD": library}
        sys.exit(subprocess.run(command, check=False, cwd=ROOT, env=environment).returncode)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, help="no more faults than this")
    parser.add_argument("--first", type=int, default=0, help="number of the order of the faults")
    options = parser.parse_args()
    preloaded()
    sys.exit(bool(inject(options.seconds, options.first, options.count)))
