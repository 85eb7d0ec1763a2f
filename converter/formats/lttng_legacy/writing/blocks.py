"""The blocks of a trace that is being written: its files, as streams of one emitter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.lttng_legacy.layout import MAGIC, Version
from converter.formats.lttng_legacy.marker_formats import MarkerField
from converter.formats.lttng_legacy.programs import compile_program
from converter.formats.lttng_legacy.writing.emit import (
    INLINE,
    INTEGER,
    LOST,
    RAW,
    RECORD_ID,
    STRING,
    BlockEmitter,
    MarkerColumns,
    MarkerProgram,
)
from converter.ir.columns import Column, ListColumn
from converter.ir.events import Batch
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable
from converter.storage.sink import Sink

#: Sizes of blocks: of those with a size of their own, and of those with a common size.
OWN_BLOCK_SIZE = 1 << 16
FIXED_BLOCK_SIZE = 1 << 20

_REASONS = {
    1: "an event is larger than a block",
    4: "an event has no place in the header of a compact channel",
}


@dataclass(frozen=True, slots=True)
class Geometry:
    """The common properties of a trace's blocks: version, byte order, and the constant members of their headers."""

    version: Version
    big_endian: bool
    header: Mapping[str, int]
    block_size: int

    def emitter(self, strings: StringTable) -> BlockEmitter:
        """Return an emitter of such blocks."""
        version, header = self.version, self.header
        layout = version.layout
        values = {
            **header,
            "magic_number": MAGIC,
            "major_version": version.major,
            "minor_version": version.minor,
            "freq_begin": header["start_freq"],
            "freq_end": header["start_freq"],
        }
        return BlockEmitter(
            strings,
            layout.build(values, big_endian=self.big_endian),
            (
                layout.offset("cycle_count_begin"),
                layout.offset("cycle_count_end"),
                layout.offset("data_size" if version.own_sizes else "lost_size"),
                layout.offset("sb_size" if version.own_sizes else "buf_size"),
                layout.offset("events_lost"),
            ),
            (
                version.own_sizes,
                self.big_endian,
                version.byte_ids or self.big_endian,
                self.block_size,
                version.limit(header["alignment"]),
                header["arch_size"],
                header.get("tscbits", 0),
                header.get("compact_data_shift", 0),
                header.get("tsc_lsb_truncate", 0),
            ),
        )

    def header_layout(self, *, compact: bool) -> int:
        """Return the layout of the event headers of a file."""
        if self.version.major == 2:
            return 3
        if compact:
            return 2
        return 0 if self.header["has_heartbeat"] else 1


@dataclass(frozen=True, slots=True)
class PayloadProgram:
    """Creates the payloads of a class from its columns."""

    program: MarkerProgram
    columns: tuple[int, ...]

    def bind(self, columns: Sequence[Column], length: int) -> MarkerColumns:
        """Return the program with the columns of a batch."""
        return MarkerColumns(
            self.program, [_bindable(columns[index]) for index in self.columns], length
        )


def _bindable(column: Column) -> Any:
    if isinstance(column, ListColumn):
        return (
            np.ascontiguousarray(column.values, np.uint8),
            np.ascontiguousarray(column.offsets, np.int64),
        )
    assert isinstance(column, np.ndarray)
    return column


def payload_program(
    id: int,
    fields: Sequence[MarkerField],
    columns: Sequence[int],
    alignment: int,
    *,
    context: bool = False,
) -> PayloadProgram:
    """Return the program for a marker whose fields are these columns of its class."""
    operations = []
    for field in fields:
        width = field.size or 1
        aligned = max(min(width, alignment), 1)
        if not field.size:
            operations.append((STRING, 1, 1, 0))
        elif field.inline:
            operations.append((INLINE, width, 1, 0))
        else:
            operations.append((INTEGER, width, aligned, int(field.network)))
    program = MarkerProgram(
        id,
        np.array(operations, np.int32).reshape(-1, 4),
        compile_program(fields, alignment).largest,
        context,
        False,
    )
    return PayloadProgram(program, tuple(columns))


class _LostProgram(PayloadProgram):
    """Counts of lost events, 0 if unknown, and of corrupt sub-buffers."""

    def bind(self, columns: Sequence[Column], length: int) -> MarkerColumns:
        counts, corrupt = (np.asarray(column) for column in columns)
        known = np.maximum(counts, 0).astype(np.uint32)
        return MarkerColumns(self.program, [known, corrupt.astype(np.uint32)], length)


#: Two counts that belong in a block's header.
LOST_PROGRAM = _LostProgram(
    MarkerProgram(0, np.array([(LOST, 4, 1, 0)] * 2, np.int32), 1, False, False), (0, 1)
)


#: A record's ID and payload as they are.
RAW_PROGRAM = PayloadProgram(
    MarkerProgram(0, np.array([(RECORD_ID, 2, 1, 0), (RAW, 1, 1, 0)], np.int32), 1, False, True),
    (0, 1),
)


class BlockFiles:
    """The files of a trace that is being written."""

    def __init__(self, sink: Sink, geometry: Geometry, strings: StringTable) -> None:
        self._sink = sink
        self._geometry = geometry
        self._emitter = geometry.emitter(strings)
        #: By channel and CPU.
        self._streams: dict[tuple[str, int], int] = {}
        self._sinks: list[Sink] = []

    def stream(self, channel: str, cpu: int, *, compact: bool = False) -> int:
        """Return the number of a file, creating it if it is new."""
        known = self._streams.get((channel, cpu))
        if known is None:
            known = self._emitter.add_stream(self._geometry.header_layout(compact=compact))
            self._streams[channel, cpu] = known
            self._sinks.append(self._sink.create(f"{channel}_{cpu}"))
        return known

    def begin(self, stream: int, ts: int) -> None:
        """Start a block at this time."""
        self._emitter.begin(stream, ts)

    def put(self, stream: int, ts: int, id: int, payload: bytes) -> None:
        """Write one event.

        Raises:
            UnsupportedError: it does not fit any block.

        """
        if not self._emitter.put(stream, ts, id, payload):
            raise self._unsupported(1)

    def emit(
        self,
        batch: Batch,
        stream: NDArray[np.int32],
        pid: NDArray[np.int32],
        tid: NDArray[np.int32],
        tables: Mapping[int, MarkerColumns],
    ) -> None:
        """Write the events of a batch, each to its file; those of classes without columns are left out.

        Raises:
            UnsupportedError: an event does not fit any block, or has a time before zero.

        """
        if len(batch) and int(batch.ts.min()) < 0:
            raise UnsupportedError(
                "cycle counters have no times before zero", format="lttng_legacy"
            )
        events = EventArrays(batch, stream=stream, pid=pid, tid=tid)
        done, reason = self._emitter.emit(events, tables)
        if done < len(events):
            raise self._unsupported(reason)
        self._write()

    def finish(self, *, whole: int = 0) -> None:
        """Finish all files; one without an event gets an empty block.

        A file of one block uses only the pages that it needs, except for the first `whole` files.
        """
        for stream, sink in enumerate(self._sinks):
            shrink = stream >= whole
            self._emitter.finish(stream, shrink)
            taken = self._emitter.take(stream)
            if taken is not None:
                sink.write(taken.data, handover=True)
            elif sink.tell() == 0:
                self._emitter.begin(stream, 0)
                self._emitter.finish(stream, shrink)
                self._write()

    def _write(self) -> None:
        for stream, sink in enumerate(self._sinks):
            taken = self._emitter.take(stream)
            if taken is not None:
                sink.write(taken.data, handover=True)

    def _unsupported(self, reason: int) -> UnsupportedError:
        return UnsupportedError(_REASONS[reason], format="lttng_legacy", path=self._sink.name)
