"""Reads speedscope's files: profiles of events become slices, those of samples become samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceWarning, note
from converter.formats.profiles.cut_json import cut_warning
from converter.formats.profiles.merging import Columns, merged_by_time
from converter.formats.profiles.samples import unit_of
from converter.formats.profiles.speedscope.document import Parsed, Profile, frame_table
from converter.formats.profiles.speedscope.mapping import PLACE, POWERS, WEIGHT_UNITS, sample_class
from converter.formats.profiles.speedscope.scan import EVENT_OPEN, MalformedError
from converter.formats.profiles.timeline import BEGIN, END
from converter.ir.columns import Column, ListColumn, concatenate, take
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind
from converter.ir.semantics import EndMatching, Semantics
from converter.ir.trace import NANOSECONDS, ClockDomain, Trace
from converter.kernels.tables.strings import StringTable
from converter.storage.source import Source

#: Events of all profiles that are read at a time, and the fewest of one.
_WINDOW: Final = 1 << 16
_LEAST: Final = 1 << 8
_LAST: Final = np.iinfo(np.int64).max
_PLACED: Final = EventClass(Kind.SLICE_BEGIN, fields=(*BEGIN.fields, *PLACE))
#: The numbers of these classes.
_OF_BEGIN, _OF_PLACED, _OF_END = range(3)


def read(source: Source) -> Trace:
    """Open a file of speedscope. Its events are decoded by `Trace.batches`.

    Raises:
        TraceError: it is none.

    """
    return _Reader(source).trace


class _Reader:
    def __init__(self, source: Source) -> None:
        self.parsed = parsed = Parsed(source)
        tables = parsed.tables
        assert tables is not None
        self.trace = trace = Trace(
            "speedscope",
            semantics=Semantics(
                ends=EndMatching.INNERMOST,
                kinds=frozenset({Kind.SLICE_BEGIN, Kind.SLICE_END, Kind.SAMPLE}),
            ),
            make_batches=self._batches,
            in_time_order=True,
        )
        tables.add_tasks(trace)
        tables.add_clocks(trace)
        if not parsed.own:
            timed = any(one.unit in POWERS for one in parsed.profiles) or not parsed.profiles
            trace.clock = NANOSECONDS if timed else ClockDomain("value", None)
        trace.tracks = parsed.tracks
        origin = parsed.own.get("origin", 0)
        self.origin = origin if isinstance(origin, int) and abs(origin) < _LAST else 0
        self.table = frame_table(parsed.frames, trace.strings)
        self.is_placed = (self.table.source != 0) | (self.table.line != 0)
        trace.event_classes = [BEGIN, _PLACED, END]
        numbers: dict[EventClass, int] = {}
        #: By profile, the number of the class of its samples.
        self.class_of: dict[int, int] = {}
        for profile in parsed.profiles:
            if profile.members.get("type") == "sampled":
                event_class = _class_of(profile)
                if event_class not in numbers:
                    numbers[event_class] = trace.add_class(event_class)
                self.class_of[profile.number] = numbers[event_class]
        trace.sidecar = {
            "speedscope": {
                "members": parsed.members,
                "frames": parsed.frames,
                "profiles": [
                    [one.members, one.thread, one.track, self._key(one), one.power]
                    for one in parsed.profiles
                ],
                "own": bool(parsed.own),
                "origin": self.origin,
            }
        }
        trace.source_batches = trace.make_batches
        if parsed.damage is not None:
            note(trace.warnings, cut_warning("speedscope", source.name, parsed.damage))
        self._restart()

    def _key(self, profile: Profile) -> list[str] | None:
        """Return the event and the unit of a profile of samples."""
        number = self.class_of.get(profile.number)
        if number is None:
            return None
        event_class = self.trace.event_classes[number]
        return [event_class.name, unit_of(event_class)]

    def _restart(self) -> None:
        #: Stacks by number: lists of frames, outermost first.
        self.stacks = StringTable()
        self.lists: ListColumn = ListColumn(np.zeros(2, np.int64), np.zeros(0, np.int32))

    def _batches(self) -> Iterator[Batch]:
        self._restart()
        room = max(_WINDOW // max(len(self.parsed.profiles), 1), _LEAST)
        streams = [self._stream(one, room) for one in self.parsed.profiles]
        for columns in merged_by_time(streams):
            yield self._batch(columns)

    def _stream(self, profile: Profile, room: int) -> Iterator[Columns]:
        is_sampled = profile.number in self.class_of
        try:
            yield from (self._sampled if is_sampled else self._evented)(profile, room)
        except MalformedError as error:
            message = f"expected {error}: the rest is left out"
            self._note(profile, message, is_damage=True, offset=error.offset)

    def _evented(self, profile: Profile, room: int) -> Iterator[Columns]:
        """Yield the columns of slices; times do not go back."""
        at = profile.arrays.get("events", -1)
        last = -_LAST
        while at >= 0:
            at, rounded, kind, frame, ts = self.parsed.document.events(
                at, room, len(self.parsed.frames), profile.power
            )
            self._note_rounded(profile, rounded)
            if not len(ts):
                continue
            begins = np.where(self.is_placed[frame], _OF_PLACED, _OF_BEGIN)
            class_id = np.where(kind == EVENT_OPEN, begins, _OF_END).astype(np.int32)
            ts = np.maximum.accumulate(np.maximum(self._moved(ts), last))
            last = int(ts[-1])
            yield self._columns(profile, ts, class_id, frame)

    def _sampled(self, profile: Profile, room: int) -> Iterator[Columns]:
        """Yield the columns of samples, each at the sum of the weights before it, or at its own time."""
        arrays, document = profile.arrays, self.parsed.document
        at, weights_at = arrays.get("samples", -1), arrays.get("weights", -1)
        times_at, cpus_at = arrays.get("times", -1), arrays.get("cpus", -1)
        start = profile.members.get("startValue", 0)
        now = _ticks(start, profile.power)
        last = -_LAST
        while at >= 0 and weights_at >= 0:
            at, offsets, frames = document.stacks(at, room, len(self.parsed.frames))
            weights_at, rounded, weight = document.numbers(weights_at, room, profile.power)
            self._note_rounded(profile, rounded)
            count = min(len(offsets) - 1, len(weight))
            ts = np.zeros(0, np.int64)
            if times_at >= 0:
                times_at, _, ts = document.numbers(times_at, room, 0)
                ts = self._moved(ts)
            if len(ts) < count:
                sums = np.cumsum(np.concatenate([[now], weight[:count]]).astype(np.float64))
                ts = np.cumsum(np.concatenate([np.array([now]), weight[:count]]))
                ts = np.where(np.abs(sums) < float(1 << 62), ts, 1 << 62)
                now, ts = int(ts[-1]), ts[:-1]
            cpu = np.full(count, -1, np.int32)
            if cpus_at >= 0:
                cpus_at, _, cpus = document.numbers(cpus_at, room, 0)
                found = cpus[:count]
                cpu[: len(found)] = np.where((found >= 0) & (found < 1 << 31), found, -1)
            if (at < 0) != (weights_at < 0) or count < len(weight) or count < len(offsets) - 1:
                message = "samples and weights are not of one number: the rest is left out"
                self._note(profile, message, is_damage=True)
                at = -1
            if not count:
                continue
            ts = np.maximum.accumulate(np.maximum(ts[:count], last))
            last = int(ts[-1])
            class_id = np.full(count, self.class_of[profile.number], np.int32)
            stack = self._numbered(offsets[: count + 1], frames)
            yield self._columns(profile, ts, class_id, stack, cpu, weight[:count])

    def _moved(self, ts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return times of the trace, whose first one is 0 in files that traceconv wrote."""
        least, most = -_LAST - 1 - min(self.origin, 0), _LAST - max(self.origin, 0)
        return np.clip(ts, least, most) + self.origin

    def _columns(
        self,
        profile: Profile,
        ts: NDArray[np.int64],
        class_id: NDArray[np.int32],
        value: NDArray[np.int32],
        cpu: NDArray[np.int32] | None = None,
        weight: NDArray[np.int64] | None = None,
    ) -> Columns:
        count = len(ts)
        return (
            ts,
            class_id,
            value,
            np.full(count, profile.thread, np.int32),
            np.full(count, profile.track, np.int32),
            np.full(count, -1, np.int32) if cpu is None else cpu,
            np.zeros(count, np.int64) if weight is None else weight,
        )

    def _numbered(self, offsets: NDArray[np.int64], frames: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the number of each list of frames."""
        ids = np.empty(len(offsets) - 1, np.int32)
        sizes = np.diff(offsets)
        data = np.ascontiguousarray(frames).view(np.uint8)
        self.stacks.intern_spans(data, offsets[:-1] * 4, sizes * 4, ids)
        known = len(self.lists)
        if len(self.stacks) > known:
            numbers, first = np.unique(ids, return_index=True)
            new = take(ListColumn(offsets, frames), first[numbers >= known])
            joined = concatenate([self.lists, new])
            assert isinstance(joined, ListColumn)
            self.lists = joined
        return ids

    def _batch(self, columns: Columns) -> Batch:
        ts, class_id, value, thread, track, cpu, weight = columns
        row = np.empty(len(ts), np.int32)
        tables = {}
        for number in np.unique(class_id).tolist():
            at = np.flatnonzero(class_id == number)
            row[at] = np.arange(len(at), dtype=np.int32)
            tables[number] = Table(len(at), self._table(number, value[at], weight[at]))
        return Batch(
            ts=ts, class_id=class_id, row=row, tables=tables, thread=thread, cpu=cpu, track=track
        )

    def _table(
        self, number: int, value: NDArray[np.int32], weight: NDArray[np.int64]
    ) -> list[Column]:
        table = self.table
        if number == _OF_END:
            return []
        if number in (_OF_BEGIN, _OF_PLACED):
            names: list[Column] = [table.function[value]]
            return (
                names if number == _OF_BEGIN else [*names, table.source[value], table.line[value]]
            )
        stacks = take(self.lists, value)
        assert isinstance(stacks, ListColumn)
        frames: NDArray[Any] = np.asarray(stacks.values)
        return [table.stacks_outermost_first(stacks.offsets, frames), weight]

    def _note_rounded(self, profile: Profile, count: int) -> None:
        if count and profile.unit not in POWERS:
            message = "values with a fraction are rounded to integers"
            self._note(profile, message, is_damage=False)

    def _note(
        self, profile: Profile, message: str, *, is_damage: bool, offset: int | None = None
    ) -> None:
        warning = TraceWarning(
            format="speedscope",
            field=f"profiles[{profile.number}]",
            offset=offset,
            message=message,
            is_damage=is_damage,
        )
        note(self.trace.warnings, warning)


def _class_of(profile: Profile) -> EventClass:
    event, unit = profile.own.get("event"), profile.own.get("unit")
    known = WEIGHT_UNITS.get(profile.unit, "count")
    return sample_class(
        event if isinstance(event, str) else "", unit if isinstance(unit, str) else known
    )


def _ticks(value: Any, power: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    ticks = (
        value * 10**power
        if isinstance(value, int)
        else round(value * 10**power)
        if abs(value) < 1e30
        else 0
    )
    return ticks if abs(ticks) < 1 << 62 else 0
