"""The arrangement of a trace's items on a page: groups of tracks, each with rows of items that do not overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, unique
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.analysis.viewing.gather import (
    OPEN,
    Gathered,
    Item,
    split_location,
    thread_location,
    track_groups,
)
from converter.analysis.viewing.layout import rows_of
from converter.ir.trace import Thread, Trace, TrackScope

#: Further rows of a track are not shown.
_MOST_ROWS: Final = 4096


@unique
class Run(IntEnum):
    """The kind of items in a row."""

    SLICES = 0
    INSTANTS = 1
    TASKS = 2
    COUNTER = 3


@dataclass(slots=True)
class PageTrack:
    """A track of the page: `runs` are the numbers of its rows in the timeline."""

    name: str
    runs: list[int] = field(default_factory=list)
    #: Slices may overlap, so that none is inside another.
    is_apart: bool = False


@dataclass(slots=True)
class Group:
    """A process, or the CPUs, or the tracks of neither."""

    name: str
    tracks: list[PageTrack] = field(default_factory=list)
    is_process: bool = False


@dataclass(slots=True)
class Timeline:
    """Items ordered by row and time. `run_kind` and `run_count` are per row.

    Rows of counters come after all others, and count values of `counters`. `not_shown` items exceeded the limit of
    rows.
    """

    groups: list[Group]
    run_kind: NDArray[np.uint8]
    run_count: NDArray[np.int64]
    items: dict[str, NDArray[Any]]
    counters: dict[str, NDArray[Any]]
    flows: dict[str, NDArray[Any]]
    #: The track of each location that has one.
    track_by_location: dict[int, PageTrack]
    start: int
    end: int
    not_shown: int = 0


def arranged(gathered: Gathered, scheduled: Iterable[int] = ()) -> Timeline:
    """Return the timeline of gathered items; they are moved into it. Threads with the ids `scheduled` have tracks."""
    items, counters, flows = gathered.items, gathered.counters, gathered.flows
    times = [column["ts"] for column in (items, counters, flows) if len(column["ts"])]
    start = min((int(ts.min()) for ts in times), default=0)
    ended = items["end"][items["end"] != OPEN]
    latest = [int(ts.max()) for ts in times] + ([int(ended.max())] if len(ended) else [])
    end = max(latest, default=0)

    first, unsorted = track_groups(items)
    heads = [
        (int(items["kind"][i]), int(items["location"][i]), int(items["name"][i]))
        for i in first.tolist()
    ]
    _sort(items, unsorted, items["ts"])
    group: NDArray[np.int32] = np.sort(unsorted).astype(np.int32)
    _end_tasks(items, group)
    nests = np.array([kind == Item.SLICE for kind, _, _ in heads], np.uint8)
    apart = np.array([kind in (Item.INSTANT, Item.TASK) for kind, _, _ in heads], np.bool_)
    # Instants and tasks share one row, whatever their times are.
    row = np.zeros(len(group), np.int32)
    laid = ~apart[group] if len(group) else np.zeros(0, np.bool_)
    ends = items["end"][laid]
    row[laid] = rows_of(group[laid], items["ts"][laid], ends, nests, _MOST_ROWS)
    items["end"][laid] = ends
    not_shown = int(np.count_nonzero(row < 0))
    if not_shown:
        for name in items:
            items[name] = items[name][row >= 0]
        group, row = group[row >= 0], row[row >= 0]

    rows = np.zeros(len(heads), np.int64)
    np.maximum.at(rows, group, row + 1)
    bases = np.cumsum(rows) - rows
    run = bases[group] + row
    if not np.all(run[:-1] <= run[1:]):
        order = np.argsort(run, kind="stable")
        for name in items:
            items[name] = items[name][order]
    kinds = np.array([_RUNS[Item(kind)] for kind, _, _ in heads], np.uint8)
    run_kind = np.repeat(kinds, rows)
    run_count = np.bincount(run, minlength=len(run_kind)).astype(np.int64)

    _sort(counters, counters["series"], counters["ts"])
    counts = np.bincount(counters.pop("series"), minlength=len(gathered.series))
    tracks = _PageTracks(gathered.trace, _names_of_tasks(gathered.trace, items))
    for number, (kind, location, named) in enumerate(heads):
        track = tracks.at(
            location, gathered.trace.strings.text(named) if kind == Item.ASYNC else None
        )
        runs = range(int(bases[number]), int(bases[number] + rows[number]))
        tracks.weights[id(track)] += int(run_count[runs.start : runs.stop].sum())
        track.runs += runs
        track.is_apart |= kind == Item.ASYNC
    for location in np.unique(flows["location"]).tolist():
        tracks.at(location)
    for number, series in enumerate(gathered.series):
        tracks.counter_track(*series).runs.append(len(run_kind) + number)
    return Timeline(
        groups=tracks.groups({*np.unique(items["who"]).tolist(), *scheduled}, run_kind),
        run_kind=np.append(run_kind, np.full(len(counts), Run.COUNTER, np.uint8)),
        run_count=np.append(run_count, counts.astype(np.int64)),
        items=items,
        counters=counters,
        flows=flows,
        track_by_location=tracks.track_by_location,
        start=start,
        end=end,
        not_shown=not_shown,
    )


_RUNS: Final = {
    Item.SLICE: Run.SLICES,
    Item.ASYNC: Run.SLICES,
    Item.INSTANT: Run.INSTANTS,
    Item.TASK: Run.TASKS,
}


def _sort(columns: dict[str, NDArray[Any]], group: NDArray[Any], ts: NDArray[Any]) -> None:
    """Sort by group, and by time within each."""
    if len(ts) and np.all(ts[:-1] <= ts[1:]):
        order = np.argsort(group, kind="stable")
    else:
        order = np.lexsort((ts, group))
    for name in columns:
        columns[name] = columns[name][order]


def _names_of_tasks(trace: Trace, items: dict[str, NDArray[Any]]) -> dict[int, str]:
    """Return the last name of each task that ran, by the number of its thread."""
    tasks = items["kind"] == Item.TASK
    # Of several positions, unique gives the first.
    who, first = np.unique(items["who"][tasks][::-1], return_index=True)
    names = items["name"][tasks][::-1][first]
    return {
        tid: trace.strings.text(id) for tid, id in zip(who.tolist(), names.tolist(), strict=True)
    }


def _end_tasks(items: dict[str, NDArray[Any]], group: NDArray[np.int32]) -> None:
    """End each task on a CPU where the next one starts."""
    tasks = np.flatnonzero(items["kind"] == Item.TASK)
    followed = tasks[:-1][group[tasks[:-1]] == group[tasks[1:]]]
    items["end"][followed] = items["ts"][followed + 1]


class _PageTracks:
    """The tracks by location; sorts them into groups, in the order that people look for them."""

    def __init__(self, trace: Trace, ran: Mapping[int, str]) -> None:
        self._trace = trace
        #: The names of tasks, by their thread's number, as switches have them.
        self._ran = ran
        self._by_key: dict[tuple[Any, ...], tuple[tuple[Any, ...], PageTrack]] = {}
        self.weights: Counter[int] = Counter()
        self.track_by_location: dict[int, PageTrack] = {}

    def at(self, location: int, name: str | None = None) -> PageTrack:
        """Return the track of a location, or its additional track of that name."""
        location_kind, number = split_location(location)
        key = (location_kind, number, name)
        if key not in self._by_key:
            group, own = self._named(location_kind, number)
            track = PageTrack(own if name is None else name)
            self._by_key[key] = (group, track)
            if name is None:
                self.track_by_location[location] = track
        return self._by_key[key][1]

    def counter_track(self, location: int, name: int, id: str, series: str) -> PageTrack:
        """Return the track of a series of a counter."""
        location_kind, number = split_location(location)
        key = (location_kind, number, name, id, series)
        if key not in self._by_key:
            group, own = self._named(location_kind, number)
            text = self._trace.strings.text(name)
            if series not in ("value", text):
                text = f"{text} {series}"
            if id and group[0] != _CPUS:
                text = f"{text} {id}"
            if location_kind != "track" or group[0] == _CPUS:
                text = f"{text} · {own}"
            self._by_key[key] = (group, PageTrack(text))
        return self._by_key[key][1]

    def _named(self, location_kind: str, number: int) -> tuple[tuple[Any, ...], str]:
        """Return the key of a location's group, and the name of its track there."""
        if location_kind == "cpu":
            return ((_TRACKS, 0), "of no thread") if number < 0 else ((_CPUS, 0), f"CPU {number}")
        if location_kind == "thread":
            thread = self._trace.threads[number]
            return (_PROCESS, thread.process), f"{self._thread_name(thread)} {thread.tid}"
        track = self._trace.tracks[number]
        if track.scope is TrackScope.CPU:
            return (_CPUS, 0), track.name or f"CPU {track.owner}"
        if track.scope is TrackScope.THREAD and 0 <= track.owner < len(self._trace.threads):
            thread = self._trace.threads[track.owner]
            name = f"{self._thread_name(thread)} {thread.tid} · {track.name}"
            return (_PROCESS, thread.process), name
        if track.scope is TrackScope.PROCESS and 0 <= track.owner < len(self._trace.processes):
            return (_PROCESS, track.owner), track.name
        return (_TRACKS, 0), track.name

    def _thread_name(self, thread: Thread) -> str:
        """Return the name of a thread: its own, that of its process if it is the main thread, that in switches."""
        process = self._trace.processes[thread.process]
        main = process.name if thread.tid == process.pid else ""
        return thread.name or main or self._ran.get(thread.tid, "") or "thread"

    def groups(self, running: set[int], run_kind: NDArray[np.uint8]) -> list[Group]:
        """Return CPUs, then processes, the largest first, then tracks. Threads that only run have a track, too."""
        tids = running - {-1, 0}
        for number, thread in enumerate(self._trace.threads):
            if thread.tid in tids:
                self.at(thread_location(number))
        weights: Counter[tuple[Any, ...]] = Counter()
        for group, track in self._by_key.values():
            weights[group] += self.weights[id(track)]
        result = []
        for group in sorted(weights, key=lambda one: (one[0], -weights[one], one[1])):
            tracks = [track for owner, track in self._by_key.values() if owner == group]
            if group[0] == _PROCESS:
                tracks.sort(key=lambda track: -self.weights[id(track)])
                process = self._trace.processes[group[1]]
                name = f"{process.name or 'process'} {process.pid}"
            else:
                tracks.sort(key=lambda track: _natural_order(track.name))
                name = "CPUs" if group[0] == _CPUS else "tracks"
            for track in tracks:
                # Instants go above the slices in which they happened; rows of counters have higher numbers than all of
                # these.
                track.runs.sort(
                    key=lambda run: (run < len(run_kind) and run_kind[run] == Run.SLICES, run)
                )
            result.append(Group(name, tracks, group[0] == _PROCESS))
        return result


_CPUS: Final = 0
_PROCESS: Final = 1
_TRACKS: Final = 2


def _natural_order(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key by which CPU 2 comes before CPU 10."""
    return [(0, int(word), "") if word.isdecimal() else (1, 0, word) for word in name.split()]
