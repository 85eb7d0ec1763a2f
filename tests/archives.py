"""Changes archives and compressed files at random, and reads them: ``python -m tests.archives --count 100000``.

Each mutant ends with its contents or with a TraceError, within 10 s of the processor and 300 MB of memory. A mutant
depends on its number alone: ``--first NUMBER --count 1`` makes it again. What fails is kept in ``build/fuzz/found/``.
"""

from __future__ import annotations

import argparse
import bz2
import faulthandler
import functools
import gzip
import io
import lzma
import os
import random
import resource
import signal
import struct
import sys
import tarfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import zstandard

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fuzz import forked, most_memory  # noqa: E402 - the path is set above
from support.fuzzing.mutation import INTERESTING  # noqa: E402

from converter.errors import DefectError, MemoryLimitError, TraceError  # noqa: E402
from converter.jobs.reading import open_trace  # noqa: E402
from converter.storage.opening import open_source  # noqa: E402
from converter.storage.source import Source  # noqa: E402

#: What one mutant may take: seconds of the processor, and bytes of memory of the whole process.
SECONDS = 10
MOST_MEMORY = 300 << 20
#: A backstop of the address space, of which much may be reserved and never used.
RESERVED = 1 << 30
#: The mutants of one child process.
ROUND = 5000
#: As much of each file is read.
READ = 2 << 20
STEP = 1 << 16
#: The share of mutants that are read as a trace, too.
AS_TRACE = 1 / 8
#: The share of changes of a tar archive whose checksums are mended: without, nothing but these is tried.
MENDED = 0.8
KEPT = ROOT / "build" / "fuzz" / "found"

_EVENT = b'{"ph":"i","ts":%d,"pid":1,"tid":1,"name":"a"},\n'
TRACE = b"[" + b"".join(_EVENT % number for number in range(40))
TEXT = b"".join(b"line %d\n" % number for number in range(3000))
_BLOCK = 512
_CHECKSUM = slice(148, 156)
#: Types of members, of headers that say more of the next one, and some that no program knows.
_TYPES = b"\x000123456789LKxgXSVMNDAZ"
_PIECES = (
    b"77777777777\0",
    b"\x80" + b"\xff" * 11,
    b"\xff" * 12,
    b"30 size=999999999999\n",
    b"18 hdrcharset=BIN\n",
    b"22 GNU.sparse.major=1\n",
    b"21 path=../../../etc\n",
    b"PK\x01\x02",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"PK\x06\x06",
    b"PK\x06\x07",
    b"\x01\x00\x20\x00",
    b"../",
    b"ustar\x0000",
    b"ustar  \0",
)


def tar(form: int, *, mode: str = "w") -> bytes:
    """An archive with long names, a link, a sparse-looking member and records of pax."""
    made = io.BytesIO()
    extra = {"comment": "c" * 600, "mtime": "1.5"} if form == tarfile.PAX_FORMAT else None
    with tarfile.open(fileobj=made, mode=mode, format=form, pax_headers=extra) as archive:  # type: ignore[call-overload]
        for name, data in {
            "top/" + "x" * 150 + "/a": b"1" * 700,
            "top/b.json": TRACE,
            "top/\xe9": TEXT,
        }.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            if form == tarfile.PAX_FORMAT:
                member.pax_headers = {"atime": "2.25", "SCHILY.xattr.user.a": "b" * 90}
            archive.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo("top/link")
        link.type, link.linkname = (
            tarfile.SYMTYPE,
            "y" * (90 if form == tarfile.USTAR_FORMAT else 200),
        )
        archive.addfile(link)
    return made.getvalue()


def zipped(method: int, *, streamed: bool = False) -> bytes:
    """An archive of one method; `streamed` has sizes behind the data, and those of zip64."""

    class Unseekable(io.BytesIO):
        def seekable(self) -> bool:
            return not streamed

        def tell(self) -> int:
            if streamed:
                raise io.UnsupportedOperation
            return super().tell()

        def seek(self, *where: int) -> int:
            if streamed:
                raise io.UnsupportedOperation
            return super().seek(*where)

    made = Unseekable()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in {"b.json": TRACE, "d/e": TEXT, "d/f": bytes(70_000)}.items():
            with archive.open(name, "w", force_zip64=streamed) as member:
                member.write(data)
    return made.getvalue()


def lz4_frame(data: bytes) -> bytes:
    """A frame of stored blocks, which needs no library to be written."""
    head = b"\x04\x22\x4d\x18\x40\x40\xc0"
    blocks = b"".join(
        struct.pack("<I", 1 << 31 | len(data[at : at + 65536])) + data[at : at + 65536]
        for at in range(0, len(data), 65536)
    )
    return head + blocks + bytes(4)


def lz4_compressed(data: bytes) -> bytes:
    """A frame as the library writes it, if it is there."""
    try:
        import lz4.frame
    except ModuleNotFoundError:
        return lz4_frame(data)
    packed: bytes = lz4.frame.compress(data)
    return packed


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),
    "lz4": lz4_compressed,
}


@functools.cache
def originals() -> dict[str, bytes]:
    """What is changed, by name: each form of archive, each method, each compression, and some in each other."""
    found = {
        "tar": tar(tarfile.USTAR_FORMAT),
        "tar.gnu": tar(tarfile.GNU_FORMAT),
        "tar.pax": tar(tarfile.PAX_FORMAT),
        "zip.stored": zipped(zipfile.ZIP_STORED),
        "zip.deflate": zipped(zipfile.ZIP_DEFLATED),
        "zip.bzip2": zipped(zipfile.ZIP_BZIP2),
        "zip.lzma": zipped(zipfile.ZIP_LZMA),
        "zip.streamed": zipped(zipfile.ZIP_DEFLATED, streamed=True),
    }
    plain = dict(found)
    for name, compress in COMPRESSORS.items():
        found[name] = compress(TEXT)
        found[f"{name} twice"] = compress(TRACE) + compress(TEXT)
        found[f"zeros.{name}"] = compress(bytes(3 << 20))
        found[f"tar.{name}"] = compress(plain["tar.pax"])
    found["xz.delta"] = lzma.compress(
        TEXT,
        filters=[
            {"id": lzma.FILTER_DELTA, "dist": 4},
            {"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20},
        ],
    )
    found["zip.gz"] = gzip.compress(plain["zip.deflate"])
    return found


def changed(name: str, data: bytes, rng: random.Random) -> bytes:
    """A few changes; those of compressed archives are mostly made in what is compressed."""
    inner = {"tar.gz": gzip, "tar.bz2": bz2, "tar.xz": lzma, "zip.gz": gzip}.get(name)
    if inner is not None and rng.random() < 0.7:
        return inner.compress(changed("tar", inner.decompress(data), rng))  # type: ignore[no-any-return]
    result = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 5))):
        _change(result, rng, is_tar=name.startswith("tar") and result[257:262] == b"ustar")
    if result[257:262] == b"ustar" and rng.random() < MENDED:
        _mend(result)
    return bytes(result)


def _change(data: bytearray, rng: random.Random, *, is_tar: bool) -> None:
    if not data:
        return
    at = rng.randrange(len(data))
    if is_tar and rng.random() < 0.6:
        # In a header: there are few of them in an archive.
        starts = [
            start for start in range(0, len(data), _BLOCK) if data[start + 257 :][:5] == b"ustar"
        ]
        at = rng.choice(starts or [0]) + rng.choice(
            (0, 100, 124, 124, 136, 156, 156, 157, 257, 345)
        )
        at = min(at, len(data) - 1)
        if at % _BLOCK == 156 and rng.random() < 0.7:
            data[at] = rng.choice(_TYPES)
            return
    way = rng.randrange(10)
    if way < 3:
        data[at] = rng.randrange(256)
    elif way < 5:
        width = rng.choice((1, 2, 4, 8))
        data[at : at + width] = (rng.choice(INTERESTING) & (1 << 8 * width) - 1).to_bytes(
            width, rng.choice(("little", "big"))
        )
    elif way < 6:
        del data[at : at + rng.choice((1, 30, 600, len(data)))]
    elif way < 8:
        size = rng.choice((30, _BLOCK, 2 * _BLOCK, 1 << 14))
        start = rng.randrange(len(data)) // _BLOCK * _BLOCK if is_tar else at
        piece = bytes(data[start : start + size])
        where = at - at % _BLOCK if is_tar else at
        data[where:where] = piece * rng.choice((1, 1, 1, 40))
    else:
        piece = rng.choice(_PIECES)
        data[at : at + len(piece)] = piece


def _mend(data: bytearray) -> None:
    """Give headers of a tar archive the checksums that they have to have."""
    for start in range(0, len(data) - _BLOCK + 1, _BLOCK):
        head = data[start : start + _BLOCK]
        if head[257:262] == b"ustar":
            head[_CHECKSUM] = b" " * 8
            data[start + 148 : start + 156] = b"%06o\0 " % sum(head)


def mutant(number: int) -> tuple[str, bytes, bool]:
    """What a number makes: the name of the original, the bytes, and whether they are read as a trace, too."""
    rng = random.Random(f"archive {number}")
    name = rng.choice([*originals()])
    return name, changed(name, originals()[name], rng), rng.random() < AS_TRACE


def attempt(data: bytes, *, as_trace: bool) -> bool:
    """Read what is in an archive; True if any of it can be read."""
    is_read = False
    try:
        with open_source(data) as source:
            if not source.is_directory:
                is_read = _read(source)
            else:
                for name in source.walk():
                    try:
                        with source.open(name) as file:
                            is_read |= _read(file)
                    except (DefectError, MemoryLimitError):
                        raise
                    except TraceError:
                        continue
        if as_trace:
            with open_trace(data) as trace:
                for _ in trace.batches():
                    pass
    except (DefectError, MemoryLimitError):
        raise
    except TraceError as error:
        str(error)
    return is_read


def _read(source: Source) -> bool:
    at = 0
    while at < READ and (piece := source.read(at, STEP)):
        at += len(piece)
    # What is unpacked is unpacked again for what lies before.
    source.read(at // 2, 1)
    return at > 0


class Child:
    """A process that reads mutants until one of them ends it."""

    def __init__(self, told: Path) -> None:
        self._told = told
        self._known: Counter[str] = Counter()
        faulthandler.enable()
        faulthandler.register(signal.SIGPROF, chain=True)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + RESERVED, used + RESERVED))

    def run(self, first: int, end: int, until: float) -> None:
        """Read mutants until it is late."""
        failed = usable = 0
        slowest = 0.0
        with self._told.open("r+") as told:
            for number in range(first, end):
                if time.monotonic() > until:
                    end = number
                    break
                name, data, as_trace = mutant(number)
                told.seek(0)
                told.write(f"{number} {usable} {failed} {slowest:.2f} {most_memory() >> 20:<20}\n")
                told.flush()
                started = time.process_time()
                signal.setitimer(signal.ITIMER_PROF, SECONDS)
                try:
                    usable += attempt(data, as_trace=as_trace)
                except Exception:  # noqa: BLE001 - any is a finding
                    failed += 1
                    self._keep(number, name, data, traceback.format_exc())
                signal.setitimer(signal.ITIMER_PROF, 0)
                slowest = max(slowest, time.process_time() - started)
                if most_memory() > MOST_MEMORY:
                    self._keep(number, name, data, f"{most_memory() >> 20} MiB of memory")
                    os._exit(1)
            told.seek(0)
            told.write(f"{end} {usable} {failed} {slowest:.2f} {most_memory() >> 20:<20}\n")

    def _keep(self, number: int, name: str, data: bytes, why: str) -> None:
        place = "\n".join(why.splitlines()[-3:])
        self._known[place] += 1
        if self._known[place] == 1:
            KEPT.mkdir(parents=True, exist_ok=True)
            file = KEPT / f"archive.{number}.{name.replace(' ', '.')}"
            file.write_bytes(data)
            sys.stdout.write(f"{why}\narchive {number} ({name}): failed, kept as {file}\n")
            sys.stdout.flush()


def read_mutants(first: int, count: int, told: Path, seconds: float = float("inf")) -> int:
    """Read mutants in child processes, and say which fail; how many did."""
    until = time.monotonic() + seconds
    number, end, failed, usable, slowest, most = first, first + count, 0, 0, 0.0, 0
    originals()
    while number < end and time.monotonic() < until:
        told.write_text(f"{number} 0 0 0 0\n")
        status = forked(lambda: Child(told).run(number, min(number + ROUND, end), until))  # noqa: B023 - it has ended then
        at, read, bad, took, memory = told.read_text().split()[:5]
        number, usable, failed = int(at), usable + int(read), failed + int(bad)
        slowest, most = max(slowest, float(took)), max(most, int(memory))
        if status:
            sys.stdout.write(f"archive {number}: ended the process with {status}\n")
            sys.stdout.flush()
            number, failed = number + 1, failed + 1
    sys.stdout.write(
        f"archives: {number - first} mutants, {usable} usable, {failed} failed;"
        f" at most {slowest:.2f} s and {most} MiB\n"
    )
    sys.stdout.flush()
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", "--seed", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    options = parser.parse_args()
    place = ROOT / "build" / "archives.told"
    sys.exit(bool(read_mutants(options.first, options.count, place, 60 * options.minutes)))
