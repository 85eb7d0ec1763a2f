"""Changes inputs at random, reads them and writes what could be read: ``python -m tests.fuzz --minutes 60``.

Whatever the bytes, the end is a trace or a TraceError, and none that is in the place of another exception
(DefectError). Inputs are read in child processes with limits of time and memory, so that a crash, a hang or an
unbounded allocation is a finding too. What fails is kept in
``build/fuzz/found/``, and ``--again FILE`` tries it again.

With kernels that count what is executed, ``python -m tests.instrumented sanitized tests.fuzz --minutes 60``, inputs
that reach something new are kept in ``build/fuzz/FORMAT/``, changed further, and written once more. Without, or with
``--blind``, which tries ten times as many, an input depends on its format and number alone.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import faulthandler
import gzip
import lzma
import mmap
import os
import random
import resource
import signal
import struct
import sys
import threading
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import zstandard

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from scale.dimensions import DIMENSIONS  # noqa: E402 - the path is set above
from support.fuzz_inputs import made  # noqa: E402
from support.fuzzing.allocations import Allocations  # noqa: E402
from support.fuzzing.corpus import Corpus, Files, packed, size_of, unpacked  # noqa: E402
from support.fuzzing.edges import Edges  # noqa: E402
from support.fuzzing.mutation import damaged, matched, mended, multiplied, rearranged  # noqa: E402
from support.fuzzing.outputs import ANEW, PART, REPORT, SHOWN, read_in_part, show, written  # noqa: E402

from converter.errors import DefectError, MemoryLimitError, TraceError  # noqa: E402
from converter.fixtures.kinds import GROUPS  # noqa: E402
from converter.fixtures.synthetic import synthetic_trace  # noqa: E402
from converter.ir.collect import collect  # noqa: E402
from converter.ir.invariants import check  # noqa: E402
from converter.ir.trace import Trace  # noqa: E402
from converter.jobs.reading import detect, open_trace, read  # noqa: E402
from converter.registry import FORMATS, source_format  # noqa: E402
from converter.storage.opening import open_source  # noqa: E402

LARGEST = 64 << 10
#: Events of the smallest inputs.
FEW = 8
#: Seconds of a processor for one input, and how many times that with sanitizers.
SECONDS_EACH = 5
SANITIZED = 8
#: Memory beyond what there was before and the input itself.
GROWTH = 512 << 20
#: The share of inputs that are checked and written, and for which lines of Python count.
WRITTEN = 1 / 32
#: So many inputs after each other are changes of the same one: what only depends on its unchanged parts is known.
CHANGES = 32
#: Of what is written, the share that is a report, and that is written in its own format anew.
REPORTED = 0.25
WRITTEN_ANEW = 0.1
#: Of what is only read, the share that is read in part, and that is shown.
READ_IN_PART = 1 / 16
SHOWN_SHARE = 1 / 64
#: The share for which a kernel is refused memory, where that can be, and how many times at most one asks before.
SCARCE = 1 / 32
MOST_GRANTED = 256
#: The share of inputs of which pieces are repeated very often.
MULTIPLIED = 1 / 32
#: How much the large inputs that changes start from have of something.
MUCH = 300
#: The share of inputs that are compressed before they are changed, or afterwards.
COMPRESSED = 1 / 64
#: Inputs of one child process.
ROUND = 10_000
#: Where an archive says that it is one.
_USTAR_AT = 257
#: The largest input that is tried.
_ROOM = 16 << 20
COMPRESSORS: tuple[Callable[[bytes], bytes], ...] = (
    gzip.compress,
    bz2.compress,
    lzma.compress,
    zstandard.compress,
)
KEPT = ROOT / "build" / "fuzz"
_HEAD = struct.Struct("QQQQ64s")
#: What inputs are read as; nothing in a stream of a 32-bit AIX kernel tells that it is one.
READ_AS = [*(format.name for format in FORMATS if format.readable), "aix+32"]


def opened(format: str, data: bytes) -> Trace:
    """The trace of an input, or what has travelled in it, all of it read."""
    return read(data, format)


def fixtures(format: str) -> list[Files]:
    """The small fixtures of a format."""
    found: list[Files] = []
    for path in sorted((ROOT / "roundtrip_fixtures" / format.partition("+")[0]).glob("*")):
        with contextlib.suppress(TraceError):  # descriptions, and what tools printed
            if "+" in format:
                with open_trace(path, format):
                    pass
            elif detect(path).name != format:
                continue
            if path.is_dir():
                inside = [file for file in sorted(path.rglob("*")) if file.is_file()]
                found.append({str(f.relative_to(path)): f.read_bytes() for f in inside})
            else:
                found.append(unpacked(path.read_bytes()))
    return [files for files in found if size_of(files) <= LARGEST]


def small(format: str) -> list[Files]:
    """The small fixtures of a format, a few events of each group of kinds, and what no fixture is like."""
    found = fixtures(format)
    target = source_format(format)[0]
    if target.writable:
        for variant in target.variants or ("",):
            name = format if "+" in format else f"{format}+{variant}".rstrip("+")
            found += [written(synthetic_trace(group, FEW), name) for group in GROUPS]
    found += made(format)
    return found


def originals(format: str) -> list[Files]:
    """The small inputs of a format, and the fixtures of the others written in it.

    Every other of those that were written holds the whole trace (`lossless`).
    """
    found = small(format)
    if source_format(format)[0].writable:
        for other in FORMATS:
            if other.name != format.partition("+")[0] and other.readable:
                for number, files in enumerate(fixtures(other.name)):
                    trace = opened(other.name, packed(files))
                    found.append(written(trace, format, lossless=bool(number & 1)))
    return [files for files in found if size_of(files) <= 4 * LARGEST]


def large(format: str) -> list[Files]:
    """Inputs of a format that have much of one thing each: tasks, classes, strings, pages and so on."""
    target = source_format(format)[0]
    found: list[Files] = []
    for dimension in DIMENSIONS.values():
        if dimension.format not in ("", target.name):
            continue
        drawn = dimension.draw(dimension.within(MUCH)).source
        if not isinstance(drawn, Trace):
            found.append(dict(drawn))
        elif target.writable:
            found.append(written(drawn, format))
    return found


@cache
def targets() -> tuple[str, ...]:
    """The names of the formats in which traces are written, with their variants."""
    return tuple(
        f"{target.name}{variant and '+'}{variant}"
        for target in FORMATS
        if target.writable
        for variant in target.variants or ("",)
    )


def changed(
    files: Files, corpus: Corpus, rng: random.Random, pairs: list[tuple[int, int]]
) -> Files:
    """An input with one of its files changed, or without it."""
    files = dict(files)
    name = rng.choice([name for name, data in files.items() if data] or [*files])
    if "" not in files and rng.random() < 0.05:
        del files[name]
        return files
    data = files[name]
    wrapped = rng.choice(COMPRESSORS) if rng.random() < COMPRESSED else bytes
    if rng.random() < 0.5:
        data, wrapped = wrapped(data), bytes
    way = rng.random()
    if way < 0.3 and pairs:
        data = matched(data, pairs, rng)
    elif way < 0.6:
        other = corpus.chosen(rng).files
        data = rearranged(name, data, other.get(name) or max(other.values(), default=b""), rng)
    else:
        data = damaged(data, rng) if data else data
    if rng.random() < MULTIPLIED:
        data = multiplied(name, data, rng)
    if rng.random() < 0.5:
        data = mended(data)
    files[name] = wrapped(data)
    return files


def numbered(format: str, number: int, corpus: Corpus) -> tuple[Files, str, bool]:
    """The input of this number, the name and variant of the format in which it is written, and whether all of it is.

    Most are not written: these have no name.
    """
    rng = random.Random(f"{format} {number}")
    entry = corpus.chosen(random.Random(f"{format} {number // CHANGES}"))
    if entry.pairs is None:
        EDGES.begin(compares=True, lines=False)
        attempt(format, packed(entry.files), "", lossless=False)
        entry.pairs = EDGES.pairs
        EDGES.end()
    files = changed(entry.files, corpus, rng, entry.pairs)
    # What is written takes several times as long as what is read.
    target = rng.choice(targets()) if rng.random() < WRITTEN else ""
    way = rng.random()
    if target and way < REPORTED:
        target = REPORT
    elif target and way < REPORTED + WRITTEN_ANEW and source_format(format)[0].writable:
        target = ANEW
    elif not target and way < READ_IN_PART:
        target = PART
    elif not target and way < READ_IN_PART + SHOWN_SHARE:
        target = SHOWN
    lossless = rng.random() < 0.2
    if ALLOCATIONS.are_counted and rng.random() < SCARCE:
        target += f"@{int(MOST_GRANTED ** rng.random()) - 1}"
    return files, target, lossless


@contextlib.contextmanager
def opened_for(format: str, data: bytes) -> Iterator[Trace]:
    """The trace of an input; of an archive of a format of single files the first, beside which the others lie."""
    target, options = source_format(format)
    is_folder = any(map(target.is_directory, target.variants or ("",)))
    if is_folder or not data.startswith(b"ustar", _USTAR_AT):
        with open_trace(data, format) as trace:
            yield trace
        return
    with open_source(data) as files:
        names = files.listdir() if files.is_directory else []
        if not names:
            raise TraceError("an archive of nothing")
        trace = target.open(files.open(names[0]), options)
        try:
            yield trace
        finally:
            trace.close()


def attempt(format: str, data: bytes, target: str, lossless: bool) -> bool:
    """Read an input, check it and write it in a format, if that has a name; whether it could be read.

    Behind an @ the target says which request of kernels for memory is refused.
    """
    target, is_scarce, granted = target.partition("@")
    if is_scarce and ALLOCATIONS.are_counted:
        with ALLOCATIONS.refusing(int(granted)):
            return attempt(format, data, target, lossless)
        return False
    is_read = False
    try:
        # Only of a trace that is open its reader prints texts, and seeks.
        with opened_for(format, data) as trace:
            if target == PART:
                read_in_part(trace)
                return True
            if target == SHOWN:
                show(trace)
                return True
            if target in (REPORT, ANEW):
                written(trace, target)
                return True
            if not target:
                collect(trace)
                return True
            check(trace)
            is_read = True
            written(trace, target, lossless=lossless)
    except (DefectError, MemoryLimitError):
        # An exception of another kind, which is a fault although users see one line of it.
        raise
    except TraceError as error:
        # What has travelled of another file is looked at only when that is written again.
        str(error)
    return is_read


EDGES = Edges()
ALLOCATIONS = Allocations()


class Shared:
    """What a child process tells of where it is: numbers, and the input that is being read."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _ROOM + 4096)

    def tell(self, number: int, usable: int, failed: int, job: str = "", data: bytes = b"") -> None:
        """Say what is being done."""
        data = data[:_ROOM]
        head = _HEAD.pack(number, usable, failed, len(data), job.encode())
        self._memory[: len(head) + len(data)] = head + data

    def told(self) -> tuple[int, int, int, str, bytes]:
        """The last that was said."""
        number, usable, failed, size, job = _HEAD.unpack(self._memory[: _HEAD.size])
        data = self._memory[_HEAD.size : _HEAD.size + size]
        return number, usable, failed, job.rstrip(b"\0").decode(), data


def keep(job: str, data: bytes, why: str) -> None:
    """Keep what fails, and say so."""
    folder = KEPT / "found"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{job.replace(' ', '.')}.{zlib.crc32(data):08x}"
    (folder / name).write_bytes(data)
    sys.stdout.write(f"{why}\n{job}: failed, kept as {folder / name}\n")
    sys.stdout.flush()


def limited() -> int:
    """Bound the memory of this process; how many seconds of the processor each try may take."""
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        return SECONDS_EACH * SANITIZED
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    # A backstop; what counts is what has really been used.
    resource.setrlimit(resource.RLIMIT_AS, (used + 4 * GROWTH, used + 4 * GROWTH))
    return SECONDS_EACH


def most_memory() -> int:
    """The most bytes of memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def forked(work: Callable[[], None]) -> int:
    """The status of a child process that does this and nothing else."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        # The end of the child must not be that of the program, whatever happens.
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(1)
    return os.waitpid(child, 0)[1]


class Child:
    """A process that reads inputs until it has read `ROUND`, or time is over, or one of them ends it."""

    def __init__(self, format: str, corpus: Corpus, shared: Shared) -> None:
        self._format = format
        self._corpus = corpus
        self._shared = shared
        self._usable = 0
        self._failed = 0
        #: Where exceptions came from, so that each is said once.
        self._known: Counter[str] = Counter()
        self._unraised: list[Any] = []
        sys.unraisablehook = self._unraised.append
        threading.excepthook = self._unraised.append
        warnings.simplefilter("error")
        for number in (signal.SIGPROF, signal.SIGALRM):
            faulthandler.register(number, chain=True)
        self._seconds = limited()
        self._before = most_memory()

    def run(self, first: int, until: float) -> None:
        """Read inputs."""
        for number in range(first, first + ROUND):
            if number > first and time.monotonic() > until:
                self._shared.tell(number, self._usable, self._failed)
                return
            files, target, lossless = numbered(self._format, number, self._corpus)
            if self._try(number, files, target, lossless):
                self._corpus.add(files)
                self._try(number, files, random.choice(targets()), lossless=False)
        self._shared.tell(first + ROUND, self._usable, self._failed)

    def start(self, first: int) -> None:
        """Meet what the inputs at the beginning reach; of those kept earlier, let go what reaches nothing new."""
        for number, entry in enumerate(self._corpus.entries):
            self._try(first, entry.files, targets()[number % len(targets())], lossless=False)
        for path in self._corpus.kept():
            files = unpacked(path.read_bytes())
            path.unlink()
            if self._try(first, files, random.choice(targets()), lossless=False):
                self._corpus.add(files)

    def _try(self, number: int, files: Files, target: str, lossless: bool) -> int:
        """Read an input; how many places were met that were not before."""
        data = packed(files)
        job = f"{self._format} {target}{' whole' * lossless}"
        self._shared.tell(number, self._usable, self._failed, job, data)
        # Of the processor, as other programs may have it too; what waits for ever is found later.
        signal.setitimer(signal.ITIMER_PROF, self._seconds)
        signal.setitimer(signal.ITIMER_REAL, 60 * self._seconds)
        EDGES.begin(lines=bool(target))
        try:
            self._usable += attempt(self._format, data, target, lossless)
            fault = str(self._unraised[0]) if self._unraised else ""
        except Exception:  # noqa: BLE001 - any is a finding
            fault = traceback.format_exc()
        fresh = EDGES.end()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._unraised.clear()
        grown = most_memory() - self._before
        if grown > GROWTH + len(data):
            keep(job, data, f"{grown >> 20} MiB of memory")
            os._exit(1)
        if fault:
            place = "\n".join(fault.splitlines()[-4:])
            if not self._known[place]:
                keep(job, data, fault)
            self._known[place] += 1
            self._failed += 1
        return fresh


def fuzz(format: str, seconds: float, number: int) -> int:
    """Read inputs from `number` on, and say which fail; how many did."""
    kept = KEPT / format if EDGES.are_counted else None
    corpus = Corpus(originals(format), kept, large(format))
    until = time.monotonic() + seconds
    shared = Shared()
    first, total, failed = number, 0, 0
    waited = -1

    def read_inputs() -> None:
        reader = Child(format, corpus, shared)
        if number == first and EDGES.are_counted:
            reader.start(number)
        reader.run(number, until)

    while number in (first, waited) or time.monotonic() < until:
        shared.tell(number, 0, 0)
        status = forked(read_inputs)
        number, usable, bad, job, data = shared.told()
        total, failed = total + usable, failed + bad
        if status == signal.SIGALRM and number != waited:
            # Either it waits for ever, or the machine has stood still: it is tried once more.
            waited = number
        elif status:
            keep(job, data, f"{format}: number {number} ended the process with {status}")
            number, failed = number + 1, failed + 1
        corpus.load()
    known = f", {EDGES.known} places met" if EDGES.are_counted else ""
    sys.stdout.write(f"{format}: {number - first} inputs, {total} usable, {failed} failed{known}\n")
    sys.stdout.flush()
    return failed


def again(path: Path) -> None:
    """Try an input again that was kept."""
    format, target, *whole, _ = path.name.split(".")
    warnings.simplefilter("error")
    attempt(format, path.read_bytes(), target, lossless=bool(whole))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60, help="for each format")
    parser.add_argument("--minutes", type=float, help="the same in minutes")
    parser.add_argument("--format", choices=READ_AS, action="append")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--blind", action="store_true", help="count nothing of what is executed")
    parser.add_argument("--again", type=Path, help="an input that was kept")
    options = parser.parse_args()
    if options.again:
        again(options.again)
        sys.exit()
    if options.blind:
        EDGES.are_counted = False
    seconds = options.seconds if options.minutes is None else 60 * options.minutes
    found = [fuzz(name, seconds, options.first) for name in options.format or READ_AS]
    sys.exit(any(found))
