"""The markers of a trace as event classes: their scan tables, and how columns are gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.lttng_legacy.mapping import (
    CONTEXT,
    DISCARDED,
    NATIVE,
    MarkerClass,
    NumberNames,
    kernel_class,
    own_class,
)
from converter.formats.lttng_legacy.marker_declarations import (
    HEARTBEAT_32,
    HEARTBEAT_64,
    Marker,
    core_markers,
    too_many_fields,
)
from converter.formats.lttng_legacy.marker_formats import TypeSizes
from converter.formats.lttng_legacy.programs import (
    FieldLocation,
    Program,
    compile_program,
    step_array,
)
from converter.formats.lttng_legacy.reading.markers import MarkerTable
from converter.formats.lttng_legacy.reading.payloads import Payloads
from converter.formats.lttng_legacy.recording import ChannelFile
from converter.formats.lttng_legacy.sidecar import HeldClass
from converter.ir.columns import Column, ListColumn, value
from converter.ir.distinct_values import names_by_value
from converter.ir.events import Batch, EventClass, Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Role
from converter.ir.trace import Trace
from converter.kernels.batches.gather import Segments
from converter.kernels.tables.strings import StringTable
from converter.limits import limit
from converter.projection.domain.lost_events import UNKNOWN

#: Types of a marker's events (`MarkerTable`).
_PLAIN, _ON_THREAD, _HEARTBEAT, _HEARTBEAT_64 = range(4)


@dataclass(slots=True)
class Records:
    """The locations of the payloads of a class's events, found when a column is first requested."""

    count: int
    locate: Callable[[], tuple[NDArray[np.int64], NDArray[np.uint32]]]
    segments: Segments
    buffers: Sequence[NDArray[np.uint8]]
    strings: StringTable


@dataclass(frozen=True, slots=True)
class ClassSource:
    """The source of a class's columns."""

    channel: str
    marker: Marker
    declared: MarkerClass
    program: Program
    big_endian: bool
    shift: int

    def column(self, index: int, records: Records) -> Column:
        """Return column `index`, of a field that is in the payload or the same in all events."""
        source = self.declared.sources[index]
        named = self.declared.named
        if source is None and named is not None:
            numbers = self.column(named.field, records)
            assert isinstance(numbers, np.ndarray)
            return names_by_value(numbers, named.name, records.strings)
        if isinstance(source, bytes):
            return np.broadcast_to(np.int32(records.strings.intern(source)), (records.count,))
        assert source is not None
        field = self.declared.event_class.fields[index]
        return self._gathered(self.program.places[source], field, records)

    def _gathered(self, at: FieldLocation, field: Field, records: Records) -> Column:
        location, size = records.locate()
        offset = at.offset
        if at.field.inline:
            return self._inline(field, records, location, size)
        if offset is None:
            located = np.empty_like(location)
            left = np.empty_like(location)
            Payloads(records.buffers).locate(location, size, step_array(at.steps), located, left)
            location, size, offset = located, left.astype(np.uint32), 0
        if isinstance(field.type, IntegerClass):
            column = np.empty(records.count, field.type.dtype)
            big = self.big_endian or at.field.network
            records.segments.integers(
                location, size, offset, column.itemsize, big, column.view(np.uint8)
            )
            return column
        span, length = np.empty_like(location), np.empty_like(location)
        records.segments.fixed_spans(location, size, offset, -1, span, length)
        if field.role is Role.MESSAGE:
            # Texts that programs write hardly repeat.
            offsets = np.empty(records.count + 1, np.int64)
            records.segments.measure(span, length, True, 1, offsets)
            values = np.empty(int(offsets[-1]), np.uint8)
            records.segments.copy(span, offsets, values)
            return ListColumn(offsets, values)
        ids = np.empty(records.count, np.int32)
        records.segments.intern(span, length, records.strings, ids)
        return ids

    def _inline(
        self,
        field: Field,
        records: Records,
        location: NDArray[np.int64],
        size: NDArray[np.uint32],
    ) -> Column:
        """Return the bits of a compact header above its ID; the header is directly before the payload."""
        assert isinstance(field.type, IntegerClass)
        words = np.empty(records.count, np.uint32)
        records.segments.integers(
            location - 4, size + np.uint32(4), 0, 4, self.big_endian, words.view(np.uint8)
        )
        if self.shift > 31:
            return np.zeros(records.count, field.type.dtype)
        return (words >> np.uint32(self.shift)).astype(field.type.dtype)


@dataclass(frozen=True, slots=True)
class _LostEvents:
    """Counts that the scanner has left in the window: of events, and of sub-buffers.

    One of them is not 0; if it is that of events, the number of corrupt sub-buffers is unknown.
    """

    channel: str

    def column(self, index: int, records: Records) -> Column:
        if index == 1:
            return self._word(1, records)
        counts = self._word(0, records).astype(np.int64)
        counts[counts == 0] = UNKNOWN
        return counts

    def _word(self, index: int, records: Records) -> NDArray[np.uint32]:
        location, size = records.locate()
        column = np.empty(records.count, np.uint32)
        records.segments.integers(location, size, 4 * index, 4, _HOST_IS_BIG, column.view(np.uint8))
        return column


_HOST_IS_BIG = np.dtype("=u4") == np.dtype(">u4")


@dataclass(frozen=True, slots=True)
class _NativeRecords:
    """Payloads of undeclared markers; their IDs come with the batch."""

    channel: str

    def column(self, index: int, records: Records) -> Column:
        assert index == 1
        location, size = records.locate()
        offsets = np.zeros(records.count + 1, np.int64)
        np.cumsum(size, out=offsets[1:])
        values = np.empty(int(offsets[-1]), np.uint8)
        records.segments.copy(location, offsets, values)
        return ListColumn(offsets, values)


class Classes:
    """The event classes of a trace's markers, and the tables by which each channel's files are scanned."""

    def __init__(
        self,
        trace: Trace,
        files: Iterable[ChannelFile],
        markers: Iterable[Marker],
        *,
        own: bool,
        names: NumberNames | None = None,
    ) -> None:
        self._trace = trace
        self._own = own
        self._names = names or NumberNames()
        # Before version 2.3 each channel has a class for every marker.
        self._left = limit("lttng_legacy.fields")
        #: By class ID.
        self.sources: list[ClassSource | _LostEvents | _NativeRecords] = []
        self.tables: dict[str, MarkerTable] = {}
        #: By channel: the classes of lost events and of undeclared records.
        self.discarded: dict[str, int] = {}
        self.native: dict[str, int] = {}
        held: dict[str, list[Marker]] = {}
        for marker in markers:
            held.setdefault(marker.channel, []).append(marker)
        for file in files:
            channel = file.marker_channel
            if channel not in self.tables:
                self.tables[channel] = self._table(file, held)

    def _add(
        self, event_class: EventClass, source: ClassSource | _LostEvents | _NativeRecords
    ) -> int:
        self._left -= 1 + len(event_class.fields)
        if self._left < 0:
            raise too_many_fields()
        self.sources.append(source)
        return self._trace.add_class(event_class)

    def _table(self, file: ChannelFile, held: dict[str, list[Marker]]) -> MarkerTable:
        channel, version = file.marker_channel, file.version
        self.discarded[channel] = self._add(
            replace(DISCARDED, category=self._category(channel)), _LostEvents(channel)
        )
        self.native[channel] = self._add(
            replace(NATIVE, category=self._category(channel)), _NativeRecords(channel)
        )
        by_id: dict[int, Marker] = {}
        for marker in held.get(channel if version.per_channel else "", ()):
            by_id[marker.id] = marker
        if file.is_metadata or version.major == 1:
            arch = file.header["arch_size"]
            sizes = TypeSizes(4, arch, arch, arch, file.header["alignment"])
            for marker in core_markers(version, sizes):
                if file.is_metadata or marker.id in (HEARTBEAT_32, HEARTBEAT_64):
                    by_id[marker.id] = marker
        rows = np.zeros((max(by_id, default=-1) + 1, 6), np.int32)
        rows[:, 2] = rows[:, 4] = -1
        steps: list[tuple[int, int]] = []
        for id, marker in sorted(by_id.items()):
            if marker.fields is None:
                continue
            program = compile_program(marker.fields, version.limit(marker.sizes.alignment))
            kind, number = self._class(file, marker, program)
            size = -1 if program.size is None else program.size
            rows[id] = (len(steps), len(program.steps), size, program.largest, number, kind)
            steps += program.steps
        return MarkerTable(rows, step_array(steps))

    def _class(self, file: ChannelFile, marker: Marker, program: Program) -> tuple[int, int]:
        """Return the type of the marker's events, and their class."""
        version = file.version
        if version.major == 1 and marker.id == HEARTBEAT_32:
            return _HEARTBEAT, -1
        if version.major == 1 and marker.id == HEARTBEAT_64:
            return _HEARTBEAT_64, -1
        assert marker.fields is not None and marker.format is not None
        kind = _PLAIN
        if self._own and not file.is_metadata:
            fields = marker.fields
            context = tuple(Field(one.name, one.field_class) for one in fields[-2:])
            if context == CONTEXT:
                kind, fields = _ON_THREAD, fields[:-2]
            declared = own_class(marker.name, fields, version)
        else:
            declared = kernel_class(
                file.marker_channel,
                marker.name,
                marker.fields,
                marker.format,
                version,
                self._names,
            )
        source = ClassSource(
            file.marker_channel,
            marker,
            declared,
            program,
            file.big_endian,
            file.header.get("compact_data_shift", 0),
        )
        return kind, self._add(declared.event_class, source)

    def _category(self, channel: str) -> str:
        """Return the category of a channel's events without a declared marker."""
        return "" if self._own else channel

    def described(self) -> tuple[HeldClass, ...]:
        """Return the classes for the sidecar."""
        return tuple(
            HeldClass(
                source.channel,
                source.marker.id,
                source.marker.format or "",
                source.declared.sources,
            )
            if isinstance(source, ClassSource)
            else HeldClass(source.channel, -1, "", ())
            for source in self.sources
        )

    def geometry(self, file: ChannelFile) -> tuple[list[int], list[int]]:
        """Return the header and geometry of a file, as `Scanner` expects them."""
        layout, header, version = file.version.layout, file.header, file.version
        offsets = [
            layout.size,
            layout.offset("magic_number"),
            layout.offset("cycle_count_begin"),
            layout.offset("cycle_count_end"),
            layout.offset("data_size" if version.own_sizes else "lost_size"),
            layout.offset("sb_size" if version.own_sizes else "buf_size"),
            layout.offset("events_lost"),
            layout.offset("subbuf_corrupt"),
        ]
        if version.major == 2:
            form = 3
        elif file.is_compact:
            form = 2
        else:
            form = 0 if header["has_heartbeat"] else 1
        size = max(header["sb_size" if version.own_sizes else "buf_size"], layout.size)
        return offsets, [
            version.own_sizes,
            file.big_endian,
            version.byte_ids or file.big_endian,
            size,
            version.limit(header["alignment"]),
            header["arch_size"],
            form,
            header.get("tscbits", 0),
            header.get("compact_data_shift", 0),
            header.get("tsc_lsb_truncate", 0),
            self.native[file.marker_channel],
            self.discarded[file.marker_channel],
        ]


def rows_of(trace: Trace, batch: Batch, id: int) -> Iterator[dict[str, Any]]:
    """Yield the events of a class as values by field name."""
    fields = trace.event_classes[id].fields
    table = batch.tables[id]
    for row in range(len(table)):
        yield {
            field.name: value(table.column(index), field.type, row, trace.strings)
            for index, field in enumerate(fields)
        }
