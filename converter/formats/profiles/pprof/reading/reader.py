"""Reads a profile: an event per sample and type of sample, in the order of the file.

A profile has no times. Its samples have their positions in the file, from the profile's own time on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, TraceWarning, note
from converter.formats.profiles.pprof.layout import ProfileField, SampleField
from converter.formats.profiles.pprof.mapping import unit_read
from converter.formats.profiles.pprof.reading.labels import LABELS, MIXED, LabelReader, Labels
from converter.formats.profiles.pprof.tables import Messages, Tables
from converter.formats.profiles.sums import ORDER
from converter.formats.profiles.trees import FrameTable
from converter.ir.columns import Column
from converter.ir.events import Batch, EventClass, Field, NativeRecords, Table
from converter.ir.kinds import Kind
from converter.ir.semantics import Semantics
from converter.ir.trace import Trace, known_epoch
from converter.kernels.protobuf.decode import decode_repeated
from converter.limits import allowed, limit
from converter.projection.domain.call_stacks import parts_of
from converter.projection.timeline_fields import FRAMES, weight
from converter.storage.source import Source

_SAMPLES: Final = 1 << 14
#: The bytes of the samples that are decoded at once, at least one.
_BYTES: Final = 1 << 21


def read(source: Source) -> Trace:
    """Read a profile as a trace.

    Raises:
        TraceError: it is too large, or has no strings or no types of samples.

    """
    if source.size > limit("pprof.profile"):
        expected = f"a profile, which is read as a whole, of {allowed('pprof.profile')}"
        raise TraceError(path=source.name, expected=expected, found=f"{source.size} bytes")
    return _Reader(source).trace


class _Reader:
    def __init__(self, source: Source) -> None:
        self._data = np.frombuffer(source.read_exactly(0, source.size), np.uint8)
        self._path = source.name
        self.trace = Trace("pprof", make_batches=self._batches)
        self.trace.source_batches = self.trace.make_batches
        self.trace.semantics = Semantics(kinds=frozenset({Kind.SAMPLE}))
        self.trace.in_time_order = True
        messages = Messages(self._data)
        if messages.is_damaged:
            self._warn(
                "the profile is damaged or cut off here: what is before is read",
                offset=messages.end,
            )
        self._tables = tables = Tables(messages, self.trace.strings)
        if not tables.types:
            raise TraceError(
                path=self._path, field="sample_type", expected="types of samples", found="none"
            )
        if len(tables.types) > limit("pprof.types"):
            raise TraceError(
                path=self._path,
                field="sample_type",
                expected=allowed("pprof.types"),
                found=f"{len(tables.types):,}",
            )
        frames = tables.frames
        self._frames = FrameTable(
            frames.function, frames.mapping, frames.rel_pc, frames.source, frames.line
        )
        self._starts, self._sizes = messages.spans(ProfileField.SAMPLE)
        #: The same with their tags.
        self._records = messages.records(ProfileField.SAMPLE)
        self._drop_large()
        self._labels = LabelReader(self.trace, tables)
        self._classes: dict[tuple[int, int], int] = {}
        self._describe()

    def _drop_large(self) -> None:
        """Leave out samples that are too large: they do not fit into a batch."""
        large = self._sizes > limit("pprof.sample")
        if large.any():
            count = int(np.count_nonzero(large))
            message = f"samples of more than {allowed('pprof.sample')} are left out: {count:,}"
            self._warn(message, offset=int(self._starts[int(large.argmax())]))
            self._starts, self._sizes = self._starts[~large], self._sizes[~large]
            self._records = self._records[0][~large], self._records[1][~large]

    def _describe(self) -> None:
        """Fill in what the trace says of the whole profile."""
        trace, tables = self.trace, self._tables
        messages = tables.messages
        time = messages.number(ProfileField.TIME_NANOS)
        trace.clock = replace(ORDER, epoch_ns=known_epoch(time) if time > 0 else None)
        trace.sidecar["pprof"] = {"tables": self._without_samples()}
        shown: Counter[str] = Counter()
        for field in ProfileField:
            if field.value in (9, 13) or not 6 < field.value <= 15:
                continue
            if len(messages.spans(field)[0]):
                shown[field.name.lower()] = 1
        comments = len(messages.numbers(ProfileField.COMMENT))
        if comments:
            shown["comments"] = comments
        trace.sidecar_shown["pprof"] = shown

    def _without_samples(self) -> bytes:
        """Return the sound part of the profile without its samples, for profiles of a part of them."""
        end = self._tables.messages.end
        starts, sizes = self._tables.messages.records(ProfileField.SAMPLE)
        # The ranges between samples, most of which are empty.
        first = np.concatenate([np.zeros(1, np.int64), starts + sizes])
        length = np.append(starts, end) - first
        ranges = zip(first[length > 0].tolist(), length[length > 0].tolist(), strict=True)
        data = self._data.data
        return b"".join(data[at : at + size] for at, size in ranges)

    def _batches(self) -> Iterator[Batch]:
        count = len(self._starts)
        starts, sizes = self._records
        done = 0
        most = self.trace.events_of_a_batch(_SAMPLES)
        room = self.trace.bytes_of_a_window(_BYTES)
        ends = np.cumsum(sizes)
        until = 0
        while until < count or not done:
            first = until
            before = int(ends[first - 1]) if first else 0
            until = int(np.searchsorted(ends, before + room, "right"))
            until = min(max(until, first + 1), first + most, count)
            window = self._window(slice(first, until))
            for rows in parts_of(np.diff(window.ends[window.offsets])) or [slice(0, 0)]:
                batch, sample = self._batch(window, rows)
                last = first + rows.stop
                end = int(starts[last]) if last < count else len(self._data)
                view = self._data.data[done:end]
                native = starts[first + sample] - done, sizes[first + sample]
                batch.native = NativeRecords("pprof", view, *native)
                yield batch
                done = end
        self._warn_of_dangling()

    def _window(self, at: slice) -> _Window:
        tables, messages = self._tables, self._tables.messages
        starts, sizes = self._starts[at], self._sizes[at]
        offsets = np.zeros(len(starts) + 1, np.int64)
        ids = decode_repeated(messages.data, starts, sizes, SampleField.LOCATION_ID, offsets)
        location = tables.find(tables.locations, ids, "location_id")
        # Of an unknown location there is no frame.
        counts = np.append(np.diff(tables.frames.offsets), 0)[location]
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        most = limit("pprof.frames")
        if (np.diff(ends[offsets]) > most).any():
            self._warn(f"call stacks are cut: frames beyond {allowed('pprof.frames')} are left out")
            sample = np.repeat(np.arange(len(starts)), np.diff(offsets))
            kept = ends[1:] - ends[offsets[sample]] <= most
            location, counts = location[kept], counts[kept]
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])[offsets]
            ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        values = self._values(starts, sizes)
        return _Window(at.start, offsets, location, ends, values, self._labels.read(starts, sizes))

    def _batch(self, window: _Window, part: slice) -> tuple[Batch, NDArray[np.int64]]:
        """Return the events of a part of the samples of a window, and the sample of each in the window."""
        tables, labels = self._tables, window.labels
        sample, kind = _weighted(window.values[part], tables.usual_type)
        sample += part.start
        key = labels.shape[sample].astype(np.int64) * len(tables.types) + kind
        class_id = np.empty(len(sample), np.int32)
        row = np.empty(len(sample), np.int32)
        held: dict[int, Table] = {}
        for one in np.unique(key).tolist():
            which = np.flatnonzero(key == one)
            shape, of_type = divmod(one, len(tables.types))
            number = self._class(shape, of_type)
            class_id[which] = number
            row[which] = np.arange(len(which))
            rows = sample[which]
            columns: list[Column | Callable[[], Column]] = [
                _Stacks(self._frames, tables.frames.offsets, window, rows),
                window.values[rows, of_type],
            ]
            if shape == MIXED:
                columns.append(labels.lists(rows))
            else:
                columns += [
                    labels.column(rows, position, field)
                    for position, field in enumerate(self._labels.shapes[shape])
                ]
            held[number] = Table(len(rows), columns)
        batch = Batch(
            ts=sample + window.first,
            class_id=class_id,
            row=row,
            tables=held,
            thread=labels.thread[sample],
        )
        return batch, sample

    def _values(self, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of samples, a column per type; those that a sample lacks are 0."""
        types = len(self._tables.types)
        offsets = np.zeros(len(starts) + 1, np.int64)
        found = decode_repeated(self._data, starts, sizes, SampleField.VALUE, offsets)
        counts = np.diff(offsets)
        wrong = counts != types
        if wrong.any():
            first = int(wrong.argmax())
            self._warn(
                f"{int(np.count_nonzero(wrong)):,} samples have more or fewer values than there are types",
                offset=int(starts[first]),
                field="sample.value",
                expected=f"{types} values",
                found=str(int(counts[first])),
            )
        values = np.zeros((len(starts), types), np.int64)
        for column in range(types):
            has = counts > column
            values[has, column] = found[offsets[:-1][has] + column].astype(np.int64)
        return values

    def _class(self, shape: int, of_type: int) -> int:
        """Return the class of samples of a type with labels of a shape."""
        number = self._classes.get((shape, of_type))
        if number is None:
            name, unit = (
                self.trace.strings[id].decode("utf-8", "surrogateescape")
                for id in self._tables.types[of_type]
            )
            labels: tuple[Field, ...] = (LABELS,) if shape == MIXED else self._labels.shapes[shape]
            fields = (FRAMES, weight(unit_read(unit)), *labels)
            number = self.trace.add_class(EventClass(Kind.SAMPLE, name, fields=fields))
            self._classes[shape, of_type] = number
        return number

    def _warn_of_dangling(self) -> None:
        for field, count in self._tables.dangling.items():
            message = f"references that lead to nothing: {count:,}; what they name is unknown"
            self._warn(message, field=field)
        self._tables.dangling.clear()

    def _warn(self, message: str, **parts: Any) -> None:
        warning = TraceWarning(
            message=message, format="pprof", path=self._path, is_damage=True, **parts
        )
        note(self.trace.warnings, warning)


@dataclass(frozen=True, slots=True)
class _Window:
    """Some samples: `location` has the rows of their locations, of sample i those at ``offsets[i]:offsets[i + 1]``.

    `ends` are the frames before each location, of all of them.
    """

    first: int
    offsets: NDArray[np.int64]
    location: NDArray[np.int64]
    ends: NDArray[np.int64]
    values: NDArray[np.int64]
    labels: Labels


def _weighted(values: NDArray[np.int64], usual: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sample and the type of each value that is not 0; a sample without such has one of the usual type."""
    chosen = values != 0
    chosen[~chosen.any(axis=1), usual] = True
    sample, kind = np.nonzero(chosen)
    return sample, kind


class _Stacks:
    """Call stacks of some samples, made when they are asked for."""

    def __init__(
        self,
        frames: FrameTable,
        of_locations: NDArray[np.int64],
        window: _Window,
        rows: NDArray[np.int64],
    ) -> None:
        self._frames = frames
        self._of_locations = of_locations
        self._window = window
        self._rows = rows

    def __call__(self) -> Column:
        window = self._window
        starts, stops = window.offsets[self._rows], window.offsets[self._rows + 1]
        location = window.location[_ranges(starts, stops - starts)]
        counts = window.ends[stops] - window.ends[starts]
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        location = location[location >= 0]
        first = self._of_locations[location]
        frame = _ranges(first, self._of_locations[location + 1] - first)
        return self._frames.stacks(ends, frame)


def _ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of all ranges, one after the other."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    found: NDArray[np.int64] = np.arange(int(ends[-1])) + np.repeat(starts - ends[:-1], sizes)
    return found
