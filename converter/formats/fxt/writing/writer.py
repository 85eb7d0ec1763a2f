"""Writes FXT: the bytes that an unchanged trace was read from, or its events through the emit kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from converter.errors import UnsupportedError
from converter.formats.fxt.mapping import (
    EXTENSION,
    LARGE,
    LARGE_TIMED,
    PROVIDER_ID,
    PROVIDER_NAME,
    Codec,
    argument_type,
    shape_of,
)
from converter.formats.fxt.record_types import (
    MAGIC,
    MAX_ARGUMENTS,
    ByteOrder,
    MetadataType,
    RecordType,
)
from converter.formats.fxt.writing.emit import (
    BAD_COLUMN,
    BAD_RECORD,
    MUST_FOLLOW,
    OK,
    RECORD_TOO_LARGE,
    TEXT_TOO_LONG,
    Emitter,
)
from converter.formats.fxt.writing.emit_provider import Provider, without_program
from converter.ir.columns import Column, ListColumn
from converter.ir.events import Batch, EventClass, NativeRecords, Table
from converter.ir.kinds import Kind
from converter.ir.tables import ConvertedColumn, WholeColumn
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.batches.union import looked_up
from converter.storage.sink import Sink
from converter.streaming.block_emission import (
    MOST_HELD,
    BlockEmission,
    emitter_count,
    parts_of,
)

_NANOSECONDS: Final = 1_000_000_000
_KOID: Final = (1 << 64) - 1
_WORD: Final = 8
#: Its length has 8 bits.
_MAX_PROVIDER_NAME: Final = 255
_SCHEDULING: Final = frozenset({Kind.SCHED_SWITCH, Kind.SCHED_WAKEUP})

_REASONS: Final = {
    TEXT_TOO_LONG: "a text is longer than its record can hold",
    RECORD_TOO_LARGE: "an event is larger than a record, 32,760 bytes",
    BAD_COLUMN: "a value lies outside its column or table",
    BAD_RECORD: "a native record is none of this format",
}

#: NumPy types of the columns that the kernel accepts; strings are IDs.
_DTYPES: Final[dict[Codec, np.dtype[Any]]] = {
    Codec.STRING: np.dtype(np.int32),
    Codec.U8: np.dtype(np.uint8),
    Codec.U16: np.dtype(np.uint16),
    Codec.U32: np.dtype(np.uint32),
    Codec.I32: np.dtype(np.int32),
    Codec.U64: np.dtype(np.uint64),
    Codec.I64: np.dtype(np.int64),
    Codec.F64: np.dtype(np.float64),
    Codec.BOOLEAN: np.dtype(np.bool_),
}


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write a trace that has been projected to FXT's capabilities.

    Batches that were read from FXT of the same byte order, and not changed since, are copied byte for byte; from the
    first changed one on, events are encoded again.

    Args:
        trace: as projected to `capabilities`, or as FXT's reader returns it.
        sink: a file.
        variant: "" (no large records: Perfetto's importer cannot skip them), "large", or "be" (big-endian words, which
            that importer does not read, and large records).

    Raises:
        UnsupportedError: FXT cannot represent an event, or the clock's rate.

    """
    order: ByteOrder = "big" if variant == "be" else "little"
    # A file of this format keeps its large records.
    large = variant != "" or trace.format == "fxt"
    encoder: _Encoder | None = None
    replayed = False
    try:
        for batch in trace.batches():
            native = batch.native
            if (
                encoder is None
                and native is not None
                and native.format == "fxt"
                and (replayed or _starts_file(native, order))
            ):
                sink.write(native.data)
                replayed = True
                continue
            if encoder is None:
                encoder = _Encoder(trace, sink, order, large=large, continues=replayed)
            encoder.write(batch)
        if encoder is None and not replayed:
            encoder = _Encoder(trace, sink, order, large=large, continues=False)
        if encoder is not None:
            encoder.finish()
    finally:
        if encoder is not None:
            encoder.close()


def _starts_file(native: NativeRecords, order: ByteOrder) -> bool:
    return bytes(native.data[:8]) == (MAGIC if order == "little" else MAGIC[::-1])


class _Encoder:
    """Encodes batches, and tracks the classes, threads and names that are already in the output.

    An emitter stops at an event that needs a new string: it is emitted after all earlier parts.
    """

    def __init__(
        self, trace: Trace, sink: Sink, order: ByteOrder, *, large: bool, continues: bool
    ) -> None:
        self._trace = trace
        self._sink = sink
        self._large = large
        self._provider = provider = Provider(trace.strings, big_endian=order == "big")
        #: Emits everything that is not from a batch's events.
        self._emitter = Emitter(provider)
        self._blocks: BlockEmission[Emitter, memoryview] = BlockEmission(
            [Emitter(provider) for _ in range(emitter_count())]
        )
        #: The program of each class ID, -1 before its first event.
        self._programs = np.zeros(0, np.int32)
        #: By program: functions that return the columns of a table.
        self._getters: list[list[Callable[[Table], Any]]] = []
        self._names = _Names(trace, provider, self._emitter)
        self._was_own = True
        self._emitter.put(_head(trace, order, continues=continues))

    def write(self, batch: Batch) -> None:
        """Encode a batch; if another process writes it, only register the names of its classes and threads."""
        provider = self._provider
        is_own = self._begin(len(batch))
        added = len(self._trace.event_classes) - len(self._programs)
        self._programs = np.append(self._programs, np.full(added, -1, np.int32))
        for class_id in without_program(batch.tables, self._programs):
            self._programs[class_id] = self._compile(self._trace.event_classes[class_id])
        if is_own:
            provider.bind_tables(batch.tables, self._programs, self._getters)
        self._names.follow()
        self._flush()
        if is_own:
            programs = looked_up(self._programs, batch.class_id)
            provider.begin(EventArrays(batch, class_id=programs))
            self._emit(batch)
            provider.release()

    def _emit(self, batch: Batch) -> None:
        def emitted(emitter: Emitter, part: range, follows: bool) -> tuple[list[memoryview], int]:
            """Return the blocks of a part, up to an event that must be emitted after all earlier parts."""
            blocks: list[memoryview] = []
            done, size, status = part.start, 0, OK
            while done < part.stop and size < MOST_HELD and status == OK:
                status, done = emitter.emit(done, part.stop, follows)
                size += emitter.size
                if emitter.size:
                    blocks.append(emitter.take())
            if status not in (OK, MUST_FOLLOW):
                raise UnsupportedError(
                    _REASONS[status],
                    format="fxt",
                    path=self._sink.name,
                    field=self._trace.event_classes[int(batch.class_id[done])].kind.name.lower(),
                )
            return blocks, done

        parts = parts_of(range(len(batch)))
        for block in self._blocks.blocks(emitted, parts, lambda: self._provider.slots_taken):
            self._sink.write(block, handover=True)

    def close(self) -> None:
        """End its threads, after the work that they have started."""
        self._blocks.close()

    def finish(self) -> None:
        """Write what is known only at the end of the trace: late names, threads without events."""
        self._begin(None)
        self._names.finish()
        self._flush()

    def _begin(self, events: int | None) -> bool:
        """Return True if this process writes what follows; if it did not before, slots have been filled by other
        processes.
        """
        is_own = self._sink.begin_batch(events)
        if is_own and not self._was_own:
            self._provider.forget_slots()
        self._was_own = is_own
        return is_own

    def _flush(self) -> None:
        if self._emitter.size:
            self._sink.write(self._emitter.take(), handover=True)

    def _compile(self, event_class: EventClass) -> int:
        """Return the program for an event class."""
        shape = shape_of(event_class)
        if shape is None:
            raise self._unsupported(event_class, "no record holds events of this class")
        if shape in (LARGE, LARGE_TIMED) and not self._large:
            raise self._unsupported(event_class, "large blob records need the variant fxt+large")
        codecs = [codec for _, codec in shape.fields]
        fields = event_class.fields[len(codecs) :]
        extended = bool(fields) and fields[-1] == EXTENSION
        arguments = []
        for field in fields[:-1] if extended else fields:
            found = argument_type(field) if shape.arguments else None
            if found is None:
                raise self._unsupported(event_class, f"no argument holds field {field.name!r}")
            kind, codec = found
            arguments.append((kind, self._trace.strings.intern(field.name)))
            codecs.append(codec)
        if len(arguments) > MAX_ARGUMENTS:
            raise self._unsupported(event_class, f"{len(arguments)} arguments, at most 15 fit")
        if extended:
            codecs.append(Codec.BYTES)
        if shape.kind in _SCHEDULING:
            self._names.scheduling = True
        self._getters.append([_getter(index, codec) for index, codec in enumerate(codecs)])
        return self._provider.add_program(shape.code, codecs, arguments, extended)

    def _unsupported(self, event_class: EventClass, message: str) -> UnsupportedError:
        kind = event_class.kind.name.lower()
        return UnsupportedError(message, format="fxt", path=self._sink.name, field=kind)


class _Names:
    """Kernel object records with the names of processes and threads, written as soon as a name is known.

    They are Perfetto's importer's only source for the process of a thread in scheduling records, so with scheduling
    records, threads without a name get one too.
    """

    def __init__(self, trace: Trace, provider: Provider, emitter: Emitter) -> None:
        self._trace = trace
        self._provider = provider
        self._emitter = emitter
        self._processes = 0
        self._threads = 0
        self._unnamed_processes: list[int] = []
        self._unnamed_threads: list[int] = []
        self._placed: set[int] = set()
        self.scheduling = False

    def follow(self) -> None:
        """Write the new names."""
        trace, emitter = self._trace, self._emitter
        new = range(self._processes, len(trace.processes))
        self._processes = len(trace.processes)
        unnamed = []
        for index in (*self._unnamed_processes, *new):
            process = trace.processes[index]
            if process.name:
                emitter.name_process(process.pid & _KOID, _encoded(process.name))
            else:
                unnamed.append(index)
        self._unnamed_processes = unnamed
        new = range(self._threads, len(trace.threads))
        self._threads = len(trace.threads)
        self._provider.add_threads(
            [
                (trace.processes[thread.process].pid & _KOID, thread.tid & _KOID)
                for thread in trace.threads[new.start :]
            ]
        )
        unnamed = []
        for index in (*self._unnamed_threads, *new):
            name = trace.threads[index].name
            if name:
                emitter.name_thread(index, _encoded(name))
                continue
            unnamed.append(index)
            if self.scheduling and index not in self._placed:
                self._placed.add(index)
                emitter.name_thread(index, b"")
        self._unnamed_threads = unnamed

    def finish(self) -> None:
        """Write the tasks that no record has mentioned."""
        self.follow()
        self._emitter.declare_threads()
        with_threads = {thread.process for thread in self._trace.threads}
        for index in self._unnamed_processes:
            if index not in with_threads:
                self._emitter.name_process(self._trace.processes[index].pid & _KOID, b"")


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _getter(index: int, codec: Codec) -> Callable[[Table], Any]:
    """Return a function that returns column `index` of a table as the kernel expects it."""
    column = WholeColumn(index)
    return ConvertedColumn(column, _DTYPES.get(codec), lambda column: _bindable(column, codec))


def _bindable(column: Column, codec: Codec) -> Any:
    """Return a column as the kernel expects it."""
    match column:
        case np.ndarray():
            # Numbers in place of lists are rejected by the kernel.
            return column.astype(_DTYPES.get(codec, column.dtype), copy=False)
        case ListColumn(offsets, np.ndarray() as values):
            element = np.uint64 if codec is Codec.FRAMES else np.uint8
            return np.ascontiguousarray(values, element), np.ascontiguousarray(offsets, np.int64)
    return None


def _head(trace: Trace, order: ByteOrder, *, continues: bool) -> bytes:
    """Return magic number, providers and initialization, for a file or for the continuation of a copied one."""
    sidecar = trace.sidecar.get("fxt", {})
    providers = list(sidecar.get("providers", [[PROVIDER_ID, PROVIDER_NAME]]))
    parts = [] if continues else [MAGIC if order == "little" else MAGIC[::-1]]
    if continues:
        # Its own provider: what the copied records have registered stays with their providers.
        taken = {id for id, _ in providers}
        free = next(id for id in range(PROVIDER_ID, len(taken) + 2) if id not in taken)
        providers = [[free, PROVIDER_NAME]]
    for id, name in providers:
        parts.append(_provider(id, name, order))
    clock = trace.clock
    rate = _NANOSECONDS if clock.ticks_per_second is None else clock.ticks_per_second
    if rate != int(rate) or rate >= 1 << 64:
        raise UnsupportedError(
            "the clock's rate must be a whole number of ticks per second", format="fxt", found=rate
        )
    more = list(sidecar.get("initialization", []))
    if clock.epoch_ns is not None:
        base = more[0] if more else 0
        time = clock.epoch_ns - (-base * _NANOSECONDS // int(rate))
        if not 0 <= time < 1 << 64:
            # Another anchor, after 1970: its time must not be negative.
            base = max(-(clock.epoch_ns * int(rate) // _NANOSECONDS), 0)
            time = clock.epoch_ns - (-base * _NANOSECONDS // int(rate))
        if not (0 <= base < 1 << 64 and 0 <= time < 1 << 64):
            raise UnsupportedError(
                "the clock's epoch does not fit 64 bits", format="fxt", found=clock.epoch_ns
            )
        more = [base, time, *more[1:]]
    parts.append(_record(RecordType.INITIALIZATION, 0, _words((int(rate), *more), order), order))
    return b"".join(parts)


def _provider(id: int, name: bytes | None, order: ByteOrder) -> bytes:
    """Return a provider info record, or a section record for a provider that already has a name."""
    kind = MetadataType.PROVIDER_SECTION if name is None else MetadataType.PROVIDER_INFO
    text = name or b""
    if not 0 <= id < 1 << 32 or len(text) > _MAX_PROVIDER_NAME:
        raise UnsupportedError("a provider's id or name does not fit", format="fxt", found=id)
    return _record(
        RecordType.METADATA,
        kind << 16 | id << 20 | len(text) << 52,
        text.ljust(-(-len(text) // _WORD) * _WORD, b"\0"),
        order,
    )


def _record(kind: RecordType, fields: int, content: bytes, order: ByteOrder) -> bytes:
    """Return a record: the header with type, size and these fields, then its content."""
    size = 1 + len(content) // _WORD
    return _words((kind | size << 4 | fields,), order) + content


def _words(numbers: Iterable[int], order: ByteOrder) -> bytes:
    return b"".join(number.to_bytes(_WORD, order) for number in numbers)
