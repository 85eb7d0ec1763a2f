"""Batches of several traces, merged by time. A merged column is built only when it is requested."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.ir.columns import (
    Column,
    ListColumn,
    OptionalColumn,
    StructColumn,
    UnionColumn,
    concatenate,
    constant_column,
    renumbered,
    take,
)
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import (
    ArrayClass,
    FieldClass,
    OptionalClass,
    StringClass,
    StructureClass,
    VariantClass,
)
from converter.ir.kinds import Role
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up
from converter.merging.machines import shifted
from converter.merging.tables import MergedTables, Source
from converter.projection.engine.assembly import stored_alike
from converter.streaming.stream_merge import MergedEvents, StreamMerge, WindowColumns

_Places = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]


@dataclass(slots=True, eq=False)
class _Window:
    """A batch of one input in time order, with the times and classes of the merged trace."""

    source: Source
    batch: Batch
    columns: WindowColumns


class BatchMerge(StreamMerge[_Window, _Window]):
    """The batches of the inputs, merged into those of one trace.

    The events of a batch are sorted first, so that a late event does not hold up those of other inputs; events at
    equal times keep their order. One batch of each input is held in memory.
    """

    def __init__(
        self,
        target: Trace,
        tables: MergedTables,
        sources: Sequence[Source],
        shifts: Sequence[int],
    ) -> None:
        # The CPU of a merged event carries the number of its input.
        super().__init__(range(len(sources)), trace=target)
        self._target = target
        self._tables = tables
        self._sources = sources
        self._shifts = shifts
        self._batches = [source.trace.batches() for source in sources]
        self._places: list[deque[_Places]] = [deque() for _ in sources]

    def batches(self) -> Iterator[Batch]:
        """Return the merged batches."""
        while (events := self.next()) is not None:
            yield self._batch(events)
            del events
        for source in self._sources:
            self._tables.follow(source)

    # The interface of StreamMerge

    def next_window(self, stream: int, done: _Window | None) -> _Window | None:
        """Return the next batch of an input that is not empty."""
        source = self._sources[stream]
        try:
            for batch in self._batches[stream]:
                self._tables.follow(source)
                if len(batch):
                    return self._window(stream, batch)
        except TraceError as error:
            raise error.within(path=source.name)  # noqa: B904 - it is the same error
        return None

    def columns(self, window: _Window) -> WindowColumns:
        """Return the events of a batch. The "location" of an event's contents is its class, their size
        that of a row.
        """
        return window.columns

    def segment(self, window: _Window) -> _Window:
        """Return the batch itself."""
        return window

    def class_count(self) -> int:
        """Return the number of classes of the merged trace."""
        return len(self._target.event_classes)

    # Inputs

    def _window(self, stream: int, batch: Batch) -> _Window:
        source = self._sources[stream]
        ts, order = self._ordered(source.trace, batch)
        shift = self._shifts[stream]
        if shift:
            ts = ts + np.int64(shift)
        classes = np.array([*source.classes, -1], np.int32)
        class_id, row = batch.class_id, batch.row
        thread = renumbered(batch.thread, source.threads)
        track = renumbered(batch.track, source.tracks)
        cpu = batch.cpu
        if source.machine.cpus:
            cpu = np.where(cpu >= 0, cpu + np.int32(source.machine.cpus), cpu)
        if order is not None:
            class_id, row = class_id[order], row[order]
            thread, cpu, track = (_reordered(column, order) for column in (thread, cpu, track))
        self._places[stream].append((thread, cpu, track))
        count = len(ts)
        columns = WindowColumns(
            ts=np.ascontiguousarray(ts),
            class_id=looked_up(classes, class_id),
            thread=np.zeros(count, np.int32),
            start=np.ascontiguousarray(class_id).view(np.uint32),
            size=np.ascontiguousarray(row).view(np.uint32),
            filled=count,
        )
        return _Window(source, batch, columns)

    def _ordered(
        self, trace: Trace, batch: Batch
    ) -> tuple[NDArray[np.int64], NDArray[np.intp] | None]:
        """Return the times of a batch in ascending order, and the permutation that sorts its events (None if sorted
        already).
        """
        ts = batch.ts
        if np.all(ts[:-1] <= ts[1:]):
            return ts, None
        timed = np.array([event_class.timed for event_class in trace.event_classes], np.bool_)
        if not timed.all():
            # Events without a time keep their order relative to each other.
            ts = np.where(timed[batch.class_id], ts, np.maximum.accumulate(ts))
        order = np.argsort(ts, kind="stable")
        return ts[order], order

    # Merged batches

    def _batch(self, events: MergedEvents[_Window]) -> Batch:
        thread, cpu, track = self._consume_places(events.cpu)
        return Batch(
            ts=events.ts,
            class_id=events.class_id,
            row=events.row,
            tables={
                number: self._table(events, number, int(events.locations.counts[number]))
                for number in events.class_ids
            },
            thread=thread,
            cpu=cpu,
            track=track,
        )

    def _consume_places(self, streams: NDArray[np.int32]) -> _Places:
        """Return the thread, CPU and track of events of these inputs, consuming the next entries of each input."""
        counts = np.bincount(streams, minlength=len(self._sources)).tolist()
        consumed = [list(self._next_places(stream, count)) for stream, count in enumerate(counts)]
        order = np.argsort(streams.astype(np.uint16), kind="stable") if len(counts) > 1 else None
        thread, cpu, track = (
            _concatenated([piece[part] for pieces in consumed for piece in pieces], order)
            for part in range(3)
        )
        return thread, cpu, track

    def _next_places(self, stream: int, count: int) -> Iterator[_Places]:
        waiting = self._places[stream]
        while count:
            places = waiting.popleft()
            size = len(places[0])
            if size > count:
                waiting.appendleft(_part(places, count, size))
                places = _part(places, 0, count)
            count -= len(places[0])
            yield places

    def _table(self, events: MergedEvents[_Window], number: int, length: int) -> Table:
        event_class = self._target.event_classes[number]
        parts: list[_Part] = []

        def column(index: int) -> Callable[[], Column]:
            def load() -> Column:
                if not parts:
                    parts.extend(_parts(events, number))
                return self._column(parts, event_class, index, length)

            return load

        return Table(length, [column(index) for index in range(len(event_class.fields))])

    def _column(
        self, parts: Sequence[_Part], event_class: EventClass, index: int, length: int
    ) -> Column:
        """Return the values of a field for all events of a class, each taken from the batch that the event came in."""
        held = [self._values(part, event_class, index) for part in parts]
        if len(held) == 1:
            return held[0]
        arrays = [column for column in held if isinstance(column, np.ndarray)]
        if len(arrays) == len(held):
            result = np.empty(length, arrays[0].dtype)
            for part, array in zip(parts, arrays, strict=True):
                result[part.places] = array
            return result
        inverse = np.empty(length, np.intp)
        inverse[np.concatenate([part.places for part in parts])] = np.arange(length)
        return take(concatenate(stored_alike(held, self._target.strings)), inverse)

    def _values(self, part: _Part, event_class: EventClass, index: int) -> Column:
        source = part.window.source
        table = part.window.batch.tables[part.class_id]
        column = table.column(index)
        if part.rows is not None:
            column = take(column, part.rows)
        field = event_class.fields[index]
        shift = source.machine.shift_of(event_class, index)
        if shift:
            return shifted(column, shift, from_zero=field.role is Role.TARGET_CPU)
        if source.trace.strings is not self._target.strings:
            column = self._renumbered_strings(source, column, field.type)
        return column

    # Strings

    def _renumbered_strings(self, source: Source, column: Column, held: FieldClass) -> Column:
        """Return the column with string ids of the merged trace in place of a source's."""
        match held, column:
            case (StringClass(), np.ndarray()):
                # Null entries hold an arbitrary value, which is not a string id.
                renumbered: NDArray[np.int32] = np.take(
                    self._strings_of(source), column, mode="clip"
                )
                return renumbered
            case (ArrayClass(element), ListColumn(offsets, values)):
                return ListColumn(offsets, self._renumbered_strings(source, values, element))
            case (OptionalClass(element), OptionalColumn(valid, values)):
                return OptionalColumn(valid, self._renumbered_strings(source, values, element))
            case (StructureClass(members), StructColumn(length, columns)):
                return StructColumn(
                    length,
                    tuple(
                        self._renumbered_strings(source, inner, member.type)
                        for member, inner in zip(members, columns, strict=True)
                    ),
                )
            case (VariantClass(options), UnionColumn(tags, rows, columns)):
                return UnionColumn(
                    tags,
                    rows,
                    tuple(
                        self._renumbered_strings(source, inner, option.type)
                        for option, inner in zip(options, columns, strict=True)
                    ),
                )
        return column

    def _strings_of(self, source: Source) -> NDArray[np.int32]:
        """Return the mapping from the string ids of a source to those of the merged trace."""
        known, strings = len(source.strings), source.trace.strings
        if len(strings) > known or not known:
            intern = self._target.strings.intern
            new = [intern(strings[id]) for id in range(known, len(strings))]
            if not known and not new:
                return np.zeros(1, np.int32)
            source.strings = np.append(source.strings, np.array(new, np.int32))
        return source.strings


@dataclass(slots=True)
class _Part:
    """The events of a class that came in one batch: their rows there (None: all, in order), and their rows here."""

    window: _Window
    class_id: int
    rows: NDArray[np.intp] | None
    places: NDArray[np.intp]


def _parts(events: MergedEvents[_Window], number: int) -> Iterator[_Part]:
    location, size = events.locations.of_class(number)()
    rows = size.astype(np.intp)
    origins, origin = np.unique(location, return_inverse=True)
    for index, where in enumerate(origins.tolist()):
        window, class_id = events.segments[where >> 32], where & 0xFFFF_FFFF
        places = np.flatnonzero(origin == index)
        picked = rows[places]
        is_whole = len(picked) == len(window.batch.tables[class_id]) and bool(
            np.all(picked == np.arange(len(picked)))
        )
        yield _Part(window, class_id, None if is_whole else picked, places)


def _reordered(column: NDArray[np.int32], order: NDArray[np.intp]) -> NDArray[np.int32]:
    return column if column.strides == (0,) else column[order]


def _part(places: _Places, start: int, end: int) -> _Places:
    thread, cpu, track = (column[start:end] for column in places)
    return thread, cpu, track


def _concatenated(
    pieces: Sequence[NDArray[np.int32]], order: NDArray[np.intp] | None
) -> NDArray[np.int32]:
    """Concatenate the pieces, then permute them by `order`; a constant column stays constant."""
    if all(piece.strides == (0,) for piece in pieces):
        values = {int(piece[0]) for piece in pieces}
        if len(values) == 1:
            return constant_column(np.int32(values.pop()), sum(map(len, pieces)))
    joined = np.concatenate(pieces)
    if order is None:
        return joined
    result = np.empty(len(joined), np.int32)
    result[order] = joined
    return result
