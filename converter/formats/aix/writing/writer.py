"""Writes raw AIX trace streams: the bytes that a trace was read from, or its events in user hooks."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.aix.entries.encoding import Nodes, bound
from converter.formats.aix.entries.scan import DECLARATION, DECLARATION_PART, HEADER
from converter.formats.aix.entries.streams import TEMPLATES_SUFFIX
from converter.formats.aix.entries.values import NUMBER
from converter.formats.aix.layout import (
    CONVERSION,
    CONVERSION_TYPE,
    MAGIC,
    MAX_DATA,
    OWN_MAGIC,
    UTIL_HOOK,
)
from converter.formats.aix.mapping import DocumentedHook, documented_hook, field_of
from converter.formats.aix.portable import copy_streams, write_templates
from converter.formats.aix.side_table import (
    class_line,
    process_line,
    thread_line,
    trace_line,
    track_line,
)
from converter.formats.aix.writing.emit import BAD_COLUMN, OK, TOO_LARGE, TOO_MANY_EMPTY, Emitter
from converter.formats.aix.writing.user_templates import class_template, place_of, shared_templates
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Role
from converter.ir.trace import Process, Thread, Trace, Track
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.batches.union import looked_up
from converter.storage.sink import Sink

_REASONS: Final = {
    TOO_LARGE: "an event has more than 64 MiB of data",
    BAD_COLUMN: "a value lies outside its column or table",
    TOO_MANY_EMPTY: "an array has more than 255 values that are nothing",
}
_NANOSECONDS: Final = 1_000_000_000
_U64: Final = 1 << 64
#: Data words of 16 bits distinguish the classes that share a hook.
_MAX_CLASSES: Final = 239 << 16


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write a raw stream: a 64-bit one with its magic number, or a 32-bit one, which has none.

    An unchanged trace from streams of the same kind, read directly or embedded, is copied byte for byte, with the
    user's templates next to it. Any other trace becomes user hooks, with the templates for them in the stream itself
    and, if the output is in a folder, in a `.trcfmt` file.

    Raises:
        UnsupportedError: an event is larger than any reader accepts, or there are more classes than hooks can
            distinguish.
        OutputError: the sink cannot be written to.
        TraceError: as `Trace.batches` does.

    """
    bits = 32 if variant == "32" else 64
    if copy_streams(trace, sink, bits):
        write_templates(trace, sink)
        return
    encoder: _Encoder | None = None
    replayed = False
    for batch in trace.batches():
        native = batch.native
        if (
            encoder is None
            and native is not None
            and native.format == "aix"
            and (replayed or trace.sidecar.get("aix", {}).get("bits") == bits)
        ):
            sink.write(native.data)
            replayed = True
            continue
        if replayed:
            raise UnsupportedError(
                "only some batches of the trace are as they were read; neither a copy nor new hooks can hold it",
                format="aix",
                path=sink.name,
            )
        if encoder is None:
            encoder = _Encoder(trace, sink, bits)
        encoder.write(batch)
    if replayed:
        write_templates(trace, sink)
    else:
        if encoder is None:
            encoder = _Encoder(trace, sink, bits)
        encoder.finish()


class _Encoder:
    """Encodes batches, and tracks the classes and threads that are already declared in the output."""

    def __init__(self, trace: Trace, sink: Sink, bits: int) -> None:
        self._trace = trace
        self._sink = sink
        self._bits = bits
        self._emitter = Emitter(trace.strings, bits=bits)
        #: Classes by their number in the output, and that number by class ID (-1: none yet).
        self._classes: list[_Class] = []
        self._numbers = np.zeros(0, np.int32)
        self._declared = _Declared(trace)
        self._tids = np.zeros(0, np.uint64)
        #: Process IDs by thread ID, for the hooks that name a process in addition to a thread.
        self._pid_of_tid: dict[int, int] = {}
        self._last_ts = 0
        if bits == 64:
            self._emitter.put(MAGIC)
        self._emitter.metadata(HEADER, OWN_MAGIC, 0)
        self._put_conversion()
        self._declare(trace_line(trace))

    def write(self, batch: Batch) -> None:
        """Encode a batch."""
        if not len(batch):
            return
        self._last_ts = int(batch.ts[0])
        added = len(self._trace.event_classes) - len(self._numbers)
        self._numbers = np.append(self._numbers, np.full(added, -1, np.int32))
        lines = [self._declared.follow()]
        self._follow_threads()
        for id, table in batch.tables.items():
            if len(table):
                if self._numbers[id] < 0:
                    lines.append(self._add_class(id))
                self._bind(self._classes[self._numbers[id]], table, batch, id)
        self._declare(b"".join(lines))
        numbers = looked_up(self._numbers, batch.class_id)
        events = EventArrays(batch, class_id=numbers)
        done = 0
        while done < len(batch):
            status, done = self._emitter.emit(events, self._tids, done)
            self._flush()
            if status != OK:
                kind = self._trace.event_classes[int(batch.class_id[done])].kind.name.lower()
                raise UnsupportedError(
                    _REASONS[status], format="aix", path=self._sink.name, field=kind
                )
        self._emitter.release()
        self._last_ts = int(batch.ts[-1])

    def finish(self) -> None:
        """Declare what no event has needed, and write the templates next to the stream."""
        self._declare(self._declared.follow())
        self._flush()
        companion = self._sink.companion(TEMPLATES_SUFFIX)
        if companion is None:
            return
        classes = [one.event_class for one in self._classes]
        lines = [class_line(number, one) for number, one in enumerate(classes)]
        companion.write(b"".join([OWN_MAGIC, *lines, shared_templates(classes)]))
        companion.close()

    def _flush(self) -> None:
        if self._emitter.size:
            self._sink.write(self._emitter.take())

    def _declare(self, text: bytes) -> None:
        """Put lines into entries of the metadata hook, the last of which marks the end of the text."""
        for start in range(0, len(text), MAX_DATA):
            part = text[start : start + MAX_DATA]
            kind = DECLARATION if start + MAX_DATA >= len(text) else DECLARATION_PART
            self._emitter.metadata(kind, part, self._last_ts)

    def _put_conversion(self) -> None:
        """Write hook 00A, subhook 25C, the conversion of timestamps to nanoseconds, if its words can express it."""
        rate = self._trace.clock.ticks_per_second
        if rate is None:
            return
        factor = _NANOSECONDS / rate
        if factor.numerator < _U64 and factor.denominator < _U64:
            words = (factor.numerator, factor.denominator, CONVERSION_TYPE)
            self._emitter.generic(
                UTIL_HOOK, CONVERSION, b"".join(word.to_bytes(8, "big") for word in words), 0
            )

    def _follow_threads(self) -> None:
        threads, processes = self._trace.threads, self._trace.processes
        new = threads[len(self._tids) :]
        if new:
            for thread in new:
                self._pid_of_tid.setdefault(thread.tid, processes[thread.process].pid)
            self._tids = np.append(self._tids, np.array([one.tid for one in new], np.uint64))

    def _add_class(self, id: int) -> bytes:
        """Add a class with the next number and a program; return its declaration and template."""
        event_class = self._trace.event_classes[id]
        number = len(self._classes)
        if number >= _MAX_CLASSES:
            raise UnsupportedError(
                "more event classes than user hooks can tell apart", format="aix"
            )
        try:
            added = _Class(event_class, number)
        except ValueError as error:
            kind = event_class.kind.name.lower()
            raise UnsupportedError(str(error), format="aix", field=kind) from error
        hook, word = place_of(number)
        self._emitter.add_program(
            hook, word, event_class.timed, added.forms, added.nodes.count, added.following
        )
        self._classes.append(added)
        self._numbers[id] = number
        return class_line(number, event_class) + class_template(number, event_class)

    def _bind(self, one: _Class, table: Table, batch: Batch, id: int) -> None:
        columns = bound(one.nodes, [table.column(i) for i in range(table.width)])
        if one.hook is not None and one.hook.pid_of is not None:
            columns.append(self._pids(one, one.hook, table, batch, id))
        self._emitter.bind(one.number, len(table), columns)

    def _pids(
        self, one: _Class, hook: DocumentedHook, table: Table, batch: Batch, id: int
    ) -> NDArray[np.uint64]:
        """Return the process IDs for a class's thread IDs, 0 where none is known."""
        if hook.pid_of is Role.NONE:
            processes = [self._trace.processes[each.process].pid for each in self._trace.threads]
            # The last entry is for events without a thread.
            return np.array([*processes, 0], np.uint64)[batch.thread[batch.positions(id)]]
        index = field_of(one.event_class, hook.pid_of)
        assert index is not None
        tids = table.column(index)
        assert isinstance(tids, np.ndarray)
        distinct, numbers = np.unique(tids, return_inverse=True)
        mask = _U64 - 1
        pids = [self._pid_of_tid.get(tid & mask, 0) & mask for tid in distinct.tolist()]
        return np.array(pids, np.uint64)[numbers]


class _Class:
    """An event class of the output: its nodes, and the documented hook that follows each of its events.

    The kernel's last node, after those of the fields, is the process ID of that hook, if it has one.

    Raises:
        ValueError: its fields cannot be declared.

    """

    def __init__(self, event_class: EventClass, number: int) -> None:
        self.event_class = event_class
        self.number = number
        self.nodes = Nodes(event_class.fields)
        self.forms = list(self.nodes.forms)
        self.hook = hook = documented_hook(event_class)
        self.following: tuple[Any, ...] | None = None
        if hook is None:
            return

        def place(role: Role | None, *, text: bool = False) -> int:
            index = field_of(event_class, role, text=text)
            return -1 if index is None else index

        words = [place(role) for role in hook.words]
        if hook.pid_of is not None:
            words[0] = len(self.forms)
            self.forms.append((NUMBER, 8, False, 0, 0, -1))
        self.following = (
            hook.id,
            hook.text is not None,
            words,
            place(hook.hookdata),
            place(hook.text, text=True),
            place(hook.tid),
        )


class _Declared:
    """Tracks which processes, threads and tracks the output declares, and how."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._processes: list[Process] = []
        self._threads: list[tuple[int, str]] = []
        self._tracks = 0

    def follow(self) -> bytes:
        """Return the lines for what is new, or has got a name."""
        trace = self._trace
        lines = []
        for number, process in enumerate(trace.processes):
            if number < len(self._processes) and self._processes[number] == process:
                continue
            lines.append(process_line(number, process))
            kept = Process(process.pid, process.name, process.parent_pid, process.command_line)
            self._processes[number : number + 1] = [kept]
        for number, thread in enumerate(trace.threads):
            state = _state(thread)
            if number < len(self._threads) and self._threads[number] == state:
                continue
            lines.append(thread_line(number, thread))
            self._threads[number : number + 1] = [state]
        for number in range(self._tracks, len(trace.tracks)):
            track: Track = trace.tracks[number]
            lines.append(track_line(number, track))
        self._tracks = len(trace.tracks)
        return b"".join(lines)


def _state(thread: Thread) -> tuple[int, str]:
    return thread.process, thread.name
