"""Writes Perfetto traces: packets about the trace, bundles of kernel events, track events, unchanged packets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.perfetto import mapping
from converter.formats.perfetto.json_sidecar import SIDECAR_PREFIX, json_documents, sidecar_json
from converter.formats.perfetto.layout import CPU_STARTS, LOST_COUNT, PACKET_TAG
from converter.formats.perfetto.tracepoints import COMPACT_SCHED
from converter.formats.perfetto.writing.ftrace import FtraceOutput
from converter.formats.perfetto.writing.instructions import Steps, field_getter, text_getter
from converter.formats.perfetto.writing.kernels import emit as kernel
from converter.formats.perfetto.writing.kernels.emit import Emitter, PacketSequence
from converter.formats.perfetto.writing.metadata import (
    SEQUENCE,
    attributes,
    head,
    new_packet,
    symbols_packet,
    table_packets,
)
from converter.formats.perfetto.writing.row_positions import RowPositions
from converter.formats.perfetto.writing.tables import TableOutput
from converter.ir.events import Batch, EventClass
from converter.ir.field_classes import ArrayClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.batches.union import looked_up, mark
from converter.projection.domain.linux_tracepoints import MEANINGS
from converter.projection.losses import LossReport
from converter.storage.pool.workers import Future, TaskGroup
from converter.storage.sink import Sink
from converter.streaming.block_emission import (
    MOST_HELD,
    BlockEmission,
    emitter_count,
    parts_of,
)

if TYPE_CHECKING:
    from converter.formats.perfetto.writing.callstacks import InternedStacks
    from converter.formats.perfetto.writing.compact import Compact, CompactSched
    from converter.formats.perfetto.writing.records import RecordOutput
    from converter.formats.perfetto.writing.thread_states import ThreadStateOutput

_KERNEL_KINDS: Final = frozenset({Kind.TYPED, *(meaning.kind for meaning in MEANINGS.values())})

_LOST_FIELDS: Final = (mapping.LOST_EVENTS.fields, mapping.COUNTED_LOST_EVENTS.fields)

_NO_POSITIONS: Final[NDArray[np.int32]] = np.zeros(0, np.int32)

_REASONS: Final = {
    kernel.BAD_COLUMN: "a value lies outside its column or table",
    kernel.BAD_CPU: "the CPU of a kernel event must be from 0 to 1023",
    kernel.TOO_LARGE: "a text is larger than a field can be, 2 GiB",
}


def write(trace: Trace, sink: Sink, variant: str) -> LossReport:
    """Write a trace that Perfetto's packets can hold.

    Batches that were read from a Perfetto trace and not changed since are copied packet by packet, with the packets
    between them, so that sequences keep the state to which their packets refer. From the first changed batch on, events
    are encoded again.

    Args:
        trace: projected to `capabilities.capabilities`, or from Perfetto's reader.
        sink: the output file.
        variant: not used.

    Returns:
        The losses that are only known at the end.

    Raises:
        UnsupportedError: an event, or the clock's rate, has no place in a Perfetto trace.

    """
    del variant
    rate = trace.clock.ticks_per_second
    if rate is not None and rate != 1_000_000_000:
        raise UnsupportedError(
            "times must be in nanoseconds", format="perfetto", path=sink.name, found=str(rate)
        )
    report = LossReport()
    encoder: _Encoder | None = None
    replayed = False
    try:
        for batch in trace.batches():
            if encoder is None and batch.native is not None and batch.native.format == "perfetto":
                sink.write(batch.native.data)
                replayed = True
                continue
            if encoder is None:
                encoder = _Encoder(trace, sink, report, is_first=not replayed)
            encoder.write(batch)
        if encoder is None and not replayed:
            encoder = _Encoder(trace, sink, report)
        if encoder is not None:
            encoder.finish()
    finally:
        if encoder is not None:
            encoder.close()
    return report


@dataclass(frozen=True, slots=True)
class _Program:
    """The program that emits events of a class."""

    frame: int
    steps: Steps
    #: Bytes before the first of them.
    preceding: bytes = b""
    #: For a record of two packets: the first instruction of the second.
    middle: int = 0
    #: The sequence of its packets, if it has one of its own.
    sequence: int = 0


@dataclass(slots=True)
class _Gathered:
    """A batch with decoded columns: those bound to the programs of its classes, and the positions of its events."""

    batch: Batch
    columns: dict[int, list[Any]] = field(default_factory=dict)
    #: The columns of the additional samples for kernel events with call stacks.
    stacks: dict[int, list[Any]] = field(default_factory=dict)
    has_bundles: bool = False
    #: What of it is in compact_sched.
    compact: Compact | None = None
    #: The CPUs of lost events.
    lost: NDArray[np.int32] = field(default_factory=lambda: _NO_POSITIONS)
    has_packets: bool = False
    #: Threads and tracks of timeline events; tracks of counters.
    threads: list[NDArray[np.int32]] = field(default_factory=lambda: [_NO_POSITIONS])
    tracks: list[NDArray[np.int32]] = field(default_factory=lambda: [_NO_POSITIONS])
    counters: list[NDArray[np.int32]] = field(default_factory=lambda: [_NO_POSITIONS])


class _Encoder:
    """Encodes batches, and tracks which classes are already in the output.

    A batch is emitted while the next is decoded. One thread at a time uses the sequence and the sink; emitters only
    read the state of the sequence.
    """

    def __init__(
        self, trace: Trace, sink: Sink, report: LossReport, *, is_first: bool = True
    ) -> None:
        self._trace = trace
        self._sink = sink
        self._report = report
        #: True if no kernel event has been written.
        self._is_first = is_first
        self._emission = TaskGroup(may_block=True)
        self._pending: Future[None] | None = None
        writer, writers = sink.writers
        self._sequence = PacketSequence(trace.strings, SEQUENCE, writer=writer, writers=writers)
        #: Emits packets other than a batch's events.
        self._emitter = Emitter(self._sequence)
        self._blocks: BlockEmission[Emitter, memoryview] = BlockEmission(
            [Emitter(self._sequence) for _ in range(emitter_count())]
        )
        self._ftrace = FtraceOutput(trace)
        #: What only some traces have is made for the first event that needs it.
        self._stacks: InternedStacks | None = None
        self._positions = RowPositions(trace)
        self._states: ThreadStateOutput | None = None
        self._records: RecordOutput | None = None
        self._compact: CompactSched | None = None
        self._programs: dict[int, _Program] = {}
        #: By class id: the number of its program in compact_sched.
        self._compact_numbers: dict[int, int] = {}
        #: The programs that emit call stacks as samples, for classes of kernel events with call stacks.
        self._stack_programs: dict[int, _Program] = {}
        #: CPUs that have a bundle without events.
        self._started_cpus: set[int] = set()
        #: By class id: the number of its program, -1 before its first event.
        self._numbers: NDArray[np.int32] = np.zeros(0, np.int32)
        #: The same for packets, which contain only the call stacks of kernel events.
        self._packet_numbers = self._numbers.copy()
        #: True if bundles of all CPUs, except the last of a batch, had the maximum number of events.
        self._bundles_full = True
        known = table_packets(trace)
        self._emitter.put(head(trace, known))
        for cpu, start in trace.sidecar.get("perfetto", {}).get(CPU_STARTS, ()):
            self._begin_cpu(cpu, previous_bundle_end_timestamp=start)
        self._tables = TableOutput(trace, self._sequence, self._emitter, known)

    def write(self, batch: Batch) -> None:
        """Encode a batch; for one that another process writes, only the state that later batches need."""
        gathered = self._gather(batch)
        self._finish_emission()
        is_own = self._sink.begin_batch(len(batch))
        self._bind(gathered)
        if not is_own:
            self._sequence.release()
            self._flush()
            return
        numbers = looked_up(self._numbers, batch.class_id)
        packets = numbers
        if self._stack_programs:
            packets = looked_up(self._packet_numbers, batch.class_id)
        if gathered.compact is not None:
            self._use_compact(gathered.compact, batch, numbers)
        self._pending = self._emission.submit(self._emit_batch, gathered, numbers, packets)

    def _use_compact(self, compact: Compact, batch: Batch, numbers: NDArray[np.int32]) -> None:
        """Give events in compact_sched their programs."""
        classes = batch.class_id[compact.positions]
        for class_id, number in self._compact_numbers.items():
            numbers[compact.positions[classes == class_id]] = number
        unhidden = compact.unhidden
        self._report.add_at("compact-switch-unhidden", self._trace, batch, unhidden)

    def _select_compact(self, gathered: _Gathered, classes: list[int]) -> None:
        of = self._trace.event_classes
        if self._compact is None and any(of[id].native == COMPACT_SCHED for id in classes):
            from converter.formats.perfetto.writing.compact import CompactSched

            self._compact = CompactSched(self._trace, is_first=self._is_first)
        if self._compact is not None:
            steps = {id: self._programs[id].steps for id in classes}
            gathered.compact = self._compact.select(gathered.batch, steps)
        self._is_first = False

    def _gather(self, batch: Batch) -> _Gathered:
        gathered = _Gathered(batch)
        bundled: list[int] = []
        for class_id, table in batch.tables.items():
            if not len(table):
                continue
            event_class = self._trace.event_classes[class_id]
            if class_id not in self._programs:
                self._programs[class_id] = program = self._compile(event_class)
                arrays = [one for one in event_class.fields if isinstance(one.type, ArrayClass)]
                if arrays and program.frame == kernel.FRAME_FTRACE:
                    from converter.formats.perfetto.writing.kernel_stacks import stack_of

                    stack = stack_of(event_class, self._trace)
                    if stack is not None:
                        steps = self._record_output().kernel_stack(stack)
                        self._stack_programs[class_id] = _Program(kernel.FRAME_RECORD, steps)
            record = mapping.is_record(event_class)
            self._positions.select(batch, class_id)
            steps = self._programs[class_id].steps
            gathered.columns[class_id] = [get(table) for get in steps.columns]
            if not record and event_class.kind in (*_KERNEL_KINDS, Kind.DISCARDED):
                bundled.append(class_id)
                stacks = self._stack_programs.get(class_id)
                if stacks is not None:
                    gathered.stacks[class_id] = [get(table) for get in stacks.steps.columns]
                    gathered.has_packets = True
                if event_class.kind is Kind.DISCARDED:
                    gathered.lost = np.append(gathered.lost, batch.cpu[batch.positions(class_id)])
                continue
            gathered.has_packets = True
            if event_class.kind in mapping.TRACK_KINDS:
                positions = batch.positions(class_id)
                tracks, threads = len(self._trace.tracks), len(self._trace.threads)
                gathered.tracks.append(_distinct(batch.track, positions, tracks))
                gathered.threads.append(_distinct(batch.thread, positions, threads))
                if event_class.kind is Kind.COUNTER:
                    gathered.counters.append(gathered.tracks[-1])
                elif mapping.is_of_thread_states(event_class):
                    self._state_output().gather(batch, class_id)
        if bundled:
            gathered.has_bundles = True
            self._select_compact(gathered, bundled)
        return gathered

    def _bind(self, gathered: _Gathered) -> None:
        """Bind the emitter to a batch's columns, and write the data that precedes its events."""
        emitter, sequence, trace = self._emitter, self._sequence, self._trace
        added = len(trace.event_classes) - len(self._numbers)
        self._numbers = np.append(self._numbers, np.full(added, -1, np.int32))
        self._packet_numbers = np.append(self._packet_numbers, np.full(added, -1, np.int32))
        for class_id, columns in gathered.columns.items():
            if self._numbers[class_id] < 0:
                program = self._programs[class_id]
                emitter.put(program.preceding)
                number = sequence.add_program(
                    program.frame, program.steps.steps, program.middle, program.sequence
                )
                self._numbers[class_id] = self._packet_numbers[class_id] = number
                stacks = self._stack_programs.get(class_id)
                if stacks is not None:
                    number = sequence.add_program(stacks.frame, stacks.steps.steps)
                    self._packet_numbers[class_id] = number
            rows = len(gathered.batch.tables[class_id])
            sequence.bind(int(self._numbers[class_id]), rows, columns)
            if class_id in gathered.stacks:
                number = int(self._packet_numbers[class_id])
                sequence.bind(number, rows, gathered.stacks[class_id])
        if gathered.compact is not None and self._compact is not None:
            for class_id, columns in gathered.compact.columns.items():
                if class_id not in self._compact_numbers:
                    frame, steps = self._compact.programs[class_id]
                    self._compact_numbers[class_id] = sequence.add_program(frame, steps.steps)
                rows = len(gathered.batch.tables[class_id])
                sequence.bind(self._compact_numbers[class_id], rows, columns)
        self._begin_cpus(gathered.lost)
        emitter.put(self._ftrace.take_declarations())
        if self._stacks is not None:
            emitter.put(self._stacks.take_packet())
        if self._records is not None:
            emitter.put(self._records.stack_packets())
        owners = (gathered.threads, gathered.tracks, gathered.counters)
        threads, tracks, counters = map(np.concatenate, owners)
        self._tables.follow(threads, tracks, counters, gathered.batch)
        if self._states is not None:
            self._states.write(self._flush)
        symbols = sequence.take_symbols()
        if symbols:
            emitter.put(symbols_packet(trace, symbols))

    def _begin_cpus(self, cpus: NDArray[np.int32]) -> None:
        """Keep lost events out of a CPU's first bundle.

        In the first bundle, the end of the previous bundle is the start of the CPU's recording, and importers show
        nothing of any CPU from before the last of these.
        """
        for cpu in sorted(set(cpus[cpus >= 0].tolist()) - self._started_cpus):
            self._begin_cpu(cpu)

    def _begin_cpu(self, cpu: int, **content: int) -> None:
        self._started_cpus.add(cpu)
        self._emitter.put(new_packet(ftrace_events={"cpu": cpu, **content}))

    def _emit_batch(
        self, gathered: _Gathered, numbers: NDArray[np.int32], packets: NDArray[np.int32]
    ) -> None:
        batch, sequence = gathered.batch, self._sequence
        self._flush()
        if gathered.has_packets:
            sequence.begin(EventArrays(batch, class_id=packets))
            self._emit(batch, Emitter.emit, parts_of(range(len(batch))))
        if gathered.has_bundles:
            sequence.begin(EventArrays(batch, class_id=numbers))
            status, runs, event = sequence.group()
            self._check(status, batch, event)
            # Each CPU has its own bundles. A part of its events starts with a new bundle if all previous ones are full.
            cpus = (range(*run) for run in runs)
            parts = chain.from_iterable(map(parts_of, cpus)) if self._bundles_full else cpus
            self._emit(batch, self._emit_bundles, parts)
        sequence.release()

    def _emit_bundles(
        self, emitter: Emitter, start: int, stop: int, _follows: bool
    ) -> tuple[int, int]:
        status, done = emitter.emit_bundles(start, stop)
        if done > stop and not status:
            # Emitting in parts is wasted work.
            self._bundles_full = False
        return status, done

    def _finish_emission(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def _emit(
        self,
        batch: Batch,
        emit: Callable[[Emitter, int, int, bool], tuple[int, int]],
        parts: Iterable[range],
    ) -> None:
        def emitted(emitter: Emitter, part: range, follows: bool) -> tuple[list[memoryview], int]:
            """Return the blocks of a part, up to an event that must follow all emitted ones."""
            blocks: list[memoryview] = []
            done, size, status = part.start, 0, kernel.OK
            while done < part.stop and size < MOST_HELD and not status:
                status, done = emit(emitter, done, part.stop, follows)
                if status != kernel.NEW_TEXT:
                    self._check(status, batch, done)
                size += emitter.size
                if emitter.size:
                    blocks.append(emitter.take())
            return blocks, done

        for block in self._blocks.blocks(emitted, parts):
            self._sink.write(block, handover=True)

    def _check(self, status: int, batch: Batch, event: Any) -> None:
        if status:
            kind = self._trace.event_classes[int(batch.class_id[event])].kind
            raise UnsupportedError(
                _REASONS[status], format="perfetto", path=self._sink.name, field=kind.name.lower()
            )

    def close(self) -> None:
        """End the threads once they have finished their current work."""
        self._emission.close()
        self._blocks.close()

    def finish(self) -> None:
        """Write the data that is only known at the end of the trace: late names, threads without events."""
        self._finish_emission()
        self._sink.begin_batch(None)
        self._tables.follow(_NO_POSITIONS, _NO_POSITIONS, _NO_POSITIONS, None)
        for (format, name), times in self._tables.sort_indexes.late.items():
            self._report.add("native-data-shown", times, name=name, format=format)
        if self._states is not None:
            self._states.write(self._flush, is_last=True)
        # A copy contains the packets with its sidecars already.
        is_copy = self._trace.format == "perfetto"
        for name, sidecar in () if is_copy else json_documents(self._trace):
            content = attributes(SIDECAR_PREFIX + name, sidecar_json(sidecar))
            self._emitter.put(new_packet(trace_attributes=content))
        self._flush()

    def _flush(self) -> None:
        if self._emitter.size:
            self._sink.write(self._emitter.take(), handover=True)

    def _interned_stacks(self) -> InternedStacks:
        if self._stacks is None:
            from converter.formats.perfetto.writing.callstacks import InternedStacks

            self._stacks = InternedStacks(self._trace.strings)
        return self._stacks

    def _state_output(self) -> ThreadStateOutput:
        if self._states is None:
            from converter.formats.perfetto.writing.thread_states import ThreadStateOutput

            self._states = ThreadStateOutput(self._trace, self._sequence, self._emitter)
        return self._states

    def _record_output(self) -> RecordOutput:
        if self._records is None:
            from converter.formats.perfetto.writing.records import RecordOutput

            self._records = RecordOutput(self._trace, self._interned_stacks(), self._positions)
        return self._records

    def _compile(self, event_class: EventClass) -> _Program:
        """Return the program for an event class."""
        if event_class.kind in mapping.TRACK_KINDS:
            from converter.formats.perfetto.writing.tracks import track_program

            uuids = self._tables.process_uuids
            stacks = self._interned_stacks()
            steps = track_program(event_class, self._trace, stacks, self._positions, uuids)
            return _Program(kernel.FRAME_TRACK, steps)
        if mapping.is_record(event_class):
            return _Program(kernel.FRAME_RECORD, *self._record_output().program(event_class))
        if event_class.kind in _KERNEL_KINDS:
            return _Program(kernel.FRAME_FTRACE, *self._ftrace.program(event_class))
        steps = Steps()
        if event_class.kind is Kind.DISCARDED and event_class.fields in _LOST_FIELDS:
            if event_class.fields:
                steps.scalar(LOST_COUNT, event_class.fields[0].type, field_getter(0))
            return _Program(kernel.FRAME_LOST, steps)
        if event_class.fields == mapping.NATIVE_PACKET.fields:
            packet = field_getter(1)
            steps.add(kernel.TEXT, PACKET_TAG, text_getter(packet))
            return _Program(kernel.FRAME_RAW, steps)
        raise UnsupportedError(
            "no packet holds events of this class",
            format="perfetto",
            path=self._sink.name,
            field=event_class.kind.name.lower(),
        )


def _distinct(
    column: NDArray[np.int32], positions: NDArray[np.int32], count: int
) -> NDArray[np.int32]:
    """Return which of -1 and the numbers below `count` a column has at some positions."""
    # The last entry is for -1.
    marks = np.zeros(count + 1, np.uint8)
    mark(marks, column[:1] if column.strides == (0,) else np.take(column, positions))
    numbers = np.flatnonzero(marks).astype(np.int32)
    return np.where(numbers == count, np.int32(-1), numbers)
