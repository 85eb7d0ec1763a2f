"""What is read of damaged inputs: the events as numbers that can be counted and compared, and the warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from fuzz import Files, packed, unpacked

from converter.errors import TraceError, TraceWarning
from converter.ir.events import Batch
from converter.ir.fingerprints import Fingerprinter
from converter.ir.trace import Trace
from converter.jobs.reading import detect, open_trace

FIXTURES = Path(__file__).resolve().parents[3] / "roundtrip_fixtures"

_TIME = np.uint64(0x9E3779B97F4A7C15)
_CPU = 1 << 20
_PLACE = np.uint64(0xC2B2AE3D27D4EB4F)

Events = Counter[int]


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read: how many events, their fingerprints with how often each is there, and what is damaged."""

    count: int
    events: Events
    warnings: tuple[TraceWarning, ...]
    #: Ticks per second: times of other ticks cannot be compared.
    rate: Fraction | None


def reading_of(
    files: Files, format: str, *, counted: bool = False, cpus: bool = True
) -> Reading | None:
    """Read an input to its end; None where nothing of it can be read, which is a TraceError.

    Of the place of an event its CPU and the number of its thread count: what describes these may be what is missing.
    Events are only `counted`, or have their fingerprints taken, too, with or without the numbers of their `cpus`.
    """
    numbers: list[int] = []
    count = 0
    try:
        with open_trace(packed(files), format) as trace:
            prints = Fingerprinter(trace)
            for batch in trace.batches():
                count += len(batch)
                if not counted:
                    numbers += _numbers(trace, batch, prints, cpus=cpus)
            if trace.check is not None:
                trace.check(True)
            warnings = tuple(trace.warnings)
    except TraceError as error:
        str(error)
        return None
    for warning in warnings:
        str(warning)
    return Reading(count, Counter(numbers), warnings, trace.clock.ticks_per_second)


def _numbers(trace: Trace, batch: Batch, prints: Fingerprinter, *, cpus: bool) -> list[int]:
    tids = np.array([*(thread.tid for thread in trace.threads), -1], np.int64)
    places = tids[batch.thread]
    if cpus:
        places = places + batch.cpu * np.int64(_CPU)
    with np.errstate(over="ignore"):
        numbers = prints.events(batch) + places.view(np.uint64) * _PLACE
        numbers += batch.ts.astype(np.int64).view(np.uint64) * _TIME
    found: list[int] = numbers.tolist()
    return found


def files_at(path: Path) -> Files:
    """The files of an input by name, as `packed` takes them; that of a format that is one file has none."""
    if path.is_dir():
        inside = [file for file in sorted(path.rglob("*")) if file.is_file()]
        return {str(file.relative_to(path)): file.read_bytes() for file in inside}
    return unpacked(path.read_bytes()) if ".tar" in path.suffixes else {"": path.read_bytes()}


def fixtures_of(format: str) -> Iterator[tuple[str, Files]]:
    """All fixtures of a format, those of other formats written in it included, by path."""
    for path in sorted(FIXTURES.glob("*/*")):
        try:
            found = detect(path).name
        except TraceError:  # descriptions, and what tools printed
            continue
        if found == format:
            yield str(path.relative_to(FIXTURES)), files_at(path)


def times_of(files: Files, format: str) -> tuple[Counter[int], tuple[TraceWarning, ...]] | None:
    """The times of the events of an input, with how many have each, and what is damaged; None for a TraceError."""
    times: Counter[int] = Counter()
    try:
        with open_trace(packed(files), format) as trace:
            for batch in trace.batches():
                times.update(batch.ts.tolist())
            warnings = tuple(trace.warnings)
    except TraceError as error:
        str(error)
        return None
    for warning in warnings:
        str(warning)
    return times, warnings
