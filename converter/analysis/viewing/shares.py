"""The use of CPUs and threads in each of several intervals of a trace."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.analysis.viewing.arrange import Run, Timeline, arranged
from converter.analysis.viewing.gather import Gathered, thread_location
from converter.ir.trace import Trace

#: The most threads that are listed.
_MOST: Final = 10


class Line(NamedTuple):
    """The share of each interval during which a CPU or thread was busy, from 0 to 1, and of all intervals together."""

    name: str
    shares: list[float]
    total: float


class Shares(NamedTuple):
    """Lines of CPUs and of the busiest threads, for intervals of `step` nanoseconds from `start` on.

    Threads are busy while they are on a CPU; if the trace has no context switches, while they are in a slice.
    """

    start: int
    step: float
    cpus: list[Line]
    threads: list[Line]
    more_threads: int


def shares_of(trace: Trace, intervals: int) -> Shares:
    """Return the shares of a trace, whose batches are read once.

    Raises:
        TraceError: as `Trace.batches` does.

    """
    gathered = Gathered(trace, arguments=False)
    timeline = arranged(gathered)
    edges = np.linspace(0, max(timeline.end - timeline.start, 1), intervals + 1)
    spans = _Spans(timeline)
    cpus = [
        _line(track.name, *spans.of_runs(track.runs, Run.TASKS), edges)
        for group in timeline.groups
        for track in group.tracks
        if any(timeline.run_kind[run] == Run.TASKS for run in track.runs)
    ]
    threads = []
    for number, thread in enumerate(gathered.trace.threads):
        track = timeline.track_by_location.get(thread_location(number))
        if track is None or not thread.tid:
            continue
        busy = spans.of_thread(thread.tid) if cpus else spans.of_runs(track.runs, Run.SLICES)
        if len(busy[0]):
            threads.append(_line(track.name, *busy, edges))
    threads.sort(key=lambda line: (-line.total, line.name))
    return Shares(
        timeline.start,
        float(edges[1]),
        cpus,
        threads[:_MOST],
        max(len(threads) - _MOST, 0),
    )


_Interval = tuple[NDArray[np.int64], NDArray[np.int64]]


class _Spans:
    """Busy times: starts and ends relative to the start of the trace, in the order of time."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._first = np.append(0, np.cumsum(timeline.run_count))
        items: dict[str, NDArray[Any]] = timeline.items
        length = timeline.end - timeline.start
        self._from = items["ts"] - timeline.start
        self._to = np.minimum(items["end"], timeline.end) - timeline.start
        self._to = np.clip(self._to, self._from, length)
        self._who = items["who"]

    def of_runs(self, runs: list[int], kind: Run) -> _Interval:
        """Return those of the first row of that kind; idle threads do not count."""
        for run in runs:
            if self._timeline.run_kind[run] == kind:
                which = slice(self._first[run], self._first[run + 1])
                busy = self._who[which] != 0
                return self._from[which][busy], self._to[which][busy]
        return self._from[:0], self._to[:0]

    def of_thread(self, tid: int) -> _Interval:
        """Return those of a thread, on any CPU."""
        at = np.flatnonzero(self._who == tid)
        at = at[np.argsort(self._from[at], kind="stable")]
        return self._from[at], self._to[at]


def _line(
    name: str, start: NDArray[np.int64], end: NDArray[np.int64], edges: NDArray[np.float64]
) -> Line:
    """Return the share of each interval between two edges that is covered by spans that do not overlap."""
    before = np.append(0, np.cumsum(end - start))
    at = np.searchsorted(start, edges, side="right")
    last = np.maximum(at - 1, 0)
    # All that have started, minus what the last of them extends beyond the edge.
    beyond = np.maximum(end[last] - edges, 0) if len(end) else np.zeros(len(edges))
    taken = before[at] - np.where(at > 0, beyond, 0)
    shares = np.clip(np.diff(taken) / np.diff(edges), 0, 1)
    return Line(name, [round(share, 4) for share in shares.tolist()], float(before[-1] / edges[-1]))
