"""The event classes of a recording, and the tables of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import too_many_classes
from converter.formats.ftrace.event_format.fields import fields_of
from converter.formats.ftrace.event_format.formats import EventFormats
from converter.formats.ftrace.event_format.gathers import BytesAt, columns_of
from converter.formats.ftrace.event_format.messages import KernelTexts, binary_message
from converter.formats.ftrace.event_format.record_tables import RecordColumns, Records, RecordTable
from converter.formats.ftrace.recording import Recording
from converter.formats.perf.data.layout import RecordType
from converter.formats.perf.data.mapping import (
    context_fields,
    has_frames,
    has_weight,
    native_class,
    record_class,
    sample_class,
    sample_values,
)
from converter.formats.perf.data.reading.columns import (
    period_gather,
    raw_records,
    record_gathers,
    value_gathers,
)
from converter.formats.perf.data.reading.opening import PerfFile, SampledEvent
from converter.formats.perf.data.reading.own import is_event, lost_class
from converter.formats.perf.data.reading.own import sample_class as own_class
from converter.formats.perf.data.reading.samples import SampledEvents
from converter.formats.perf.data.reading.scan import HAS_BUILD_ID, HAS_NO_TIME, NATIVE, SAMPLE
from converter.formats.perf.data.side_table import OwnTables
from converter.ir.columns import Column, constant_column
from converter.ir.events import EventClass, Table
from converter.ir.trace import Trace
from converter.kernels.batches.gather import Segments
from converter.limits import limit

_Locate = Callable[[], tuple[NDArray[np.int64], NDArray[np.uint32]]]
#: Makes the column of call stacks of the rows of a class.
_Frames = Callable[[], Column]


@dataclass(slots=True)
class _Shape:
    """The way the table of a class is made: columns of the tracepoint's record, and of the whole record."""

    columns: RecordColumns
    #: The number of the event, -1 for a record that is no sample.
    event: int = -1
    tracepoint: RecordColumns | None = None
    has_frames: bool = False
    #: The period, where samples do not have it.
    period: int | None = None


class Classes:
    """The classes of a trace by the codes that a scanner gives records; `of_code` has their ids, -1 for none.

    Args:
        trace: classes are added to it.
        file: the recording.
        events: its events, as the scanner knows them.
        recording: the kernel's formats, if there are any.
        own: the tables of a recording that this converter wrote.

    """

    def __init__(
        self,
        trace: Trace,
        file: PerfFile,
        events: SampledEvents,
        recording: Recording | None,
        own: OwnTables | None = None,
    ) -> None:
        self._own = own
        self._trace = trace
        self._file = file
        self._events = events
        self._recording = recording
        self._formats = None if recording is None else EventFormats(recording)
        self._texts = None if recording is None else KernelTexts(recording, trace.symbols)
        self._shapes: dict[int, _Shape] = {}
        self.of_code: NDArray[np.int32] = np.full(SAMPLE + 2 * len(file.events), -1, np.int32)

    def add(self, codes: list[int]) -> None:
        """Declare the classes of these codes."""
        if len(codes) > limit("classes"):
            raise too_many_classes(len(codes))
        if self._own is not None:
            codes = sorted({code & ~HAS_NO_TIME for code in codes if is_event(code)})
        for code in codes:
            if code >= SAMPLE:
                event_class, shape = self._sample(code)
            elif code >= NATIVE:
                number, untimed = divmod(code - NATIVE, 2)
                event_class = native_class(number, timed=not untimed)
                shape = _Shape(columns_of([BytesAt(0, -1)]))
            elif self._own is not None:
                event_class, gathers = lost_class()
                shape = _Shape(columns_of(gathers))
            else:
                kind = RecordType(code // 4)
                build_id = bool(code & HAS_BUILD_ID)
                timed = not code & HAS_NO_TIME
                event_class = record_class(kind, build_id=build_id, timed=timed)
                shape = _Shape(columns_of(record_gathers(self._events, kind, build_id=build_id)))
            self.of_code[code] = number = self._trace.add_class(event_class)
            self._shapes[number] = shape

    def _sample(self, code: int) -> tuple[EventClass, _Shape]:
        number, untimed = divmod(code - SAMPLE, 2)
        event = self._file.events[number]
        attribute = event.attribute
        values = sample_values(attribute)
        gathers = value_gathers(self._events, number, attribute, values)
        found = self._tracepoint(event)
        own = None if self._own is None else own_class(self._own, event)
        if found is None and own is not None:
            shape = _Shape(
                columns_of([period_gather(self._events, number)]), number, has_frames=True
            )
            return own, shape
        if found is None:
            event_class = sample_class(attribute, event.name or attribute.name)
            shape = _Shape(columns_of(gathers), number, has_frames=True)
            if has_weight(attribute):
                shape.period = attribute.constant_period
                if shape.period is None:
                    shape.columns = columns_of([period_gather(self._events, number), *gathers])
        else:
            event_class, tracepoint = found
            event_class = EventClass(
                event_class.kind,
                event_class.name,
                event_class.category,
                event_class.fields + context_fields(attribute),
                native=event_class.native,
            )
            shape = _Shape(columns_of(gathers), number, tracepoint, has_frames(attribute))
        if untimed:
            event_class = EventClass(
                event_class.kind,
                event_class.name,
                event_class.category,
                event_class.fields,
                timed=False,
                native=event_class.native,
            )
        return event_class, shape

    def _tracepoint(self, event: SampledEvent) -> tuple[EventClass, RecordColumns] | None:
        """Return the class of a tracepoint as its format says; None if it is none, or has no format."""
        attribute = event.attribute
        if self._formats is None or self._texts is None or self._recording is None:
            return None
        if not attribute.is_tracepoint or not attribute.sample_type & 1 << 10:
            return None
        format = self._formats.get(attribute.config)
        if format is None:
            return None
        long_size = self._recording.long_size
        message = binary_message(format, self._texts, long_size)
        kind, fields, gathers = fields_of(format, long_size, message)
        native = self._formats.text(attribute.config)
        event_class = EventClass(kind, format.name, format.system, fields, native=native)
        return event_class, columns_of(gathers, format, long_size, self._texts)

    def table(
        self, id: int, count: int, locate: _Locate, segments: Segments, frames: _Frames
    ) -> Table:
        """Return the table of a class over `count` records; columns are gathered when asked for."""
        shape = self._shapes[id]
        strings, big_endian = self._trace.strings, self._file.big_endian
        table = shape.columns.table(count, locate, segments, strings, big_endian)
        if shape.event < 0:
            return table
        own = table.lazy_columns()
        if shape.tracepoint is None:
            weight: list[Column] = []
            if shape.period is not None:
                weight = [constant_column(np.int64(shape.period & _PERIOD_MASK), count)]
            return Table(count, [frames, *weight, *own])
        samples = Records(count, locate, segments, strings, big_endian=big_endian)
        raw = raw_records(self._events, shape.event, samples)
        tracepoint = shape.tracepoint.table(count, raw.locate, segments, strings, big_endian)
        columns = [*tracepoint.lazy_columns(), *own]
        if shape.has_frames:
            columns.append(frames)
        records = tracepoint.records
        return Table(count, columns) if records is None else RecordTable(records, columns)


#: Periods are signed.
_PERIOD_MASK: Final = (1 << 63) - 1
