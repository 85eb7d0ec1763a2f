"""Writes a trace that was read from legacy files, using its sidecar and classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.lttng_legacy.mapping import DISCARDED, NATIVE
from converter.formats.lttng_legacy.marker_declarations import (
    SET_MARKER_FORMAT,
    SET_MARKER_ID,
    build_declaration,
    markers,
)
from converter.formats.lttng_legacy.marker_formats import MarkerField
from converter.formats.lttng_legacy.recording import MAX_CPU, METADATA_CHANNELS, without_flight
from converter.formats.lttng_legacy.sidecar import Held, HeldClass
from converter.formats.lttng_legacy.writing.blocks import (
    LOST_PROGRAM,
    OWN_BLOCK_SIZE,
    RAW_PROGRAM,
    BlockFiles,
    Geometry,
    PayloadProgram,
    payload_program,
)
from converter.formats.lttng_legacy.writing.emit import MarkerColumns
from converter.ir.events import Batch, EventClass
from converter.ir.field_classes import FieldClass, IntegerClass, StringClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up
from converter.storage.sink import Sink

#: Block sizes outside of these limits are from damaged headers.
_SMALLEST_BLOCK = 512
_LARGEST_BLOCK = 1 << 26


def is_native(trace: Trace, held: Held) -> bool:
    """Return True if a trace is as its reader returns it, with classes of a kernel's markers.

    Classes are added as batches come, also for a trace that was embedded in another format.
    """
    return (
        not held.own
        and trace.format == "lttng_legacy"
        and trace.variant == held.version.name
        and all(
            id < len(held.classes) and _is_as_held(event_class, held.classes[id])
            for id, event_class in enumerate(trace.event_classes)
        )
    )


def _is_as_held(event_class: EventClass, one: HeldClass) -> bool:
    if one.id < 0:
        form = DISCARDED if event_class.kind is Kind.DISCARDED else NATIVE
        return event_class.kind is form.kind and [one.name for one in event_class.fields] == [
            one.name for one in form.fields
        ]
    format = one.format.encode("utf-8", "surrogateescape")
    return event_class.native == format and len(event_class.fields) == len(one.sources)


def write_native(trace: Trace, held: Held, sink: Sink) -> None:
    """Write the trace in its own version: its declarations as recorded, then its events.

    Raises:
        UnsupportedError: the format cannot represent an event.
        TraceError: as `Trace.batches` does.

    """
    _NativeOutput(trace, held, sink).write()


class _NativeOutput:
    def __init__(self, trace: Trace, held: Held, sink: Sink) -> None:
        self._trace = trace
        self._held = held
        version = held.version
        self._geometry = Geometry(
            version,
            held.big_endian,
            held.header,
            OWN_BLOCK_SIZE
            if version.own_sizes
            else min(max(held.header["buf_size"], _SMALLEST_BLOCK), _LARGEST_BLOCK),
        )
        self._files = BlockFiles(sink, self._geometry, trace.strings)
        self._markers = {
            (marker.channel, marker.id): marker for marker in markers(held.declarations, version)
        }
        self._programs: dict[int, PayloadProgram | None] = {}
        #: By the number of a channel and the CPU: the stream.
        self._channels: dict[str, int] = {}
        self._streams: dict[tuple[int, int], int] = {}
        self._open_files()

    def write(self) -> None:
        """Write everything."""
        self._declare()
        for batch in self._trace.batches():
            self._write(batch)
        # The header of the first file is used for the trace, with the size of its blocks.
        self._files.finish(whole=1)

    def _open_files(self) -> None:
        for channel, cpu in self._held.files:
            plain = without_flight(channel)
            compact = self._geometry.version.major == 1 and plain == "compact"
            stream = self._files.stream(channel, cpu, compact=compact)
            number = self._channels.setdefault(plain, len(self._channels))
            self._streams[number, cpu] = stream
            if plain in METADATA_CHANNELS:
                # The clock counts from the start of this file.
                self._files.begin(stream, self._held.start)
        by_key = sorted((_key(*place), stream) for place, stream in self._streams.items())
        self._keys = np.array([key for key, _ in by_key], np.int64)
        self._streams_by_key = np.array([stream for _, stream in by_key], np.int32)

    def _declare(self) -> None:
        version, big_endian = self._geometry.version, self._geometry.big_endian
        channels = [name for name in METADATA_CHANNELS if name in self._channels]
        for one in self._held.declarations:
            streams = [self._streams.get((self._channels[name], one.cpu)) for name in channels]
            stream = next((stream for stream in streams if stream is not None), None)
            if stream is None:
                raise self._changed(f"the marker {one.name}")
            payload = build_declaration(
                one, version, big_endian=big_endian, alignment=self._geometry.header["alignment"]
            )
            id = SET_MARKER_ID if one.format is None else SET_MARKER_FORMAT
            self._files.put(stream, one.ts, id, payload)

    def _write(self, batch: Batch) -> None:
        channel_of = np.full(len(self._trace.event_classes), -1, np.int32)
        tables: dict[int, MarkerColumns] = {}
        for id, table in batch.tables.items():
            event_class = self._trace.event_classes[id]
            if id >= len(self._held.classes):
                raise self._changed(event_class.name)
            held = self._held.classes[id]
            program = self._program(id, event_class)
            channel_of[id] = self._channels.get(held.channel, -1)
            if program is not None and len(table):
                tables[id] = program.bind(
                    [table.column(index) for index in range(table.width)], len(table)
                )
        self._files.emit(
            batch, self._streams_of(batch, channel_of), _none(batch), _none(batch), tables
        )

    def _streams_of(self, batch: Batch, channel_of: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the file of each event: that of its channel and CPU."""
        channel = looked_up(channel_of, batch.class_id)
        if not len(batch):
            return channel
        if int(channel.min()) < 0 or int(batch.cpu.min()) < 0:
            raise UnsupportedError("an event is on no CPU or channel", format="lttng_legacy")
        keys = _key(channel.astype(np.int64), np.minimum(batch.cpu, MAX_CPU + 1))
        places = np.searchsorted(self._keys, keys)
        places[places == len(self._keys)] = 0
        if not len(self._keys) or (self._keys[places] != keys).any():
            raise UnsupportedError("an event is in no file of the trace", format="lttng_legacy")
        streams: NDArray[np.int32] = self._streams_by_key[places]
        return streams

    def _program(self, id: int, event_class: EventClass) -> PayloadProgram | None:
        if id not in self._programs:
            self._programs[id] = self._compile(id, event_class)
        return self._programs[id]

    def _compile(self, id: int, event_class: EventClass) -> PayloadProgram | None:
        held = self._held.classes[id]
        if not _is_as_held(event_class, held):
            raise self._changed(event_class.name)
        if held.id < 0:
            return LOST_PROGRAM if event_class.kind is Kind.DISCARDED else RAW_PROGRAM
        if held.channel in METADATA_CHANNELS:
            # Already written.
            return None
        version = self._geometry.version
        marker = self._markers.get((held.channel if version.per_channel else "", held.id))
        if marker is None or marker.fields is None:
            raise self._changed(event_class.name)
        places = sorted(
            (source, index) for index, source in enumerate(held.sources) if isinstance(source, int)
        )
        columns = [index for _, index in places]
        if [source for source, _ in places] != list(range(len(marker.fields))) or not all(
            _is_of(event_class.fields[index].type, field)
            for index, field in zip(columns, marker.fields, strict=True)
        ):
            raise self._changed(event_class.name)
        alignment = version.limit(marker.sizes.alignment)
        return payload_program(held.id, marker.fields, columns, alignment)

    def _changed(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            "the trace's classes are no longer those of its markers",
            format="lttng_legacy",
            field=what or None,
        )


def _key(channel: Any, cpu: Any) -> Any:
    """Return one number for a channel's and a CPU's, or an array of them."""
    return channel * (MAX_CPU + 2) + cpu


def _is_of(held: FieldClass, field: MarkerField) -> bool:
    """Return True if a column of this type fits the field."""
    if isinstance(held, IntegerClass):
        return held.bits == 8 * field.size and held.signed == field.signed
    return isinstance(held, StringClass) and not field.size


def _none(batch: Batch) -> NDArray[np.int32]:
    return np.broadcast_to(np.int32(-1), (len(batch),))
