"""Writes the representation: new entries of the tables, then the batch, and the tail at the end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Final, Self

import numpy as np

from converter.formats.ir import MAGIC, layout
from converter.formats.ir import messages as pb
from converter.formats.ir.classes import pack_class
from converter.formats.ir.columns import pack_column, pack_list
from converter.formats.ir.numbers import pack
from converter.formats.ir.values import (
    encoded,
    pack_clock,
    pack_entries,
    pack_warning,
    set_number,
)
from converter.formats.table import keeps_symbols, portable_sidecar, travelling_sidecar
from converter.ir.collect import collect
from converter.ir.columns import list_of_bytes
from converter.ir.events import Batch, decode
from converter.ir.semantics import semantics_form
from converter.ir.symbols import SymbolNames
from converter.ir.trace import Process, Thread, Trace, Track
from converter.storage.pool.workers import Future, TaskGroup
from converter.storage.sink import Sink

#: The first new string: every string table has the empty one.
_FIRST_STRING: Final = 1
#: Bytes of strings that are repeated at the end.
_REPEATED: Final = 1 << 20
#: Batches that are queued for packing.
_WAITING: Final = 2


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write any trace, as records or, for the variant "json", as its canonical form.

    The canonical form is created in memory; records are streamed.

    Raises:
        TraceError: as `Trace.batches` does.

    """
    if variant == "json":
        from converter.ir.canonical import dump

        trace = replace(collect(trace), sidecar=portable_sidecar(trace))
        sink.write(dump(trace, sidecar=True).encode("utf-8", "surrogateescape"))
        return
    with RecordWriter(trace, sink.write) as records:
        for batch in trace.batches():
            records.add(batch)
        records.finish()


class RecordWriter:
    """Writes the records of a trace whose batches the caller iterates. A context manager that ends pending work."""

    def __init__(self, trace: Trace, put: Callable[[bytes], None]) -> None:
        self._trace = trace
        self._put = put
        self._events = 0
        self._strings = _FIRST_STRING
        self._classes = 0
        self._processes: list[tuple[str, int | None, tuple[str, ...]]] = []
        self._threads: list[str] = []
        self._tracks = 0
        self._pool = TaskGroup()
        self._pending: deque[Future[bytes]] = deque()
        header = pb.Header(
            magic=MAGIC,
            version=layout.VERSION,
            format=trace.format,
            variant=trace.variant,
            clock=pack_clock(trace.clock),
            semantics=pack_entries(semantics_form(trace.semantics)),
        )
        put(layout.frame(pb.Record(header=header).SerializeToString()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def add(self, batch: Batch) -> None:
        """Write a batch, which has just been iterated."""
        place = self._place()
        # Strings that decoding adds are stored before the batch.
        decode(batch)
        records = pb.Trace()
        self._pack_new(records.record.add().tables)
        self._submit(records, place, batch)
        self._events += len(batch)

    def finish(self) -> None:
        """Write what is complete only at the end."""
        place = self._place()
        trace = self._trace
        records = pb.Trace()
        self._pack_new(records.record.add().tables)
        tail = records.record.add().tail
        tail.events = self._events
        tail.environment.extend(pack_entries(trace.environment))
        tail.clock_domain.extend(map(pack_clock, trace.clock_domains))
        sidecar = travelling_sidecar(trace)
        tail.sidecar.extend(pack_entries(sidecar))
        tail.warning.extend(map(pack_warning, trace.warnings))
        if trace.symbols is not None and not keeps_symbols(trace, sidecar):
            addresses, names = trace.symbols.entries()
            tail.symbols.count = len(addresses)
            tail.symbols.exact = trace.symbols.exact
            pack(addresses, tail.symbols.address)
            held = names.as_list() if isinstance(names, SymbolNames) else list_of_bytes(names)
            pack_list(held, tail.symbols.names)
        _pack_all(trace, tail.tables)
        self._submit(records, place)
        while self._pending:
            self._put(self._pending.popleft().result())

    def _place(self) -> pb.Place:
        """Return the `Place` message of the next record."""
        return pb.Place(
            mark=layout.MARK,
            string=self._strings,
            process=len(self._processes),
            thread=len(self._threads),
            track=self._tracks,
            event_class=self._classes,
            events=self._events,
        )

    def _submit(self, records: pb.Trace, place: pb.Place, batch: Batch | None = None) -> None:
        self._pending.append(self._pool.submit(_packed, records, place, batch))
        while len(self._pending) > _WAITING:
            self._put(self._pending.popleft().result())

    def _pack_new(self, tables: pb.Tables) -> None:
        """Pack the new entries of the tables since the last call."""
        trace = self._trace
        tables.SetInParent()
        tables.string.extend(trace.strings[i] for i in range(self._strings, len(trace.strings)))
        tables.event_class.extend(map(pack_class, trace.event_classes[self._classes :]))
        tables.track.extend(
            _pack_track(i, trace.tracks[i]) for i in range(self._tracks, len(trace.tracks))
        )
        self._strings += len(tables.string)
        self._classes = len(trace.event_classes)
        self._tracks = len(trace.tracks)
        for i, process in enumerate(trace.processes):
            known = (process.name, process.parent_pid, process.command_line)
            if i >= len(self._processes):
                self._processes.append(known)
            elif self._processes[i] == known:
                continue
            self._processes[i] = known
            tables.process.append(_pack_process(i, process))
        for i, thread in enumerate(trace.threads):
            if i >= len(self._threads):
                self._threads.append(thread.name)
            elif self._threads[i] == thread.name:
                continue
            self._threads[i] = thread.name
            tables.thread.append(_pack_thread(i, thread))


def _pack_process(index: int, process: Process) -> pb.Process:
    message = pb.Process(
        index=index, name=encoded(process.name), command_line=map(encoded, process.command_line)
    )
    set_number(message, "pid", process.pid)
    if process.parent_pid is not None:
        set_number(message, "parent_pid", process.parent_pid)
    return message


def _pack_thread(index: int, thread: Thread) -> pb.Thread:
    message = pb.Thread(index=index, process=thread.process, name=encoded(thread.name))
    set_number(message, "tid", thread.tid)
    return message


def _pack_track(index: int, track: Track) -> pb.Track:
    message = pb.Track(
        index=index,
        name=encoded(track.name),
        scope=track.scope,
        owner=track.owner,
        parent=track.parent,
        unit=encoded(track.unit),
    )
    set_number(message, "identity", track.identity)
    return message


def _pack_all(trace: Trace, tables: pb.Tables) -> None:
    """Pack the tables again, for readers that miss a part; strings only if they are few."""
    left = _REPEATED
    for i in range(_FIRST_STRING, len(trace.strings)):
        left -= len(trace.strings[i])
        if left < 0:
            break
        tables.string.append(trace.strings[i])
    tables.process.extend(map(_pack_process, count(), trace.processes))
    tables.thread.extend(map(_pack_thread, count(), trace.threads))
    tables.track.extend(map(_pack_track, count(), trace.tracks))
    tables.event_class.extend(map(pack_class, trace.event_classes))


def _packed(records: pb.Trace, place: pb.Place, batch: Batch | None) -> bytes:
    """Return a record of others and a batch; this can run on another thread."""
    if batch is not None:
        _pack_batch(batch, records.record.add().batch)
    return layout.compressed(records, place)


def _pack_batch(batch: Batch, message: pb.Batch) -> None:
    """Fill a new message with a batch: in place, as assigning a message copies it."""
    message.count = len(batch)
    pack(batch.ts, message.ts, deltas=True)
    pack(batch.class_id, message.event_class)
    pack(batch.cpu, message.cpu)
    pack(batch.thread, message.thread)
    pack(batch.track, message.track)
    for number, table in batch.tables.items():
        if not len(table):
            continue
        held = message.table.add()
        held.event_class, held.rows = number, len(table)
        for i in range(table.width):
            pack_column(table.column(i), held.column.add())
    if not np.array_equal(batch.row, layout.rows_in_order(batch.class_id)):
        pack(batch.row, message.row)
