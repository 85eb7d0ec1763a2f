"""Writes speedscope's files: a profile for the slices of each thread or track, and one for its samples of each event.

The elements of profiles wait in a temporary file, as they come in the order of time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.samples import unit_of, weight_index
from converter.formats.profiles.speedscope import SCHEMA
from converter.formats.profiles.speedscope.emit import Calls, Elements
from converter.formats.profiles.speedscope.mapping import (
    OWN,
    PLACE,
    PROFILE_UNITS,
    VERSION,
)
from converter.formats.profiles.timeline import balanced
from converter.formats.side_table import side_table_form
from converter.ir.columns import ListColumn, StructColumn, string_ids
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable
from converter.projection.losses import LossReport
from converter.storage.sink import Sink

_FRAME: Final = np.dtype([("function", np.int32), ("source", np.int32), ("line", np.uint32)])
#: Of all that waits for the temporary file in memory.
_BUFFERED: Final = 1 << 16
_COPIED_AT_ONCE: Final = 1 << 20
#: Thread, track, and the event of samples.
_Key = tuple[int, int, "tuple[str, str] | None"]


def write(trace: Trace, sink: Sink, variant: str) -> LossReport | None:
    """Write a trace that was projected to the format, or read from it: then with its own frames and members."""
    del variant
    report = None
    is_as_read = trace.is_as_read
    if trace.format == "speedscope" and trace.sidecar.get("speedscope"):
        # A part of a trace may have slices without an end.
        report = LossReport()
        trace = balanced(trace, report)
    with TemporaryFile() as file:
        writer = _Writer(trace, file, is_as_read=is_as_read)
        for batch in trace.batches():
            writer.add(batch)
        writer.finish(sink)
    return report


class _Spool:
    """The text of one array, in pieces of a file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._waiting = bytearray()
        self._pieces: list[tuple[int, int]] = []

    def add(self, text: Any) -> None:
        self._waiting += text
        if len(self._waiting) >= _BUFFERED:
            self._pieces.append((self._file.seek(0, 2), len(self._waiting)))
            self._file.write(self._waiting)
            self._waiting.clear()

    def write(self, sink: Sink) -> None:
        """Write all, without the comma after the last element."""
        for number, (start, size) in enumerate(self._pieces):
            self._file.seek(start)
            is_last = number == len(self._pieces) - 1 and not self._waiting
            left = size - is_last
            while left:
                data = self._file.read(min(left, _COPIED_AT_ONCE))
                left -= len(data)
                sink.write(data)
        sink.write(bytes(self._waiting[:-1]))


@dataclass(slots=True)
class _Profile:
    """A profile that is written; times are those of the trace."""

    thread: int
    track: int
    #: The event of its samples, and the unit of their weights; None for slices.
    event: tuple[str, str] | None
    arrays: dict[str, _Spool]
    #: Its members in the file that was read.
    members: dict[str, Any] = field(default_factory=dict)
    power: int = 0
    calls: Calls = field(default_factory=Calls)
    first: int | None = None
    last: int = 0
    total: int = 0
    on_cpus: bool = False


class _Writer:
    def __init__(self, trace: Trace, file: BinaryIO, *, is_as_read: bool) -> None:
        self._trace = trace
        self._file = file
        self._is_as_read = is_as_read
        self._elements = Elements()
        self._profiles: dict[_Key, _Profile] = {}
        kept = trace.sidecar.get("speedscope", {})
        self._origin: int | None = kept.get("origin")
        #: True if the file has members of traceconv's own.
        self._has_own = kept.get("own", True)
        self._members: dict[str, Any] = dict(kept.get("members", {}))
        self._own: list[dict[str, Any]] = list(kept.get("frames", []))
        self._frames = StringTable()
        self._numbers = self._known_frames()
        for members, thread, track, event, power in kept.get("profiles", []):
            profile = self._profile((thread, track, tuple(event) if event else None))
            profile.members, profile.power = members, power

    def _known_frames(self) -> NDArray[np.int32]:
        """Return the number in the file of each frame of the table, as it is in the file that was read."""
        if not self._own:
            return np.zeros(0, np.int32)
        from converter.formats.profiles.speedscope.document import frame_table

        table = frame_table(self._own, self._trace.strings)
        data = np.empty(len(table), _FRAME)
        data["function"], data["source"], data["line"] = table.function, table.source, table.line
        ids = self._interned(data)
        numbers = np.zeros(len(self._frames) - 1, np.int32)
        # The first of equal ones.
        numbers[ids[::-1]] = np.arange(len(ids), dtype=np.int32)[::-1]
        return numbers

    def _interned(self, data: NDArray[np.void]) -> NDArray[np.int32]:
        ids = np.empty(len(data), np.int32)
        starts = np.arange(len(data), dtype=np.int64) * _FRAME.itemsize
        sizes = np.full(len(data), _FRAME.itemsize, np.int64)
        self._frames.intern_spans(data.view(np.uint8), starts, sizes, ids)
        # 0 is the empty text.
        return ids - np.int32(1)

    def _frame_numbers(self, data: NDArray[np.void]) -> NDArray[np.int32]:
        ids = self._interned(data)
        new = len(self._frames) - 1 - len(self._numbers)
        if new:
            next_number = len(self._own) + len(self._numbers) - self._distinct_own()
            added = np.arange(next_number, next_number + new, dtype=np.int32)
            self._numbers = np.concatenate([self._numbers, added])
        return self._numbers[ids]

    def _distinct_own(self) -> int:
        return int(np.count_nonzero(self._numbers < len(self._own)))

    def add(self, batch: Batch) -> None:
        if not len(batch):
            return
        if self._origin is None:
            self._origin = int(batch.ts.min())
        classes = self._trace.event_classes
        step, frame = np.zeros((2, len(batch)), np.int32)
        for number, table in batch.tables.items():
            event_class = classes[number]
            if not len(table):
                continue
            if event_class.kind is Kind.SAMPLE:
                self._add_samples(batch, number, table)
                continue
            at = batch.positions(number)
            begins = event_class.kind is Kind.SLICE_BEGIN
            step[at] = 1 if begins else 2
            if begins:
                frame[at] = self._frame_numbers(self._frames_of_slices(event_class, table))
        slices = np.flatnonzero(step)
        for (thread, track), rows in _groups(batch.thread[slices], batch.track[slices]):
            profile = self._profile((thread, track, None))
            where = slices[rows]
            ts = self._spanned(profile, batch.ts[where])
            text = profile.calls.events(step[where], frame[where], ts, profile.power)
            profile.arrays["events"].add(text)

    def _frames_of_slices(self, event_class: EventClass, table: Table) -> NDArray[np.void]:
        data = np.zeros(len(table), _FRAME)
        name = event_class.index_of(Role.NAME)
        assert name is not None
        data["function"] = string_ids(table.column(name), self._trace.strings)
        for field_name, part in zip(("source", "line"), PLACE, strict=True):
            if part in event_class.fields:
                column = table.column(event_class.fields.index(part))
                is_text = field_name == "source"
                data[field_name] = (
                    string_ids(column, self._trace.strings) if is_text else np.asarray(column)
                )
        return data

    def _add_samples(self, batch: Batch, number: int, table: Table) -> None:
        event_class = self._trace.event_classes[number]
        frames, weight = event_class.index_of(Role.FRAMES), weight_index(event_class)
        assert frames is not None and weight is not None
        column = table.column(frames)
        assert isinstance(column, ListColumn)
        assert isinstance(column.values, StructColumn)
        function, _, _, source, line = column.values.members
        data = np.empty(len(column.values), _FRAME)
        data["function"] = string_ids(function, self._trace.strings)
        data["source"] = string_ids(source, self._trace.strings)
        data["line"] = np.asarray(line)
        numbers = self._frame_numbers(data)
        weights = np.asarray(table.column(weight)).astype(np.int64)
        at = batch.positions(number)
        for (thread, track), rows in _groups(batch.thread[at], batch.track[at]):
            profile = self._profile((thread, track, (event_class.name, unit_of(event_class))))
            where = at[rows]
            starts, ends = column.offsets[:-1][rows], column.offsets[1:][rows]
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - starts)])
            inner = np.arange(int(offsets[-1])) + np.repeat(starts - offsets[:-1], ends - starts)
            arrays, power = profile.arrays, profile.power
            arrays["samples"].add(self._elements.stacks(offsets, numbers[inner]))
            arrays["weights"].add(self._elements.numbers(weights[rows], power))
            ts = self._spanned(profile, batch.ts[where])
            arrays["times"].add(self._elements.numbers(ts, 0))
            cpus = batch.cpu[where].astype(np.int64)
            profile.on_cpus = profile.on_cpus or bool((cpus >= 0).any())
            arrays["cpus"].add(self._elements.numbers(cpus, 0))
            profile.total += int(weights[rows].sum(dtype=object))

    def _spanned(self, profile: _Profile, ts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return times since the first event of the trace, which are within those of the profile."""
        assert self._origin is not None
        ts = np.asarray(ts - np.int64(self._origin), np.int64)
        profile.first = int(ts[0]) if profile.first is None else profile.first
        profile.last = int(ts[-1])
        return ts

    def _profile(self, key: _Key) -> _Profile:
        profile = self._profiles.get(key)
        if profile is None:
            names = ("events",) if key[2] is None else ("samples", "weights", "times", "cpus")
            profile = self._profiles[key] = _Profile(
                *key, arrays={one: _Spool(self._file) for one in names}
            )
        return profile

    def finish(self, sink: Sink) -> None:
        """Write the file."""
        members = {
            "$schema": SCHEMA,
            "exporter": "traceconv",
            "name": self._name(),
            "activeProfileIndex": 0,
            **self._members,
        }
        shared = members.pop("shared", {})
        sink.write(b"{" + b"".join(_member(name, value) for name, value in members.items()))
        sink.write(b'"profiles":[\n')
        for number, profile in enumerate(self._profiles.values()):
            sink.write(b",\n" if number else b"")
            self._write_profile(profile, sink)
        sink.write(b'\n],\n"shared":{' + b"".join(_member(*one) for one in shared.items()))
        sink.write(b'"frames":[')
        for number, frame in enumerate(self._all_frames()):
            sink.write((b",\n" if number else b"\n") + _json(frame))
        sink.write(b"\n]}")
        if self._has_own:
            sink.write(b",\n" + _member(OWN, self._tables())[:-1])
        sink.write(b"}\n")

    def _name(self) -> str:
        named = [process.name for process in self._trace.processes if process.name]
        return named[0] if named else "trace"

    def _all_frames(self) -> Iterator[dict[str, Any]]:
        yield from self._own
        strings = self._trace.strings
        for id in range(1, len(self._frames)):
            if self._numbers[id - 1] < len(self._own):
                continue
            (one,) = np.frombuffer(self._frames[id], _FRAME)
            frame: dict[str, Any] = {"name": _text(strings[one["function"]])}
            if one["source"]:
                frame["file"] = _text(strings[one["source"]])
            if one["line"]:
                frame["line"] = int(one["line"])
            yield frame

    def _write_profile(self, profile: _Profile, sink: Sink) -> None:
        event, power = profile.event, profile.power
        unit = "nanoseconds" if event is None else PROFILE_UNITS.get(event[1], "none")
        first, last = profile.first or 0, profile.last
        if event is not None:
            first, last = 0, profile.total
        own: dict[str, Any] = {"thread": profile.thread, "track": profile.track}
        if event is not None:
            own |= {"event": event[0], "unit": event[1]}
        members = {
            "type": "evented" if event is None else "sampled",
            "name": self._profile_name(profile),
            "unit": unit,
            **profile.members,
        }
        if not profile.members:
            members |= {"startValue": first, "endValue": last}
        elif not self._is_as_read:
            members |= self._bounds(profile, power, first, last)
        sink.write(b"{" + b"".join(_member(name, value) for name, value in members.items()))
        names = ["events"] if event is None else ["samples", "weights"]
        for number, name in enumerate(names):
            sink.write(b"," * bool(number) + _json(name) + b":[")
            profile.arrays[name].write(sink)
            sink.write(b"]")
        if self._has_own:
            sink.write(
                b"," + _json(OWN) + b":{" + b"".join(_member(*one) for one in own.items())[:-1]
            )
            for name in ("times", "cpus"):
                if name in profile.arrays and (name == "times" or profile.on_cpus):
                    sink.write(b"," + _json(name) + b":[")
                    profile.arrays[name].write(sink)
                    sink.write(b"]")
            sink.write(b"}")
        sink.write(b"}")

    def _bounds(self, profile: _Profile, power: int, first: int, last: int) -> dict[str, Any]:
        """Return the bounds of a profile of which a part is written, in its unit."""
        if profile.event is not None:
            start = profile.members.get("startValue", 0)
            start = start if isinstance(start, int | float) else 0
            return {"startValue": start, "endValue": start + last / 10**power}
        return {"startValue": first / 10**power, "endValue": last / 10**power}

    def _profile_name(self, profile: _Profile) -> str:
        trace = self._trace
        name = "no thread"
        if profile.thread >= 0:
            thread = trace.threads[profile.thread]
            process = trace.processes[thread.process]
            called = thread.name or process.name or "thread"
            name = f"{called} (pid {process.pid}, tid {thread.tid})"
        if profile.track >= 0:
            track = trace.tracks[profile.track]
            name = track.name if profile.thread < 0 else f"{name}: {track.name}"
        if profile.event is not None and profile.event[0]:
            name = f"{name}: {profile.event[0]}"
        return _text(name.encode("utf-8", "surrogateescape"))

    def _tables(self) -> dict[str, Any]:
        trace = self._trace
        tracks = [
            [one.name, int(one.scope), one.owner, one.parent, one.unit, one.identity]
            for one in trace.tracks
        ]
        tables = side_table_form(trace)
        return {"version": VERSION, "origin": self._origin or 0, **tables, "tracks": tracks}


def _groups(
    thread: NDArray[np.int32], track: NDArray[np.int32]
) -> Iterator[tuple[tuple[int, int], NDArray[np.intp]]]:
    """Yield each pair of thread and track, and the positions with it."""
    if not len(thread):
        return
    keys = (thread.astype(np.int64) + 1 << 32) | (track.astype(np.int64) + 1)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=keys[order[0]] - 1))
    for rows in np.split(order, starts[1:]):
        yield (int(thread[rows[0]]), int(track[rows[0]])), rows


def _member(name: str, value: Any) -> bytes:
    return _json(name) + b":" + _json(value) + b","


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        # Names that are not UTF-8.
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
