"""Writes a trace of another format: markers made from its event classes, and a file with the tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.lttng_legacy.layout import MACHINES, Version
from converter.formats.lttng_legacy.mapping import (
    CONTEXT,
    DISCARDED,
    KERNEL,
    OWN_SIZES,
    own_class,
    own_marker_name,
)
from converter.formats.lttng_legacy.marker_declarations import (
    SET_MARKER_FORMAT,
    SET_MARKER_ID,
    Declaration,
    build_declaration,
    core_markers,
)
from converter.formats.lttng_legacy.marker_formats import build_format, parse_format
from converter.formats.lttng_legacy.recording import TABLES_NAME
from converter.formats.lttng_legacy.writing.blocks import (
    FIXED_BLOCK_SIZE,
    LOST_PROGRAM,
    OWN_BLOCK_SIZE,
    BlockFiles,
    Geometry,
    PayloadProgram,
    payload_program,
)
from converter.formats.lttng_legacy.writing.emit import MarkerColumns
from converter.formats.side_table import print_side_table
from converter.ir.distinct_values import values_of
from converter.ir.events import Batch, EventClass
from converter.ir.trace import ClockDomain, Trace
from converter.storage.sink import Sink

_NANOSECONDS = 1_000_000_000
#: In version 1.0 the tracer numbers markers of normal channels from here.
_FIRST_ID = 128
_LAST_ID = 0xFFFF
_X86_64 = 8

#: Channels for declarations and for events, with True for versions in which channels number their markers.
_CHANNELS = {True: ("metadata", KERNEL), False: ("control/facilities", "cpu")}


def write_new(trace: Trace, sink: Sink, version: Version) -> None:
    """Write a trace that was projected to the format.

    Raises:
        UnsupportedError: the format cannot represent an event, or the number of classes.
        TraceError: as `Trace.batches` does.

    """
    _NewOutput(trace, sink, version).write()


class _NewOutput:
    def __init__(self, trace: Trace, sink: Sink, version: Version) -> None:
        self._trace = trace
        self._sink = sink
        self._version = version
        own = version.own_sizes
        self._geometry = Geometry(
            version, False, _header(trace.clock), OWN_BLOCK_SIZE if own else FIXED_BLOCK_SIZE
        )
        self._files = BlockFiles(sink, self._geometry, trace.strings)
        self._metadata, self._channel = _CHANNELS[version.per_channel]
        self._declarations = self._files.stream(self._metadata, 0)
        # The clock counts from the start of this file.
        self._files.begin(self._declarations, 0)
        self._programs: dict[int, PayloadProgram] = {}
        self._numbers: dict[str, int] = {}
        self._known: dict[EventClass, int] = {}
        self._next = 0 if version.per_channel else _FIRST_ID
        #: By CPU: the stream, -1 if there is none yet.
        self._streams: NDArray[np.int32] = np.zeros(0, np.int32)
        self._pids: NDArray[np.int32] = np.full(1, -1, np.int32)
        self._tids: NDArray[np.int32] = np.full(1, -1, np.int32)
        if version.per_channel:
            for marker in core_markers(version, OWN_SIZES):
                assert marker.format is not None
                self._declare(self._metadata, marker.name, marker.id, marker.format)

    def write(self) -> None:
        """Write everything."""
        for batch in self._trace.batches():
            self._write(batch)
        if not len(self._streams):
            self._files.stream(self._channel, 0)
        self._files.finish()
        tables = self._sink.create(TABLES_NAME)
        tables.write(print_side_table(self._trace, version=1) + b"\n")

    def _write(self, batch: Batch) -> None:
        tables: dict[int, MarkerColumns] = {}
        for id, table in batch.tables.items():
            if not len(table):
                continue
            if id not in self._programs:
                self._programs[id] = self._program(self._trace.event_classes[id])
            columns = [table.column(index) for index in range(table.width)]
            tables[id] = self._programs[id].bind(columns, len(table))
        self._follow_threads()
        self._files.emit(
            batch,
            self._streams_of(batch.cpu),
            self._pids[batch.thread],
            self._tids[batch.thread],
            tables,
        )

    def _program(self, event_class: EventClass) -> PayloadProgram:
        """Declare the marker of a class, and return its program."""
        if event_class == DISCARDED and self._version.counts_losses:
            return LOST_PROGRAM
        try:
            format = build_format((*event_class.fields, *CONTEXT))
        except ValueError as error:
            raise self._refused(event_class) from error
        fields = parse_format(format, OWN_SIZES, ignores_eight=self._version.major == 1)[:-2]
        name = own_marker_name(event_class, self._version, 0)
        number = self._numbers.get(name, 0)
        self._numbers[name] = number + 1
        name = own_marker_name(event_class, self._version, number)
        read = own_class(name, fields, self._version).event_class
        if (read.kind, read.name, read.category, read.fields) != (
            event_class.kind,
            event_class.name,
            event_class.category,
            event_class.fields,
        ):
            raise self._refused(event_class)
        if self._next > _LAST_ID:
            raise UnsupportedError("more classes than there are ids", format="lttng_legacy")
        id, self._next = self._next, self._next + 1
        self._declare(self._channel, name, id, format)
        return payload_program(id, fields, range(len(fields)), 0, context=True)

    def _refused(self, event_class: EventClass) -> UnsupportedError:
        return UnsupportedError(
            "no marker holds events of this class",
            format="lttng_legacy",
            path=self._sink.name,
            field=f"{event_class.kind.name.lower()} {event_class.name}".strip(),
        )

    def _declare(self, channel: str, name: str, id: int, format: str) -> None:
        channel = channel if self._version.per_channel else ""
        for one, core in (
            (Declaration(0, 0, channel, name, id, OWN_SIZES), SET_MARKER_ID),
            (Declaration(0, 0, channel, name, format=format), SET_MARKER_FORMAT),
        ):
            payload = build_declaration(one, self._version, big_endian=False, alignment=0)
            self._files.put(self._declarations, 0, core, payload)

    def _streams_of(self, cpu: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the file of each event: that of its CPU."""
        if not len(cpu):
            return cpu
        if int(cpu.min()) < 0:
            raise UnsupportedError("an event is on no CPU", format="lttng_legacy")
        highest = int(cpu.max())
        if highest >= len(self._streams):
            more = np.full(highest + 1 - len(self._streams), -1, np.int32)
            self._streams = np.concatenate((self._streams, more))
        streams = self._streams[cpu]
        if int(streams.min()) < 0:
            for one in values_of(cpu[streams < 0]).tolist():
                self._streams[one] = self._files.stream(self._channel, one)
            streams = self._streams[cpu]
        return streams

    def _follow_threads(self) -> None:
        """Update the IDs of all threads so far; the last entry is for events without a thread."""
        threads, processes = self._trace.threads, self._trace.processes
        if len(self._pids) <= len(threads):
            pids = [processes[thread.process].pid for thread in threads]
            tids = [thread.tid for thread in threads]
            self._pids = np.array([*pids, -1], np.int64).astype(np.int32)
            self._tids = np.array([*tids, -1], np.int64).astype(np.int32)


def _header(clock: ClockDomain) -> dict[str, int]:
    """Return the constant members of headers; if they cannot express the clock, the tables have it exactly."""
    rate = clock.ticks_per_second or Fraction(_NANOSECONDS)
    held = rate.limit_denominator((1 << 32) - 1)
    frequency = min(max(held.numerator, 1), (1 << 64) - 1)
    epoch = clock.epoch_ns if clock.epoch_ns is not None and clock.epoch_ns > 0 else 0
    seconds, rest = divmod(epoch, _NANOSECONDS)
    assert MACHINES[_X86_64] == "x86_64"
    return {
        "arch_type": _X86_64,
        "arch_size": 8,
        "alignment": 0,
        "has_heartbeat": 0,
        "start_freq": frequency,
        "freq_scale": held.denominator,
        "start_tsc": 0,
        "start_time_sec": seconds,
        "start_time_usec": rest // 1000,
    }
