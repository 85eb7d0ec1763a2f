"""Reads every beginning of every fixture: ``python -m tests.prefixes --format fxt``.

Of a folder, each of its files is cut in turn. Whatever the cut, the end is a trace or a TraceError. An event of a file
of data is there as soon as its bytes are: a longer prefix has all that a shorter one has, the whole has all of them,
and what a byte more brings depends on bytes since the last event came. Where events are missing there is a warning,
which strict conversions refuse, unless a file may end there. Files that describe data are cut, too.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fuzz import Files  # noqa: E402 - the path is set above
from support.inputs.damaged_inputs import Reading, fixtures_of, reading_of  # noqa: E402

#: Of larger files there is one prefix for each of so many parts.
LARGE = 64 << 10
PARTS = 1000
#: Bytes that are changed until one of them matters to the events that came last.
TRIED = 64
#: Where no event came or went, events are compared for one prefix of so many.
SAMPLED = 16


def after_records(data: bytes) -> Callable[[int], bool]:
    """FXT: after each record, whose first word says how many words it has."""
    ends, at = {0}, 0
    order: Literal["big", "little"] = "big" if data[:1] == b"\0" else "little"
    while at + 8 <= len(data):
        head = int.from_bytes(data[at : at + 8], order)
        words = head >> 4 & 0xFFF if head & 15 != 15 else head >> 4 & 0xFFFFFFFF
        at += 8 * max(words, 1)
        ends.add(at)
    return ends.__contains__


def after_packets(data: bytes) -> Callable[[int], bool]:
    """Perfetto: after each field of the outermost message."""
    ends, at = {0}, 0
    while at < len(data):
        length = shift = 0
        at += 1
        while True:
            byte = data[at]
            at += 1
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        at += length
        ends.add(at)
    return ends.__contains__


def after_values(data: bytes) -> Callable[[int], bool]:
    """Chrome: after each event of a list, which need not be closed."""
    return lambda cut: data[:cut].rstrip()[-1:] in (b"}", b",", b"[", b"]")


def after_words(data: bytes) -> Callable[[int], bool]:
    """Records of as many words as they like."""
    del data
    return lambda cut: cut % 4 == 0


def before_magic(data: bytes) -> Callable[[int], bool]:
    """CTF: in front of a packet, which begins with a magic number; a stream may have none."""
    magic = (data[:4], data[:4][::-1])
    return lambda cut: cut == 0 or data[cut : cut + 4] in magic


def after_pages(data: bytes) -> Callable[[int], bool]:
    """After a page, of which blocks of LTTng and ring buffers consist."""
    del data
    return lambda cut: cut % 4096 == 0


def nowhere(data: bytes) -> Callable[[int], bool]:
    """The file says how long it is, or what must be at its end."""
    del data
    return lambda cut: False


@dataclass(frozen=True, slots=True)
class Rules:
    """What of an input of a format is data, and where data may end and be whole."""

    data: re.Pattern[str]
    may_end: Callable[[bytes], Callable[[int], bool]]
    #: Whether which CPUs there are stands behind the data.
    cpus_last: bool = False
    #: Where records, packets or pages end, as far as that is not where a file may end.
    parts: Callable[[bytes], Callable[[int], bool]] | None = None
    #: Data that also say of events in other files in which thread they are, or what their numbers are called.
    #: Of these files only the numbers of events are compared.
    tells_of_others: re.Pattern[str] = re.compile("(?!)")

    def ends(self, data: bytes) -> Callable[[int], bool]:
        """Whether a record, packet or page of a file ends in front of so many bytes."""
        return (self.parts or self.may_end)(data)


RULES = {
    "aix": Rules(re.compile(""), after_words),
    "chrome": Rules(re.compile(""), after_values),
    "ctf": Rules(re.compile(r"(.*/)?(?!metadata$|index/)[^/]+"), before_magic),
    "fxt": Rules(re.compile(""), after_records),
    "ir": Rules(re.compile(""), nowhere),
    "lttng_legacy": Rules(
        re.compile(r"(.*/)?(?!metadata_|facilities_|traceconv.json)[^/]+"),
        after_pages,
        # Switches between threads, and names of interrupts.
        tells_of_others=re.compile(r"(.*/)?(kernel|irq_state)_\d+"),
    ),
    "perfetto": Rules(re.compile(""), after_packets),
    "trace_cmd": Rules(re.compile(""), nowhere, cpus_last=True, parts=after_pages),
    "uftrace": Rules(re.compile(r".*\.dat"), after_words),
}


def cuts_of(size: int, step: int) -> Iterator[int]:
    """Where a file is cut, in order; the last is its end."""
    yield from range(0, size, step if size < LARGE else max(step, size // PARTS))
    yield size


def prefix(files: Files, name: str, cut: int) -> Files:
    """The input with the file cut off."""
    return {**files, name: files[name][:cut]}


def matters(
    read: Callable[[Files], Reading | None],
    files: Files,
    name: str,
    since: int,
    cut: int,
    found: Reading,
) -> bool:
    """Whether what was read of a prefix depends on its bytes since a place."""
    rng = random.Random(f"{name} {cut}")
    places = range(since, cut)
    last = places[-8:]
    others = places[:-8]
    for place in [*reversed(last), *rng.sample(others, min(len(others), TRIED - len(last)))]:
        for change in (0xFF, 1):
            data = bytearray(files[name][:cut])
            data[place] ^= change
            other = read({**files, name: bytes(data)})
            if other is None or other.events != found.events:
                return True
    return False


def faults(format: str, files: Files, name: str, step: int = 1) -> Iterator[tuple[int, str | None]]:
    """Each cut of a file of an input, with what is wrong with what was read of it."""
    rules = RULES[format]
    read = partial(reading_of, format=format, cpus=not rules.cpus_last)
    whole = read(files)
    if whole is None:
        raise RuntimeError(f"{name} cannot be read")
    is_data = rules.data.fullmatch(name) is not None
    tells = rules.tells_of_others.fullmatch(name) is not None
    may_end = rules.may_end(files[name])
    before, since = Reading(0, Counter(), (), whole.rate), 0
    for number, cut in enumerate(cuts_of(len(files[name]), step)):
        shorter = prefix(files, name, cut)
        found = read(shorter, counted=True)
        wrong = None
        if not is_data:
            pass
        elif found is None:
            wrong = "refused, though a shorter prefix is read" if before.count else None
        elif found.count == whole.count or found.warnings or may_end(cut):
            if found.count != before.count or not number % SAMPLED:
                found = read(shorter)
                assert found is not None
                wrong = _wrong(before, found, whole, counted=tells)
                if wrong is None and not tells and found.events != before.events:
                    if step == 1 and cut and not matters(read, files, name, since, cut, found):
                        wrong = f"{found.count - before.count} events come late"
                    since = cut
                before = found
        else:
            wrong = f"{whole.count - found.count} events are missing without a warning"
        yield cut, wrong


def _wrong(before: Reading, found: Reading, whole: Reading, *, counted: bool) -> str | None:
    if counted or not whole.rate == before.rate == found.rate:
        # What comes later makes ticks smaller, or tells more of the same events. Numbers are left.
        return None if before.count <= found.count <= whole.count else "other numbers of events"
    if missing := before.events - found.events:
        return f"{missing.total()} events that a shorter prefix has are not there"
    if more := found.events - whole.events:
        return f"{more.total()} events that the whole does not have"
    return None


def attempt(format: str, only: str, step: int, seconds: float) -> int:
    """Read the prefixes of a format's fixtures, and say which are read badly; how many are."""
    tried = failed = 0
    until = time.monotonic() + seconds
    for path, files in fixtures_of(format):
        if only not in path:
            continue
        for name in files:
            shown = f"{path}/{name}" if name else path
            wrong_before = None
            for cut, wrong in faults(format, files, name, step):
                tried += 1
                failed += wrong is not None
                if wrong is not None and wrong != wrong_before:
                    sys.stdout.write(f"{shown}: {cut} bytes: {wrong}\n")
                    sys.stdout.flush()
                wrong_before = wrong
                if time.monotonic() > until:
                    break
    sys.stdout.write(f"{format}: {tried} prefixes, {failed} failed\n")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", choices=RULES, action="append")
    parser.add_argument("--fixture", default="", help="part of the path of the fixtures")
    parser.add_argument("--step", type=int, default=1, help="bytes from one cut to the next")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each format")
    options = parser.parse_args()
    found = [
        attempt(name, options.fixture, options.step, options.seconds)
        for name in options.format or RULES
    ]
    sys.exit(any(found))
