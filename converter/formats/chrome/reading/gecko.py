"""Profiles of Firefox (Gecko), which samply and other profilers write as well: samples and markers of threads.

A profile is one document of tables, which threads may share. Markers become the text of trace events, which the scanner
reads; samples become columns directly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, TraceWarning, note
from converter.formats.chrome.reading.gecko_batches import MarkerTracks, Samples, sample_batches
from converter.formats.chrome.reading.gecko_tables import (
    NANOSECONDS,
    columns,
    dictionary,
    identity,
    listed,
    microseconds,
    numbers_of,
    padded,
    start_of,
    strings_of,
    times_of,
    values_at,
)
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.limits import allowed, limit
from converter.storage.source import MemorySource, Source

#: The name of the trace's format: it is not that of trace events, so writing it as Chrome JSON needs a projection.
GECKO: Final = "gecko"
#: The depth of processes inside processes.
_MAX_NESTING: Final = 4
#: The event phase of each marker phase: an instant, an interval, its beginning, its end.
_PHASES: Final = ("i", "X", "B", "E")


def read_profile(source: Source, read_events: Callable[[Source], Trace]) -> Trace:
    """Read a profile as a trace; `read_events` reads the text of trace events.

    Raises:
        TraceError: it is not a profile.

    """
    if source.size > limit("chrome.profile"):
        what = f"a profile, which is read as a whole, of {allowed('chrome.profile')}"
        raise TraceError(format="chrome", expected=what, found=f"{source.size >> 20} MiB")
    try:
        profile = json.loads(source.read(0, source.size).decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise TraceError(
            format="chrome", path=source.name, expected="JSON", found=str(error)
        ) from error
    parsed = _Profile(profile)
    text = b",\n".join(parsed.events)
    meta = json.dumps(parsed.meta).encode()
    document = b'{"traceEvents":[\n' + text + b'\n],"meta":' + meta + b"}"
    trace = read_events(MemorySource(source.name, document))
    trace.clock = replace(trace.clock, epoch_ns=round(parsed.start * 1000) * 1000 or None)
    if parsed.skipped:
        message = (
            f"{parsed.skipped:,} markers and samples are not in the form of their table: left out"
        )
        warning = TraceWarning(
            format="chrome",
            path=source.name,
            field="threads",
            message=message,
            is_damage=True,
        )
        note(trace.warnings, warning)
    events = trace.make_batches
    ids = np.array([trace.strings.intern(name) for name in parsed.names], np.int32)

    tracks = MarkerTracks(trace)

    def batches() -> Iterator[Batch]:
        yield from map(tracks.place, events())
        yield from sample_batches(trace, parsed.samples, ids)

    trace.format, trace.make_batches = GECKO, batches
    # Viewers show what a marker says as its data.
    trace.semantics = replace(trace.semantics, json_arguments="data")
    return trace


class _Profile:
    """The parts of a profile that become events: markers as text, samples as columns."""

    def __init__(self, profile: Any) -> None:
        if not isinstance(profile, dict) or not isinstance(profile.get("threads"), list):
            raise TraceError(format="chrome", field="threads", expected="the threads of a profile")
        self.meta = dictionary(profile, "meta")
        self.start = start_of(self.meta)
        self.events: list[bytes] = []
        self.samples: list[Samples] = []
        self.skipped = 0
        self._numbers: dict[str, int] = {"": 0}
        self._add(profile, 0)

    @property
    def names(self) -> list[bytes]:
        """The names of functions, by their number in samples."""
        return [name.encode("utf-8", "replace") for name in self._numbers]

    def _add(self, profile: dict[str, Any], depth: int) -> None:
        """Add the threads of a process and, in raw profiles, those of nested processes."""
        meta, shared = dictionary(profile, "meta"), dictionary(profile, "shared")
        later = start_of(meta) - self.start if start_of(meta) else 0.0
        categories = [
            one.get("name") if isinstance(one, dict) else None for one in listed(meta, "categories")
        ]
        for thread in listed(profile, "threads"):
            if isinstance(thread, dict):
                self._add_thread(thread, shared, categories, later)
        for process in listed(profile, "processes"):
            if isinstance(process, dict) and depth < _MAX_NESTING:
                self._add(process, depth + 1)

    def _add_thread(
        self, thread: dict[str, Any], shared: dict[str, Any], categories: list[Any], later: float
    ) -> None:
        pid, tid = identity(thread.get("pid", 0)), identity(thread.get("tid", 0))
        for name, key in (("process_name", "processName"), ("thread_name", "name")):
            if isinstance(thread.get(key), str) and thread[key]:
                event = {"ph": "M", "name": name, "pid": pid, "args": {"name": thread[key]}}
                self._put({**event, "tid": tid} if name == "thread_name" else event)
        strings = strings_of(thread) or strings_of(shared)
        self._add_markers(dictionary(thread, "markers"), strings, categories, (pid, tid), later)
        # Frames and stacks are in the same object as their names.
        tables = shared if shared.get("frameTable") else thread
        self._add_samples(thread, tables, strings_of(tables) or strings, (pid, tid), later)

    def _put(self, event: dict[str, Any]) -> None:
        self.events.append(json.dumps(event, ensure_ascii=False).encode("utf-8", "replace"))

    def _add_markers(
        self,
        table: dict[str, Any],
        strings: list[Any],
        categories: list[Any],
        thread: tuple[Any, Any],
        later: float,
    ) -> None:
        names, starts, ends, phases = columns(table, "name", "startTime", "endTime", "phase")
        count = min(map(len, (names, starts, ends, phases)))
        start, end = (times_of(one[:count], 0.0) for one in (starts, ends))
        # The whole profile has one time of day.
        at = ((np.where(numbers_of(phases[:count]) == 3, end, start) + later) * NANOSECONDS).astype(
            int
        )
        duration = np.maximum((end - start) * NANOSECONDS, 0).astype(int)
        names, phases = numbers_of(names[:count]).tolist(), numbers_of(phases[:count]).tolist()
        kinds, data = (padded(column, count) for column in columns(table, "category", "data"))
        for i, (name, phase, category) in enumerate(
            zip(names, phases, numbers_of(kinds), strict=True)
        ):
            if not (0 <= name < len(strings) and 0 <= phase < len(_PHASES)):
                self.skipped += 1
                continue
            event: dict[str, Any] = {
                "ph": _PHASES[phase],
                "name": str(strings[name]),
                "ts": microseconds(at[i]),
            }
            event["pid"], event["tid"] = thread
            if 0 <= category < len(categories):
                event["cat"] = categories[category]
            if phase == 1:
                event["dur"] = microseconds(duration[i])
            if data[i] is not None:
                event["args"] = data[i] if isinstance(data[i], dict) else {"data": data[i]}
            self._put(event)

    def _add_samples(
        self,
        thread: dict[str, Any],
        tables: dict[str, Any],
        strings: list[Any],
        owner: tuple[Any, Any],
        later: float,
    ) -> None:
        frames, functions = dictionary(tables, "frameTable"), dictionary(tables, "funcTable")
        stacks = dictionary(tables, "stackTable")
        # A frame has a location in raw profiles, and a function with a name in processed ones.
        location, function = columns(frames, "location", "func")
        prefix, frame = columns(stacks, "prefix", "frame")
        names = self._named(strings)
        of_function = values_at(names, numbers_of(*columns(functions, "name")))
        of_frame = (
            values_at(names, numbers_of(location))
            if location
            else values_at(of_function, numbers_of(function))
        )
        table = dictionary(thread, "samples")
        stack, time, deltas = columns(table, "stack", "time", "timeDeltas")
        times = times_of(time, np.nan) if time or not deltas else np.cumsum(times_of(deltas, 0.0))
        count = min(len(stack), len(times))
        number, times = numbers_of(stack[:count]), times[:count] + later
        prefixes = numbers_of(prefix[: len(frame)])
        # The prefix of a stack must have a lower index.
        prefixes[prefixes >= np.arange(len(prefixes))] = -1
        known = (number >= 0) & (number < len(prefixes)) & np.isfinite(times)
        self.skipped += int(np.count_nonzero((number >= 0) & ~known))
        if known.any():
            ts = (times[known] * NANOSECONDS).astype(np.int64)
            named = values_at(of_frame, numbers_of(frame[: len(prefixes)])).astype(np.int32)
            self.samples.append(Samples(owner, ts, number[known], prefixes, named))

    def _named(self, strings: list[Any]) -> NDArray[np.int64]:
        """Return the numbers of the names in a table of texts."""
        numbers = self._numbers
        return np.array([numbers.setdefault(str(one), len(numbers)) for one in strings], np.int64)
