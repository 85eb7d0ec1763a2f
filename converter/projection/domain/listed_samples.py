"""Samples that a format lists next to its events, in members of the file: `samples` and `stackFrames` of JSON.

A sample has a time, a thread, and the number of a frame, which refers to the one around it. The members stay; viewers
of formats with call stacks need samples.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.projection.domain.call_stacks import SAMPLE, sample_batches
from converter.projection.losses import LossReport
from converter.projection.passes.renumbering import in_classes

_MICROSECONDS: Final = 10**6
_MAX_TIME: Final = 1 << 62


def with_listed_samples(trace: Trace, report: LossReport) -> Trace:
    """Return the trace with the samples after all events: those between the first and the last, since it
    may be a part.
    """
    result = dataclasses.replace(trace, event_classes=[])

    def batches() -> Iterator[Batch]:
        numbers: list[int] = []
        first, last = _MAX_TIME, -_MAX_TIME
        for batch in trace.batches():
            numbers.extend(map(result.add_class, trace.event_classes[len(numbers) :]))
            if len(batch):
                first, last = min(first, int(batch.ts.min())), max(last, int(batch.ts.max()))
            yield in_classes(batch, numbers)
        yield from _samples(trace, result, report, (first, last))

    result.make_batches = batches
    return result


def _samples(
    trace: Trace, result: Trace, report: LossReport, within: tuple[int, int]
) -> Iterator[Batch]:
    """Return the samples in the members of a trace, in time order."""
    members = trace.sidecar.get(trace.format, {}).get("members", {})
    listed, frames = members.get("samples"), members.get("stackFrames")
    if not isinstance(listed, list) or not isinstance(frames, dict):
        return
    number = {name: index for index, name in enumerate(frames)}
    numbers: dict[int, int] = {}
    for index, one in enumerate(trace.threads):
        numbers.setdefault(one.tid, index)
    ticks = (trace.clock.ticks_per_second or Fraction(10**9)) / _MICROSECONDS
    found: list[tuple[int, int, int, int]] = []
    outside = 0
    for sample in listed:
        ts = _number(sample, "ts")
        stack = number.get(str(sample.get("sf"))) if isinstance(sample, dict) else None
        if ts is None or stack is None:
            continue
        at = int(ts * ticks)
        if within[1] >= within[0] and not within[0] <= at <= within[1]:
            outside += 1
        elif abs(at) < _MAX_TIME:
            cpu, tid = _number(sample, "cpu"), _number(sample, "tid")
            on = int(cpu) if cpu is not None and 0 <= cpu < 1 << 31 else -1
            found.append((at, on, -1 if tid is None else numbers.get(int(tid), -1), stack))
    report.add("listed-sample-outside", outside)
    if not found:
        return
    report.add("call-stacks-added", len(found), min(found)[0], profiler="the file's sample list")
    columns = np.array(sorted(found, key=lambda one: one[0]), np.int64)
    times, cpus, threads, stacks = (columns[:, i].copy() for i in range(4))
    yield from sample_batches(
        result.add_class(SAMPLE),
        times,
        stacks,
        _tables(trace, frames, number),
        thread=threads.astype(np.int32),
        cpu=cpus.astype(np.int32),
    )


def _tables(
    trace: Trace, frames: dict[str, Any], number: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return, for each frame, the one around it (-1: none) and the string id of its name."""
    prefix, function = [], []
    for frame in frames.values():
        entry = frame if isinstance(frame, dict) else {}
        prefix.append(number.get(str(entry.get("parent")), -1))
        name = entry.get("name")
        text = name if isinstance(name, str) else ""
        function.append(trace.strings.intern(text.encode("utf-8", "surrogateescape")))
    return np.array(prefix, np.int64), np.array(function, np.int32)


def _number(item: Any, name: str) -> Fraction | None:
    """Return a number that an object has under a name, exactly as written."""
    value = item.get(name) if isinstance(item, dict) else None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MAX_TIME:
        return Fraction(value)
    return Fraction(repr(value)) if isinstance(value, float) and abs(value) < _MAX_TIME else None
