"""The canonical form: two traces are equal when their canonical forms are.

It is JSON-like and leaves out accidents of reading: the numbering of classes, strings, threads, processes and tracks,
the bounds of batches, and which of two streams comes first at the same time. Everything else counts.

    {"clock": ..., "clock_domains": [...], "environment": {...}, "processes": [...], "threads": [[pid, tid, name]],
     "tracks": [...], "classes": [...], "events": [[ts, class, cpu, thread, track, values]],
     "untimed": [[class, cpu, thread, track, values]], "sidecar": {...}}

- Processes and threads all count, as sorted sets; a thread is its pid, tid and name. A track is its path from the root.
  Tracks and classes count only if events use them, and equal ones are one. Events refer to all of them by position;
  cpu, thread and track are null if the event has none.
- Events are sorted by time; at equal times by stream, which is (cpu, track, thread); within a stream they keep its
  order. Events of untimed classes are listed separately, in the order of the trace.
- Integers are exact numbers. Floats are text (``repr`` at their own width, NaN with its bits unless it is the usual
  one), so that -0.0, NaN and infinities are distinguished. Text is text; bytes, and text that is not UTF-8, are
  ``{"bytes": base64}``. A structure is a list in the order of its members, a variant ``{option: value}``, an absent
  optional null.
- The name of the format, native records and declarations, symbols and warnings do not count; the sidecar does on
  request.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.collect import with_batches
from converter.ir.columns import column_from_values
from converter.ir.events import Batch, Table
from converter.ir.forms import (
    Json,
    class_form,
    class_of,
    column_form,
    sidecar_form,
    sidecar_of,
    value_of,
)
from converter.ir.trace import ClockDomain, Process, Thread, Trace, Track, TrackScope
from converter.kernels.batches.union import number_rows

#: The number of events in a batch of a loaded trace.
_BATCH = 1 << 16


def canonical(trace: Trace, *, sidecar: bool = False) -> dict[str, Json]:
    """Return the canonical form of a trace, on request with its sidecar.

    Raises:
        TraceError: as `Trace.batches` does.
        TypeError: a value of the sidecar is neither JSON-like nor bytes.
    """
    events = _Events(trace)
    for batch in trace.batches():
        events.add(batch)
    # Names may be filled in while batches are read, so the tables come after the events.
    form: dict[str, Json] = {
        "clock": _clock_form(trace.clock),
        "clock_domains": [_clock_form(clock) for clock in trace.clock_domains],
        "environment": dict(sorted(trace.environment.items())),
        "processes": _distinct(_process_form(process) for process in trace.processes),
        **events.form(),
    }
    if sidecar:
        form["sidecar"] = sidecar_form(trace.sidecar)
    return form


def dump(trace: Trace, *, sidecar: bool = False) -> str:
    """Return the canonical form as JSON text, with a line for each event, class, thread and so on."""
    parts = []
    for key, part in canonical(trace, sidecar=sidecar).items():
        listed = isinstance(part, list) and part
        text = "[\n" + ",\n".join(map(_line, part)) + "\n]" if listed else _line(part)
        parts.append(f"{json.dumps(key)}: {text}")
    return "{" + ",\n".join(parts) + "}\n"


def load(form: str | Mapping[str, Json]) -> Trace:
    """Return the in-memory trace of a canonical form or of its text.

    Raises:
        ValueError, KeyError, TypeError, IndexError, AttributeError: this is not a canonical form.
    """
    form = json.loads(form) if isinstance(form, str) else form
    trace = Trace(
        format="ir",
        clock=_clock_of(form["clock"]),
        clock_domains=[_clock_of(clock) for clock in form["clock_domains"]],
        environment=dict(form["environment"]),
        processes=[
            Process(**{**process, "command_line": tuple(process["command_line"])})
            for process in form["processes"]
        ],
        event_classes=[class_of(item) for item in form["classes"]],
        sidecar=sidecar_of(form.get("sidecar", {})),
    )
    processes: dict[int, int] = {}
    for i, process in enumerate(trace.processes):
        processes.setdefault(process.pid, i)
    trace.threads.extend(Thread(tid, processes[pid], name) for pid, tid, name in form["threads"])
    threads = {_line(item): i for i, item in enumerate(form["threads"])}
    tracks = [_load_track(trace, path, processes, threads) for path in form["tracks"]]
    first = form["events"][0][0] if form["events"] else 0
    events = [[first, *event] for event in form["untimed"]] + form["events"]
    return with_batches(
        trace,
        [
            _load_batch(trace, events[start : start + _BATCH], tracks)
            for start in range(0, len(events), _BATCH)
        ],
    )


def difference(first: Trace, second: Trace, *, sidecar: bool = False) -> str | None:
    """Return a readable description of the first difference of two canonical forms; None if they are equal.

    Args:
        first: any trace; both are read to their ends, and their events are in memory then.
        second: the other one.
        sidecar: True to also compare what only their own formats have.

    Raises:
        TraceError: as `Trace.batches` does.
    """
    one, other = canonical(first, sidecar=sidecar), canonical(second, sidecar=sidecar)
    for key in one:
        # Compare as text, which distinguishes 1 from true, unlike Python.
        if _line(one[key]) == _line(other[key]):
            continue
        if key in ("processes", "threads", "tracks", "classes"):
            return _set_difference(key, one[key], other[key])
        if key in ("events", "untimed"):
            return _event_difference(key, one, other)
        return _value_difference(key, one[key], other[key])
    return None


class _Events:
    """The events of a trace and the classes, threads and tracks that they refer to, collected batch by batch."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._columns: list[tuple[NDArray[Any], ...]] = []
        self._values: list[list[Json]] = []

    def add(self, batch: Batch) -> None:
        values: list[list[Json]] = [[] for _ in range(len(batch))]
        for number, table in batch.tables.items():
            fields = self._trace.event_classes[number].fields
            forms = [
                column_form(table.column(i), field.type, self._trace.strings)
                for i, field in enumerate(fields)
            ]
            for row, position in enumerate(batch.positions(number).tolist()):
                values[position] = [form[row] for form in forms]
        self._values.extend(values)
        self._columns.append((batch.ts, batch.class_id, batch.cpu, batch.thread, batch.track))

    def form(self) -> dict[str, Json]:
        trace = self._trace
        if self._columns:
            ts, class_id, cpu, thread, track = map(np.concatenate, zip(*self._columns, strict=True))
        else:
            ts = class_id = cpu = thread = track = np.zeros(0, np.int64)
        threads, thread = _renumber(dict(enumerate(_thread_forms(trace))), thread)
        tracks, track = _renumber(
            {i: _track_path(trace, i) for i in np.unique(track).tolist() if i >= 0}, track
        )
        classes, class_id = _renumber(
            {i: class_form(trace.event_classes[i]) for i in np.unique(class_id).tolist()}, class_id
        )
        timed = np.array([form.get("timed", True) for form in classes], np.bool_)[class_id]
        order = np.lexsort((thread, track, cpu, ts))
        order = order[timed[order]]
        stream = [part.astype(object) for part in (cpu, thread, track)]
        for part in stream:
            part[part < 0] = None
        return {
            "threads": threads,
            "tracks": tracks,
            "classes": classes,
            "events": self._rows(order, ts, class_id, *stream),
            "untimed": self._rows(np.flatnonzero(~timed), class_id, *stream),
        }

    def _rows(self, positions: NDArray[np.int64], *columns: NDArray[Any]) -> list[list[Json]]:
        parts = [column[positions].tolist() for column in columns]
        values = (self._values[position] for position in positions.tolist())
        return [list(row) for row in zip(*parts, values, strict=True)]


def _renumber(forms: dict[int, Json], column: NDArray[Any]) -> tuple[list[Json], NDArray[np.int64]]:
    """Return the distinct forms in order, and the column with each key of `forms` replaced by the position
    of its form.
    """
    ordered = _distinct(forms.values())
    index = {_line(form): i for i, form in enumerate(ordered)}
    # The last entry is that of -1.
    mapping = np.full(max(forms, default=-1) + 2, -1, np.int64)
    for number, form in forms.items():
        mapping[number] = index[_line(form)]
    return ordered, mapping[column]


def _distinct(forms: Iterable[Json]) -> list[Json]:
    """Return the forms without repetitions: by pid and tid if they have them, then by their text."""

    def key(entry: tuple[str, Json]) -> tuple[list[int], str]:
        text, form = entry
        parts = form.values() if isinstance(form, dict) else form
        return [part for part in parts if isinstance(part, int)], text

    return [form for _, form in sorted({_line(form): form for form in forms}.items(), key=key)]


def _thread_forms(trace: Trace) -> list[Json]:
    return [
        [trace.processes[thread.process].pid, thread.tid, thread.name] for thread in trace.threads
    ]


def _track_path(trace: Trace, number: int) -> list[Json]:
    path: list[Json] = []
    while number >= 0:
        track = trace.tracks[number]
        owner: Json = None
        if track.scope is TrackScope.CPU:
            owner = track.owner
        elif track.scope is TrackScope.PROCESS and track.owner >= 0:
            owner = trace.processes[track.owner].pid
        elif track.scope is TrackScope.THREAD and track.owner >= 0:
            thread = trace.threads[track.owner]
            owner = [trace.processes[thread.process].pid, thread.tid, thread.name]
        path.insert(
            0,
            {
                "name": track.name,
                "scope": track.scope.name,
                "owner": owner,
                "unit": track.unit,
                "identity": track.identity,
            },
        )
        number = track.parent
    return path


def _load_track(
    trace: Trace, path: list[Json], processes: dict[int, int], threads: dict[str, int]
) -> int:
    """Return the number of the track with this path; missing ancestors and the track itself are added."""
    parent = -1
    for form in path:
        scope = TrackScope[form["scope"]]
        owner = form["owner"]
        if owner is None:
            owner = -1
        elif scope is TrackScope.PROCESS:
            owner = processes[owner]
        elif scope is TrackScope.THREAD:
            owner = threads[_line(owner)]
        track = Track(form["name"], scope, owner, parent, form["unit"], form["identity"])
        if track not in trace.tracks:
            trace.tracks.append(track)
        parent = trace.tracks.index(track)
    return parent


def _load_batch(trace: Trace, events: list[Json], tracks: list[int]) -> Batch:
    ts, class_id, cpu, thread, track, values = zip(*events, strict=True)
    classes = np.array(class_id, np.int32)
    rows = np.zeros(len(events), np.int32)
    number_rows(classes, rows, np.zeros(len(trace.event_classes), np.int32))
    tables = {}
    for number in np.unique(classes).tolist():
        fields = trace.event_classes[number].fields
        held = [values[position] for position in np.flatnonzero(classes == number).tolist()]
        columns = [
            column_from_values(
                field.type, [value_of(item[i], field.type) for item in held], trace.strings
            )
            for i, field in enumerate(fields)
        ]
        tables[number] = Table(len(held), columns)
    return Batch(
        ts=np.array(ts, np.int64),
        class_id=classes,
        row=rows,
        tables=tables,
        cpu=_optional_ids(cpu),
        thread=_optional_ids(thread),
        track=_optional_ids(None if item is None else tracks[item] for item in track),
    )


def _optional_ids(numbers: Iterable[int | None]) -> NDArray[np.int32]:
    return np.array([-1 if number is None else number for number in numbers], np.int32)


def _clock_form(clock: ClockDomain) -> dict[str, Json]:
    rate = clock.ticks_per_second
    return {
        "name": clock.name,
        "ticks_per_second": None if rate is None else str(rate),
        "epoch_ns": clock.epoch_ns,
        "description": clock.description,
    }


def _clock_of(form: Mapping[str, Json]) -> ClockDomain:
    rate = form["ticks_per_second"]
    return ClockDomain(
        form["name"],
        None if rate is None else Fraction(rate),
        form["epoch_ns"],
        form["description"],
    )


def _process_form(process: Process) -> dict[str, Json]:
    return {
        "pid": process.pid,
        "name": process.name,
        "parent_pid": process.parent_pid,
        "command_line": list(process.command_line),
    }


def _set_difference(key: str, one: list[Json], other: list[Json]) -> str:
    """Describe how the sets `one` and `other` differ; they must not be equal."""
    texts, others = set(map(_line, one)), set(map(_line, other))
    only = [_line(form) for form in one if _line(form) not in others]
    extra = [_line(form) for form in other if _line(form) not in texts]
    lines = [f"{key} differ: {len(only)} only in the first, {len(extra)} only in the second"]
    lines += [f"  first:  {text}" for text in only[:3]]
    lines += [f"  second: {text}" for text in extra[:3]]
    return "\n".join(lines)


def _event_difference(key: str, one: dict[str, Json], other: dict[str, Json]) -> str:
    """Describe how the events differ; the tables that they refer to are equal."""
    for position, (event, theirs) in enumerate(zip(one[key], other[key], strict=False)):
        if _line(event) == _line(theirs):
            continue
        head = f"{key}[{position}] of {len(one[key])} and {len(other[key])} differ"
        fields = one["classes"][event[-5]].get("fields", [])
        if event[:-1] == theirs[:-1]:
            for field, mine, their in zip(fields, event[-1], theirs[-1], strict=True):
                if _line(mine) != _line(their):
                    head += f" in field {field['name']!r}: {_line(mine)} and {_line(their)}"
                    break
        return f"{head}\n  first:  {_event(event, one)}\n  second: {_event(theirs, other)}"
    longer, which = (one, "first") if len(one[key]) > len(other[key]) else (other, "second")
    position = min(len(one[key]), len(other[key]))
    return (
        f"{key}: {len(one[key])} in the first, {len(other[key])} in the second; "
        f"only in the {which}:\n  {_event(longer[key][position], longer)}"
    )


def _event(event: list[Json], form: dict[str, Json]) -> str:
    *time, number, cpu, thread, track, values = event
    event_class = form["classes"][number]
    parts = [f"ts {time[0]}"] if time else []
    parts.append(":".join(event_class[k] for k in ("category", "name", "kind") if k in event_class))
    if cpu is not None:
        parts.append(f"cpu {cpu}")
    if thread is not None:
        parts.append(f"thread {_line(form['threads'][thread])}")
    if track is not None:
        parts.append(f"track {_line([step['name'] for step in form['tracks'][track]])}")
    names = [field["name"] for field in event_class.get("fields", [])]
    parts += [f"{name}={_line(item)}" for name, item in zip(names, values, strict=True)]
    return ", ".join(parts)


def _value_difference(path: str, one: Json, other: Json) -> str:
    """Describe the innermost difference between `one` and `other`, which must not be equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one | other:
            if key not in one or key not in other:
                side, form = ("first", one) if key in one else ("second", other)
                return f"{path}.{key}: only in the {side}: {_line(form[key])}"
            if _line(one[key]) != _line(other[key]):
                return _value_difference(f"{path}.{key}", one[key], other[key])
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            if _line(mine) != _line(theirs):
                return _value_difference(f"{path}[{i}]", mine, theirs)
    return f"{path}: {_line(one)} and {_line(other)}"


def _line(form: Json) -> str:
    return json.dumps(form, separators=(",", ":"))
