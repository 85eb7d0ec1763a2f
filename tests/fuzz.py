"""Damages inputs at random, reads them and writes what could be read: ``python -m tests.fuzz --seconds 60``.

Whatever the bytes, the end is a trace or a TraceError. Inputs are read in child processes with limits of time and
memory, so that a crash, a hang or an unbounded allocation is a finding too. An input depends on its format and number
alone: ``--format F --first N --seconds 0`` makes number N again.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import mmap
import os
import random
import resource
import signal
import struct
import sys
import tarfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from converter.conversion import detect, read, transcribe  # noqa: E402 - the path is set above
from converter.errors import TraceError  # noqa: E402
from converter.ir.invariants import check  # noqa: E402
from converter.ir.trace import Trace  # noqa: E402
from converter.registry import FORMATS, format_named, source_format  # noqa: E402
from converter.storage.sink import BufferSink, Sink  # noqa: E402

LARGEST = 32 << 10
SECONDS_EACH = 10
GROWTH = 1 << 30
ROUND = 500
INTERESTING = [
    0,
    *(((1 << bits) + step) & (1 << 64) - 1 for bits in range(65) for step in (-1, 0, 1)),
]
#: What random bytes rarely are: parts of JSON, and variable-length integers at their limits.
TOKENS = b'" \\ [ { ] } , : null true -1.5e999 1e-400 \\ud800 \\u0000 "args":{'.split()
TOKENS += (b"[" * 5000, b'{"a":' * 5000, b"9" * 400, b"\xff" * 9 + b"\1", b"\x80" * 12, b"\0" * 40)


#: The files of an input by name; that of a format that is one file has none.
Files = dict[str, bytes]


class MemoryDirectory(BufferSink):
    """An output directory in memory."""

    is_directory = True

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[str, BufferSink] = {}

    def create(self, relative: str) -> BufferSink:
        """A new file."""
        if relative in self._files:
            raise TraceError("there already", path=relative)
        self._files[relative] = BufferSink(relative)
        return self._files[relative]

    def files(self) -> dict[str, Sink]:
        """The files so far."""
        return dict(self._files)

    def contents(self) -> Files:
        """What is in the files."""
        return {name: sink.getvalue() for name, sink in self._files.items()}


def packed(files: Files) -> bytes:
    """An input as one file: as it is, or an archive, which is read as a directory."""
    if "" in files:
        return files[""]
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return archive.getvalue()


def written(trace: Trace, target: str, *, lossless: bool = False) -> Files:
    """A trace in a format."""
    format, variant = format_named(target)
    sink = MemoryDirectory() if format.directory else BufferSink()
    transcribe(trace, sink, format, variant, lossless=lossless)
    return sink.contents() if isinstance(sink, MemoryDirectory) else {"": sink.getvalue()}


def opened(format: str, data: bytes) -> Trace:
    """The trace of an input, or what has travelled in it, all of it read."""
    return read(data, format)


def fixtures(format: str) -> list[Files]:
    """The small fixtures of a format."""
    found: list[Files] = []
    for path in sorted((ROOT / "roundtrip_fixtures" / format).glob("*")):
        with contextlib.suppress(TraceError):  # descriptions, and what tools printed
            if detect(path).name != format:
                continue
            if path.is_dir():
                inside = [file for file in sorted(path.rglob("*")) if file.is_file()]
                found.append({str(f.relative_to(path)): f.read_bytes() for f in inside})
            elif ".tar" in path.suffixes:
                found.append(unpacked(path))
            else:
                found.append({"": path.read_bytes()})
    return [files for files in found if size_of(files) <= LARGEST]


def unpacked(path: Path) -> Files:
    """The files of an archive."""
    with tarfile.open(path) as archive:
        members = [(member.name, archive.extractfile(member)) for member in archive]
        return {name: file.read() for name, file in members if file is not None}


def size_of(files: Files) -> int:
    """How many bytes an input has."""
    return sum(map(len, files.values()))


def originals(format: str) -> list[Files]:
    """The small fixtures of a format, those of the others written in it, and for trace_cmd files of every version.

    Every other of those that were written holds the whole trace (`lossless`).
    """
    found = fixtures(format)
    for other in FORMATS:
        if other.name != format and other.readable and source_format(format)[0].writable:
            for number, files in enumerate(fixtures(other.name)):
                trace = opened(other.name, packed(files))
                found.append(written(trace, format, lossless=bool(number & 1)))
    found = [files for files in found if size_of(files) <= 4 * LARGEST]
    if format == "trace_cmd":
        from support.trace_cmd_files import Kernel, rich

        kernels = [Kernel(), Kernel(big_endian=True), Kernel(long_size=4)]
        versions = [*((version, kernel) for version in ("6", "none") for kernel in kernels)]
        found += [{"": rich(version, kernel)} for version, kernel in versions]
        found += [{"": rich("zstd")}, {"": rich("zlib")}]
    return found


def damaged(whole: bytes, rng: random.Random) -> bytes:
    """The input with a few changes of a random sort."""
    data = bytearray(whole)
    for _ in range(1 + min(rng.getrandbits(4), rng.getrandbits(4))):
        at, size = rng.randrange(len(data) + 1), len(data)
        # Most changes near the one before would be lost among unchanged pages of zeros.
        while 0 < at < size and not any(data[at - 1 : at + 3]) and rng.random() < 0.9:
            at = rng.randrange(size + 1)
        length = min(1 << rng.randrange(12), size)
        match rng.randrange(11):
            case 0 | 1 | 2 if at < size:
                data[at] = rng.choice((data[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
            case 3 | 4 | 5:
                layout = rng.choice(("<I", ">I", "<Q", ">Q", "<H", "B"))
                mask = (1 << 8 * struct.calcsize(layout)) - 1
                packed = struct.pack(layout, rng.choice(INTERESTING) & mask)
                data[at : at + len(packed)] = packed
            case 6:
                start = rng.randrange(size - length + 1)
                data[at:at] = data[start : start + length]
            case 7:
                del data[at : at + length]
            case 8:
                start = rng.randrange(size - length + 1)
                data[at : at + length] = data[start : start + length]
            case 9:
                data[at:at] = rng.choice(TOKENS)
            case _ if rng.random() < 0.2:
                del data[at:]
        data = data or bytearray(whole[:1])
    return bytes(data)


def numbered(format: str, number: int, inputs: list[Files]) -> tuple[bytes, str, bool]:
    """The input of this number, the name and variant of the format in which it is written, and whether all of it is."""
    rng = random.Random(f"{format} {number}")
    # The larger an input, the longer it takes, and the less a change of it matters.
    files = dict(rng.choices(inputs, [1 / (4096 + size_of(files)) for files in inputs])[0])
    changed = rng.choice([name for name, data in files.items() if data])
    if "" not in files and rng.random() < 0.05:
        del files[changed]
    else:
        files[changed] = damaged(files[changed], rng)
    targets = [
        f"{target.name}{variant and '+'}{variant}"
        for target in FORMATS
        if target.writable
        for variant in target.variants or ("",)
    ]
    return packed(files), rng.choice(targets), rng.random() < 0.2


def attempt(format: str, data: bytes, target: str, lossless: bool) -> bool:
    """Read an input and write it in a format; whether there was something to write."""
    try:
        trace = opened(format, data)
        check(trace)
    except TraceError as error:
        str(error)
        return False
    try:
        written(trace, target, lossless=lossless)
    except TraceError as error:
        # What has travelled of another file is looked at only when that is written again.
        str(error)
    return True


def read_until(until: float, format: str, inputs: list[Files], first: int, done: mmap.mmap) -> None:
    """Read up to `ROUND` inputs; `done` is the number of the one that is being read, and how many were usable."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    if "asan" not in os.environ.get("LD_PRELOAD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (used + GROWTH, used + GROWTH))
    faulthandler.register(signal.SIGPROF, chain=True)
    usable = 0
    for number in range(first, first + ROUND):
        done[:] = struct.pack("QQ", number, usable)
        if number > first and time.monotonic() > until:
            return
        made = numbered(format, number, inputs)
        # Of the processor, as other programs may have it too; what waits for ever is found later.
        signal.setitimer(signal.ITIMER_PROF, SECONDS_EACH)
        faulthandler.dump_traceback_later(20 * SECONDS_EACH, exit=True)
        usable += attempt(format, *made)
    done[:] = struct.pack("QQ", first + ROUND, usable)


def fuzz(format: str, seconds: float, number: int) -> int:
    """Read inputs from `number` on, and say which fail; how many did."""
    inputs, until = originals(format), time.monotonic() + seconds
    done = mmap.mmap(-1, 16)
    first, total, failed = number, 0, 0
    while number == first or time.monotonic() < until:
        child = os.fork()
        if not child:
            # The end of the child must not be that of the program, whatever happens.
            try:
                read_until(until, format, inputs, number, done)
                os._exit(0)
            except BaseException:  # noqa: BLE001
                sys.excepthook(*sys.exc_info())
                sys.stderr.flush()
                os._exit(1)
        bad = os.waitpid(child, 0)[1] != 0
        number, usable = struct.unpack("QQ", done[:])
        if bad:
            target = numbered(format, number, inputs)[1]
            sys.stdout.write(f"{format}: number {number}, to be written as {target}, failed\n")
        number, total, failed = number + bad, total + usable, failed + bad
    sys.stdout.write(f"{format}: {number - first} inputs, {total} usable, {failed} failed\n")
    return failed


if __name__ == "__main__":
    names = [format.name for format in FORMATS if format.readable]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each format")
    parser.add_argument("--format", choices=names, action="append")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    options = parser.parse_args()
    found = [fuzz(name, options.seconds, options.first) for name in options.format or names]
    sys.exit(any(found))
