"""Events of a trace as records, in the event formats of the file that it was read from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, UnsupportedError
from converter.formats.ftrace.event_format.event_classes import DISCARDED
from converter.formats.ftrace.event_format.syntax import parse_event_format
from converter.formats.ftrace.ring_buffer.page_writer import PageWriter, Records
from converter.formats.ftrace.ring_buffer.record_layout import (
    MISSED_PROGRAM,
    UNKNOWN_PROGRAM,
    RecordProgram,
    record_program,
)
from converter.formats.ftrace.task_numbers import TaskNumbers
from converter.formats.ftrace.text_buffers import OTHER_LINE, text_class
from converter.formats.trace_cmd.container.options import Metadata
from converter.formats.trace_cmd.container.trace_file import TraceFile
from converter.formats.trace_cmd.side_table import read_side_table
from converter.ir.events import Batch, EventClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace


def task_numbers(trace: Trace, file: TraceFile) -> TaskNumbers:
    """Return the numbers of a file's threads, which are their tids unless the file has others."""
    try:
        tables = read_side_table(file.options)
    except TraceError:
        tables = None
    return TaskNumbers(trace, tables.numbers if tables is not None else None)


class NativeEvents:
    """The events of batches as records of the file's own formats."""

    def __init__(
        self, trace: Trace, metadata: Metadata, numbers: TaskNumbers, *, big_endian: bool
    ) -> None:
        self._trace = trace
        self._metadata = metadata
        self._big_endian = big_endian
        self._programs: dict[int, RecordProgram | None] = {}
        self._numbers = numbers

    def write(self, batch: Batch, names: list[bytes], writers: list[PageWriter]) -> None:
        """Append a batch's events, each to the buffer whose name its track has."""
        if not writers:
            return
        programs = {id: self._program(id) for id in batch.tables}
        tables = {
            id: program.bind(batch.tables[id], self._trace.strings)
            for id, program in programs.items()
            if program is not None
        }
        events = Records(
            self._raw_times(batch.ts),
            batch.class_id,
            batch.row,
            np.maximum(batch.cpu, 0),
            self._numbers.numbers_of(batch.thread),
        )
        buffer = self._buffer_of(batch.track, names)
        if len(tables) < len(programs):
            # The lines of text buffers are copied with their text.
            lines = [id for id, program in programs.items() if program is None]
            buffer = np.where(np.isin(batch.class_id, lines), -1, buffer)
        for number, writer in enumerate(writers):
            here = buffer == number
            if here.all():
                writer.append(events, tables)
            elif here.any():
                writer.append(events.select(here), tables)

    def _program(self, id: int) -> RecordProgram | None:
        if id not in self._programs:
            self._programs[id] = self._program_of(self._trace.event_classes[id])
        return self._programs[id]

    def _program_of(self, event_class: EventClass) -> RecordProgram | None:
        if event_class == DISCARDED:
            return MISSED_PROGRAM
        if event_class.native:
            format = parse_event_format(event_class.native, event_class.category)
            return record_program(format, event_class, big_endian=self._big_endian)
        if event_class.kind is Kind.NATIVE:
            return UNKNOWN_PROGRAM
        if event_class in (OTHER_LINE, text_class(event_class.name)):
            return None
        raise UnsupportedError(
            f"the file has no event format for {event_class.name!r}", format="trace_cmd"
        )

    def _buffer_of(self, track: NDArray[np.int32], names: list[bytes]) -> NDArray[np.int32]:
        named = [one.name.encode("utf-8", "surrogateescape") for one in self._trace.tracks]
        known: dict[bytes, int] = {}
        for number, name in enumerate(names):
            known.setdefault(name, number)
        top = known.get(b"", 0)
        numbers = [known.get(name, top) for name in named]
        return np.array([*numbers, top], np.int32)[track]

    def _raw_times(self, ts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return raw times, the inverse of `Metadata.scale`; exact for times that come from it."""
        metadata = self._metadata
        raw = ts.view(np.uint64) - np.uint64(metadata.time_offset)
        if metadata.multiplier:
            factor, shift = metadata.multiplier, metadata.shift
            raw = np.array([-(-(item << shift) // factor) for item in raw.tolist()], np.uint64)
        return raw.view(np.int64)
