"""Makes holes in recordings and reads what is left: ``python -m tests.holes --format fxt --count 1000``.

Pages are zeroed, a piece is lost, or overwritten, 1 to 64 KiB of it. Whatever the hole, the end is a trace or a
TraceError; where events are missing there is a warning, but where a piece is lost, of which nothing need tell. What a
hole covers is known from what is read of two prefixes, that in front of it and that up to the end of what it ends in (a
record, packet or page): an event that the first has, or the second has not, is outside. Events count by time, as names
and other things that later events refer to may have been in the hole. What is lost outside is told.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fuzz import Files, size_of  # noqa: E402 - the path is set above
from prefixes import RULES, prefix  # noqa: E402
from support.inputs.damaged_inputs import files_at, fixtures_of, times_of  # noqa: E402

#: Holes begin and end at one of so many places of a file.
PLACES = 200
LEAST, MOST = 1 << 10, 64 << 10


@dataclass(frozen=True, slots=True)
class Hole:
    """Bytes of a file that are zeroed, lost or overwritten."""

    kind: str
    start: int
    end: int

    def made_in(self, data: bytes) -> bytes:
        """The file with the hole."""
        size = self.end - self.start
        filling = {
            "zeroed": bytes(size),
            "lost": b"",
            "overwritten": random.Random(self.start).randbytes(size),
        }
        return data[: self.start] + filling[self.kind] + data[self.end :]


@dataclass(slots=True)
class Result:
    """What came of holes: events inside of them, events outside, and of these the lost; holes without a warning."""

    holes: int = 0
    inside: int = 0
    outside: int = 0
    lost: int = 0
    refused: int = 0
    silent: int = 0


class Recording:
    """An input with the largest of its files of data, in which holes are made."""

    def __init__(self, format: str, files: Files) -> None:
        data = RULES[format].data
        self.format = format
        self.files = files
        self.name = max(filter(data.fullmatch, files), key=lambda name: len(files[name]))
        self.size = len(files[self.name])
        self.ends = RULES[format].ends(files[self.name])
        self.whole = self.times(self.size)
        self.times = lru_cache(PLACES + 1)(self.times)  # type: ignore[method-assign]

    def times(self, cut: int) -> Counter[int]:
        """The times of the events of a prefix."""
        found = times_of(prefix(self.files, self.name, cut), self.format)
        return Counter() if found is None else found[0]

    def hole(self, rng: random.Random) -> Hole:
        """A hole somewhere."""
        step = max(self.size // PLACES, 8) // 8 * 8
        start = rng.randrange(0, self.size, step)
        size = min(1 << rng.randint(LEAST.bit_length() - 1, MOST.bit_length() - 1), self.size // 8)
        end = min(start + -(-size // step) * step, self.size)
        return Hole(rng.choice(("zeroed", "lost", "overwritten")), start, end)

    def read(self, hole: Hole, result: Result) -> str | None:
        """Read what is left; what is wrong with it."""
        end = next(filter(self.ends, range(hole.end, self.size)), self.size)
        before, behind = self.times(hole.start), self.whole - self.times(end)
        outside = before + behind
        damaged = {**self.files, self.name: hole.made_in(self.files[self.name])}
        found = times_of(damaged, self.format)
        result.holes += 1
        result.inside += (self.whole - outside).total()
        result.outside += outside.total()
        if found is None:
            result.refused += 1
            result.lost += outside.total()
            return None
        times, warnings = found
        result.lost += (outside - times).total()
        missing = (self.whole - times).total()
        if missing and not warnings and hole.kind != "lost":
            result.silent += 1
            return f"{missing} events are missing without a warning"
        return None


def attempt(format: str, files: Files, count: int, first: int, verbose: bool) -> int:
    """Make holes, say what came of it; how many were not told of."""
    recording = Recording(format, files)
    results = {kind: Result() for kind in ("zeroed", "lost", "overwritten")}
    failed = 0
    for number in range(first, first + count):
        hole = recording.hole(random.Random(f"{format} {number}"))
        result = results[hole.kind]
        lost = result.lost
        wrong = recording.read(hole, result)
        failed += wrong is not None
        if wrong is not None or verbose:
            told = wrong or f"{result.lost - lost} events outside are lost"
            sys.stdout.write(f"{format}: number {number}: {hole}: {told}\n")
    for kind, result in results.items():
        sys.stdout.write(
            f"{format}: {result.holes} {kind}: of {result.outside:,} events outside of the holes "
            f"{result.lost:,} are lost, {result.inside:,} are inside; {result.refused} refused, "
            f"{result.silent} without a warning\n"
        )
        sys.stdout.flush()
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=RULES, action="append")
    parser.add_argument("--input", type=Path, help="a recording; the largest fixture without")
    parser.add_argument("--count", type=int, default=1000, help="holes of each format")
    parser.add_argument("--first", type=int, default=0, help="number of the first hole")
    parser.add_argument("-v", "--verbose", action="store_true", help="tell of each hole")
    options = parser.parse_args()
    failures = 0
    for name in options.format or RULES:
        if options.input is not None:
            chosen = files_at(options.input)
        else:
            chosen = max((files for _, files in fixtures_of(name)), key=size_of)
        failures += attempt(name, chosen, options.count, options.first, options.verbose)
    sys.exit(bool(failures))
