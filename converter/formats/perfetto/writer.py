"""Writing Perfetto traces: packets about the trace, bundles of kernel events, track events, packets as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.perfetto import mapping
from converter.formats.perfetto.ftrace_output import FtraceOutput
from converter.formats.perfetto.layout import PACKET_TAG
from converter.formats.perfetto.metadata_output import SEQUENCE, head, symbols_packet
from converter.formats.perfetto.steps import Steps, as_text, field_getter
from converter.formats.perfetto.table_output import TableOutput
from converter.formats.perfetto.track_output import TRACK_KINDS, track_program
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.kernels import proto_emit as kernel
from converter.kernels.proto_emit import Emitter
from converter.linux_tracepoints import MEANINGS
from converter.sink import Sink

_KERNEL_KINDS: Final = frozenset({Kind.TYPED, *(meaning.kind for meaning in MEANINGS.values())})

_NO_PLACES: Final[NDArray[np.int32]] = np.zeros(0, np.int32)

_REASONS: Final = {
    kernel.BAD_COLUMN: "a value lies outside its column or table",
    kernel.BAD_CPU: "the CPU of a kernel event must be from 0 to 1023",
    kernel.TOO_LARGE: "a text is larger than a field can be, 2 GiB",
}


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write a trace that Perfetto's packets can hold.

    Args:
        trace: as projected to `holding.capabilities`, or as Perfetto's reader gives it.
        sink: a file.
        variant: there is none.

    Raises:
        UnsupportedError: an event, or the clock's rate, has no place in a Perfetto trace.

    """
    del variant
    rate = trace.clock.ticks_per_second
    if rate is not None and rate != 1_000_000_000:
        raise UnsupportedError(
            "times must be in nanoseconds", format="perfetto", path=sink.name, found=str(rate)
        )
    encoder = _Encoder(trace, sink)
    for batch in trace.batches():
        encoder.write(batch)
    encoder.finish()


class _Encoder:
    """Encodes batches; knows which classes are in the output already."""

    def __init__(self, trace: Trace, sink: Sink) -> None:
        self._trace = trace
        self._sink = sink
        self._emitter = Emitter(trace.strings, SEQUENCE)
        self._ftrace = FtraceOutput()
        #: By class id: its program, -1 before its first event.
        self._programs: NDArray[np.int32] = np.zeros(0, np.int32)
        self._columns: list[list[Callable[[Table], Any]]] = []
        self._emitter.put(head(trace))
        self._tables = TableOutput(trace, self._emitter)

    def write(self, batch: Batch) -> None:
        """Encode a batch."""
        emitter, trace = self._emitter, self._trace
        added = len(trace.event_classes) - len(self._programs)
        self._programs = np.append(self._programs, np.full(added, -1, np.int32))
        has_bundles = has_packets = False
        counters, threads, tracks = [_NO_PLACES], [_NO_PLACES], [_NO_PLACES]
        for class_id, table in batch.tables.items():
            if not len(table):
                continue
            event_class = trace.event_classes[class_id]
            if self._programs[class_id] < 0:
                self._programs[class_id] = self._compile(event_class)
            program = int(self._programs[class_id])
            emitter.bind(program, len(table), [get(table) for get in self._columns[program]])
            if event_class.kind in _KERNEL_KINDS or event_class.kind is Kind.DISCARDED:
                has_bundles = True
                continue
            has_packets = True
            positions = batch.positions(class_id)
            tracks.append(np.unique(batch.track[positions]))
            threads.append(np.unique(batch.thread[positions]))
            if event_class.kind is Kind.COUNTER:
                counters.append(tracks[-1])
        self._tables.follow(*map(np.concatenate, (threads, tracks, counters)))
        symbols = emitter.take_symbols()
        if symbols:
            emitter.put(symbols_packet(trace, symbols))
        programs = self._programs[batch.class_id]
        columns = (batch.ts, programs, batch.row, batch.thread, batch.cpu, batch.track)
        if has_packets:
            self._emit(batch, len(batch), lambda done: emitter.emit(*columns, done))
        if has_bundles:
            status, order = emitter.group(*columns)
            self._check(status, batch, order if status else 0)
            self._emit(
                batch, len(order), lambda done: emitter.emit_bundles(*columns, order, done), order
            )
        emitter.release()
        self._flush()

    def _emit(
        self,
        batch: Batch,
        count: int,
        emit: Callable[[int], tuple[int, int]],
        order: Any = None,
    ) -> None:
        done = 0
        while done < count:
            status, done = emit(done)
            if status:
                self._check(status, batch, done if order is None else int(order[done]))
            self._flush()

    def _check(self, status: int, batch: Batch, event: Any) -> None:
        if status:
            kind = self._trace.event_classes[int(batch.class_id[event])].kind
            raise UnsupportedError(
                _REASONS[status], format="perfetto", path=self._sink.name, field=kind.name.lower()
            )

    def finish(self) -> None:
        """Write what only the end of the trace tells: names given late, threads without events."""
        self._tables.follow(_NO_PLACES, _NO_PLACES, _NO_PLACES)
        self._flush()

    def _flush(self) -> None:
        if self._emitter.size:
            self._sink.write(self._emitter.take())

    def _compile(self, event_class: EventClass) -> int:
        """The program for an event class."""
        number = 0
        if event_class.kind in TRACK_KINDS:
            frame = kernel.FRAME_PACKET
            steps = track_program(event_class, self._trace.strings)
        elif event_class.kind in _KERNEL_KINDS:
            frame = kernel.FRAME_FTRACE
            number, steps, descriptor = self._ftrace.program(event_class)
            self._emitter.put(descriptor)
        elif event_class.kind is Kind.DISCARDED and not event_class.fields:
            frame, steps = kernel.FRAME_LOST, Steps()
        elif event_class.fields == mapping.NATIVE_PACKET.fields:
            frame, steps = kernel.FRAME_RAW, Steps()
            packet = field_getter(1)
            steps.add(kernel.TEXT, PACKET_TAG, lambda table: as_text(packet(table)))
        else:
            raise UnsupportedError(
                "no packet holds events of this class",
                format="perfetto",
                path=self._sink.name,
                field=event_class.kind.name.lower(),
            )
        self._columns.append(steps.columns)
        return self._emitter.add_program(frame, number, steps.steps)
