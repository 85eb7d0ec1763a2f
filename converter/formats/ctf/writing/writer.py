"""Writes CTF: the files of an unchanged trace as they are, or its events in packets like LTTng's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, UnsupportedError
from converter.formats.ctf.capabilities import LOST, LOST_PACKETS
from converter.formats.ctf.layout import METADATA_NAME, IndexEntry, build_index
from converter.formats.ctf.lttng_events import field_names
from converter.formats.ctf.metadata.ctf2.printer import print_sequence
from converter.formats.ctf.metadata.field_classes import Member
from converter.formats.ctf.metadata.tsdl.printer import print_tsdl
from converter.formats.ctf.side_table import side_table_environment
from converter.formats.ctf.writing.contexts import SourceContexts, as_of_kernel
from converter.formats.ctf.writing.emit import (
    BACKWARDS,
    DISCARDS_EVENTS,
    DISCARDS_PACKETS,
    DONE,
    FULL,
    OP_SCALAR,
    OUT_OF_RANGE,
    WRONG_LENGTH,
    Emitter,
)
from converter.formats.ctf.writing.event_classes import Metadata, shift_for, usual_environment
from converter.formats.ctf.writing.field_types import Binder
from converter.formats.ctf.writing.programs import SYSCALL_KINDS, Program, is_numbered, layout_of
from converter.formats.ctf.writing.replay import losses_of_rewriting, replay, source_metadata
from converter.formats.ctf.writing.streams import KINDS, TRACKED, OutputStream, Streams
from converter.ir.distinct_values import distinct
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Role
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.batches.union import looked_up
from converter.limits import allowed, limit
from converter.projection.domain.syscalls import syscall_names
from converter.projection.losses import LossReport
from converter.storage.sink import Sink

#: The size in bytes at which a packet is closed.
_PACKET_SIZE: Final = 1 << 18
#: The most bytes of finished packets that a stream holds from batch to batch.
_HELD: Final = 1 << 18

_REASONS: Final = {
    OUT_OF_RANGE: "a value lies outside its column or table",
    WRONG_LENGTH: "an array is of another length than its class says",
    BACKWARDS: "an event is earlier than one before it in its stream",
}


@dataclass(frozen=True, slots=True)
class _Discards:
    """The counter of a class of lost events, and the columns that it uses."""

    code: int
    binders: list[Binder]


#: Lost packets have their number in the second column, as the number of events is unknown.
_DISCARDS: Final = {
    LOST: _Discards(DISCARDS_EVENTS, [lambda column: [column]]),
    LOST_PACKETS: _Discards(DISCARDS_PACKETS, [lambda _: [], lambda column: [column]]),
}


def write(trace: Trace, sink: Sink, variant: str) -> LossReport:
    """Write a trace as a directory of CTF.

    A trace that was read from CTF and not changed since keeps its streams byte for byte, with metadata of the requested
    version.

    Args:
        trace: as projected to `capabilities`, or as CTF's reader returns it.
        sink: a directory.
        variant: "" (the source's version, 1.8 for other formats), "1.8" or "2".

    Returns:
        The losses of a trace that was read from CTF.

    Raises:
        UnsupportedError: CTF cannot represent an event, or the clock's rate.
        OutputError: the sink cannot be written to.
        TraceError: as `Trace.batches` does.

    """
    try:
        replayed = replay(trace, sink, variant)
        if replayed is not None:
            return replayed
        version = 2 if (variant or _version_of(trace)) == "2" else 1
        _TraceWriter(trace, sink, version).write()
        return losses_of_rewriting(trace, version)
    except TraceError as error:
        raise error.within(format="ctf") from error


def _version_of(trace: Trace) -> str:
    version = trace.sidecar.get("ctf", {}).get("version", [1, 8])
    return "2" if version[0] == 2 else "1.8"


class _TraceWriter:
    def __init__(self, trace: Trace, sink: Sink, version: int) -> None:
        self._trace = trace
        self._sink = sink
        self._version = version
        sources = source_metadata(trace)
        ordered = sources if trace.in_time_order else []
        self._source_clocks = [clock for one in ordered for clock in one.clocks.values()]
        self._sources = SourceContexts(sources, is_ctf=trace.format == "ctf")
        #: The common contexts, each with its number.
        self._contexts: dict[tuple[Member, ...], int] = {}
        #: The number of each program's common context, and whether packets name the CPU of its events.
        self._of_programs: list[tuple[int, bool]] = []
        #: By number, which is also the ID of the event record class.
        self._programs: list[Program] = []
        self._by_class: dict[tuple[int, int | None], Program] = {}
        self._shift: int | None = None
        self._threads = 0

    def write(self) -> None:
        """Write the streams as the batches come, then the metadata."""
        trace = self._trace
        batches = trace.batches()
        first = next((batch for batch in batches if len(batch)), None)
        start = int(first.ts.min()) if first is not None else 0
        self._shift = shift_for(trace.clock, start, self._source_clocks)
        seed = repr((trace.format, trace.clock, sorted(trace.environment.items()), start))
        digest = blake2b(seed.encode("utf-8", "surrogateescape"), digest_size=16).digest()
        self._uuid = UUID(bytes=digest, version=4)
        self._emitter = Emitter(trace.strings, self._uuid.bytes, _PACKET_SIZE)
        # Events of CTF without threads or times are written as such. All classes are known before the first event.
        timed = trace.format != "ctf" or any(one.timed for one in trace.event_classes)
        self._streams = Streams(self._emitter, timed=timed)
        if first is not None:
            self._batch(first)
        for batch in batches:
            if len(batch):
                self._batch(batch)
        for stream in self._streams.all:
            self._emitter.finish(stream.number)
            self._flush(stream)
            if stream.sink is not None:
                stream.sink.close()
            if self._streams.timed:
                index = self._sink.create(f"index/{stream.name}.idx")
                index.write(build_index(stream.index))
                index.close()
        self._metadata()

    def _batch(self, batch: Batch) -> None:
        """Write the events of a batch."""
        emitter = self._emitter
        self._follow_threads()
        programs = self._bound(batch)
        ts, order = self._times(batch)
        columns = [programs, batch.row, batch.thread, batch.cpu, batch.track]
        if order is not None:
            columns = [column[order] for column in columns]
        programs, row, thread, cpu, track = columns
        contexts, named = np.array(self._of_programs, np.int64).T
        cpu = np.where(named[programs], cpu, -1)
        streams = self._streams.assign(ts, programs, cpu, track, contexts[programs])
        events = EventArrays(
            ts=ts, class_id=programs, row=row, thread=thread, track=track, stream=streams
        )
        done = 0
        while done < len(batch):
            status, done = emitter.emit(events, done)
            if status == FULL:
                self._flush(self._streams.all[int(streams[done - 1])])
            elif status != DONE:
                event_class = self._programs[int(programs[done])].event_class
                raise UnsupportedError(
                    _REASONS[status], path=self._sink.name, field=event_class.kind.name.lower()
                )
        emitter.release()
        for stream in self._streams.all:
            if emitter.pending(stream.number) > _HELD:
                self._flush(stream)

    def _bound(self, batch: Batch) -> NDArray[np.int32]:
        """Return the program of each event, with its columns bound."""
        numbers = np.full(max(batch.tables, default=0) + 1, -1, np.int32)
        by_call: list[tuple[int, NDArray[np.int32]]] = []
        for class_id, table in batch.tables.items():
            if not len(table):
                continue
            event_class = self._trace.event_classes[class_id]
            index = event_class.index_of(Role.SYSCALL_NUMBER)
            if index is None or not self._is_by_call(event_class, index):
                numbers[class_id] = self._bind(class_id, None, table)
                continue
            calls = table.column(index)
            assert isinstance(calls, np.ndarray)
            values, which = distinct(calls)
            bound = [self._bind(class_id, value, table) for value in values.tolist()]
            by_call.append((class_id, np.array(bound, np.int32)[which]))
        programs = looked_up(numbers, batch.class_id)
        for class_id, of_rows in by_call:
            programs[batch.positions(class_id)] = of_rows
        return programs

    def _is_by_call(self, event_class: EventClass, index: int) -> bool:
        """Return True if the events of a class become LTTng's of each system call."""
        return is_numbered(event_class, index) and not self._sources.declares(event_class)

    def _bind(self, class_id: int, call: int | None, table: Table) -> int:
        """Return the number of the program for events of a class (and a system call), with its columns bound."""
        program = self._by_class.get((class_id, call)) or self._compile(class_id, call)
        self._emitter.bind(program.number, len(table), program.columns(table))
        return program.number

    def _times(self, batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.intp] | None]:
        """Return values of the clock, rising, and the order of the events that goes with them (None: unchanged)."""
        assert self._shift is not None
        ts = np.ascontiguousarray(batch.ts)
        order = None
        if np.any(ts[1:] < ts[:-1]):
            order = np.argsort(ts, kind="stable")
            ts = ts[order]
        first, last = int(ts[0]) + self._shift, int(ts[-1]) + self._shift
        if first < 0 or last >= 1 << 63:
            raise UnsupportedError(
                "a time is too far from those before it", found=int(ts[0 if first < 0 else -1])
            )
        return (ts + self._shift if self._shift else ts), order

    def _follow_threads(self) -> None:
        """Add the new threads."""
        trace = self._trace
        threads = trace.threads[self._threads :]
        if threads and not self._threads:
            # Until there were threads, events had none.
            self._by_class.clear()
        self._threads += len(threads)
        processes = trace.processes
        self._emitter.add_threads(
            [
                (
                    _signed(processes[thread.process].pid),
                    _signed(thread.tid),
                    thread.name.encode("utf-8", "surrogateescape"),
                )
                for thread in threads
            ]
        )

    def _compile(self, class_id: int, call: int | None) -> Program:
        """Return the program for events of a class (and a system call)."""
        trace = self._trace
        event_class = described = trace.event_classes[class_id]
        discards = _DISCARDS.get(event_class)
        if discards is not None:
            # They are counted in the streams of other events.
            others = (one for one in trace.event_classes if one not in _DISCARDS)
            described = next(others, event_class)
        contexts = self._sources.of(described, threaded=self._threads > 0)
        syscall = None
        if event_class.kind in SYSCALL_KINDS:
            names = syscall_names(str(trace.environment.get("machine", "")))
            syscall = "unknown" if call is None else names.get(call, "unknown")
        recorded = [field.name for field in described.fields]
        shown = recorded if contexts.as_declared else field_names(described)
        types = [field.type for field in described.fields]
        layout = layout_of(self._version, [*zip(shown, types, strict=True)], contexts)
        operations, context = layout.written.operations, layout.operations
        if discards is not None:
            layout.written.binders = discards.binders
            layout = replace(layout, order=[*range(len(event_class.fields))])
            operations, context = [(OP_SCALAR, 8, 0)], 0
        id = len(self._programs)
        code = discards.code if discards is not None else 0
        number = self._emitter.add_program(id, operations, code, context)
        program = Program(
            number, event_class, layout, syscall=syscall, as_declared=contexts.as_declared
        )
        of_stream = self._contexts.setdefault(layout.common, len(self._contexts))
        self._of_programs.append((of_stream, contexts.in_packets_of_cpu))
        self._programs.append(program)
        self._by_class[class_id, call] = program
        return program

    def _flush(self, stream: OutputStream) -> None:
        """Write the finished packets of a stream."""
        data, packets = self._emitter.take(stream.number)
        if stream.sink is None:
            stream.sink = self._sink.create(stream.name)
        offset = stream.sink.tell()
        for size, content, begin, end, discarded, number in packets:
            stream.index.append(
                IndexEntry(
                    offset,
                    8 * size,
                    8 * content,
                    begin,
                    end,
                    discarded,
                    stream.class_id,
                    stream.instance,
                    number,
                )
            )
            offset += size
        stream.sink.write(data)

    def _metadata(self) -> None:
        trace = self._trace
        assert self._shift is not None
        programs = self._programs
        kernel = any(one.is_lttng for one in programs)
        metadata = Metadata(self._version, self._uuid)
        if self._streams.timed:
            metadata.add_clock(trace.clock, self._shift)
        classes = {one.number: one.event_class for one in programs}
        usual = usual_environment(trace, kernel=kernel)
        metadata.trace.environment = dict(
            side_table_environment(trace, classes, self._shift, usual)
        )
        contexts = [as_of_kernel(one) if kernel else one for one in self._contexts]
        for class_id, used in sorted(self._streams.programs.items()):
            events = [programs[i] for i in sorted(used) if programs[i].event_class not in _DISCARDS]
            # Babeltrace crashes at lengths in the context of no event.
            stream = metadata.add_stream(
                class_id,
                contexts[class_id // KINDS] if events else (),
                cpu=class_id % 2 == 0,
                tracked=bool(class_id & TRACKED),
            )
            for one in events:
                layout = one.layout
                metadata.add_event(
                    stream, one.number, one.name(kernel=kernel), layout.own, layout.payload
                )
        if self._version == 2:
            data = print_sequence(metadata.trace)
        else:
            data = print_tsdl(metadata.trace).encode("utf-8", "surrogateescape")
        if len(data) > limit("ctf.metadata"):
            raise UnsupportedError(
                path=self._sink.name,
                field="metadata",
                expected=f"{allowed('ctf.metadata')}: fewer threads, tracks or event classes",
                found=len(data),
            )
        file = self._sink.create(METADATA_NAME)
        file.write(data)
        file.close()


def _signed(id: int) -> int:
    return (id + (1 << 63)) % (1 << 64) - (1 << 63)
