"""Statistics of slices by name: counts, total durations, and durations without those of nested slices.

Slices are those that viewers show: kernel events are turned into slices as for a format that can hold nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.capabilities import Capabilities, KindSupport
from converter.projection.instants import NAME
from converter.projection.project import project
from converter.projection.timeline_fields import number_id
from converter.selection.stacks import END, UNMATCHED, Stacks
from converter.selection.steps import StepsOf

_ON_THREADS: Final = KindSupport((NAME,), arguments=False, track=True, cpu=True)
_BY_ID: Final = KindSupport(
    (NAME, number_id("id")), (), frozenset({Role.ID}), arguments=False, track=True
)
#: Only slices are held: everything else is dropped early, at no cost.
_SLICES_ALONE: Final = Capabilities(
    kinds={
        Kind.SLICE_BEGIN: _ON_THREADS,
        Kind.SLICE_END: _ON_THREADS,
        Kind.ASYNC_BEGIN: _BY_ID,
        Kind.ASYNC_END: _BY_ID,
    },
    utf8_only=False,
    negative_times=True,
    tracks=True,
)


@dataclass(frozen=True, slots=True)
class SliceTimes:
    """The finished slices of a name: their count, and their total and own ticks."""

    name: str
    count: int
    total: int
    own: int


def slice_times(trace: Trace) -> list[SliceTimes]:
    """Return the slices of a trace by name, longest total first. The batches of the trace are read once.

    Raises:
        TraceError: as `Trace.batches` does.
    """
    projected, _ = project(trace, _SLICES_ALONE, "slices")
    steps_of = StepsOf(projected, values=False)
    stacks = Stacks()
    sums = _Sums()
    for batch in projected.batches():
        steps = steps_of(batch)
        if steps is None:
            continue
        ts = batch.ts[steps.at]
        # Open slices are numbered by their begin times. Times before zero occur if a clock was set.
        closed = stacks.follow(
            steps.lane, steps.step, steps.name, ts - _FIRST, np.ones(len(ts), np.int32)
        )
        ends = (steps.step == END) & (closed.owner != UNMATCHED)
        took = ts[ends] - (closed.number[ends] + _FIRST)
        sums.add(closed.name[ends], took, took - closed.inside[ends])
    strings = projected.strings
    found = [
        SliceTimes(strings[number].decode("utf-8", "surrogateescape"), *numbers)
        for number, numbers in sums.items()
    ]
    return sorted(found, key=lambda one: (-one.total, one.name))


#: Numbers of open slices are not negative.
_FIRST: Final = np.int64(np.iinfo(np.int64).min // 2)


class _Sums:
    """Count, total and own time by name."""

    def __init__(self) -> None:
        self._sums = np.zeros((3, 0), np.int64)

    def add(
        self, names: NDArray[np.int64], took: NDArray[np.int64], own: NDArray[np.int64]
    ) -> None:
        size = int(names.max(initial=0)) + 1
        if size > self._sums.shape[1]:
            more = np.zeros((3, max(size, 2 * self._sums.shape[1])), np.int64)
            more[:, : self._sums.shape[1]] = self._sums
            self._sums = more
        np.add.at(self._sums[0], names, 1)
        np.add.at(self._sums[1], names, took)
        np.add.at(self._sums[2], names, own)

    def items(self) -> list[tuple[int, tuple[int, int, int]]]:
        numbers = np.flatnonzero(self._sums[0])
        columns = self._sums[:, numbers].tolist()
        return list(zip(numbers.tolist(), zip(*columns, strict=True), strict=True))
