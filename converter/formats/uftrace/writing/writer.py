"""Writes a data directory: the files that an unchanged trace was read from, or new ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, UnsupportedError
from converter.formats.ftrace.event_format.event_classes import unknown_type
from converter.formats.uftrace.directory import DataDirectory
from converter.formats.uftrace.layout import FIRST_USER_EVENT, TABLES_FILE, Feature
from converter.formats.uftrace.mapping import CALLSITE
from converter.formats.uftrace.side_table import Tables, build_tables
from converter.formats.uftrace.writing.info import build_info
from converter.formats.uftrace.writing.kernel_files import (
    KernelOutput,
    is_kernel_record,
    is_little_endian,
    other_tasks,
)
from converter.formats.uftrace.writing.libraries import OpenedLibraries
from converter.formats.uftrace.writing.parts import RecordOutput, has_records, recording_of
from converter.formats.uftrace.writing.perf_files import (
    ExternalOutput,
    PerfOutput,
    is_external_line,
    is_perf_record,
)
from converter.formats.uftrace.writing.replay import replay, unchanged_directory
from converter.formats.uftrace.writing.slices import SliceOutput, is_task_record
from converter.formats.uftrace.writing.symbols import (
    DEBUG_FILE,
    SYMBOLS_FILE,
    debug_text,
    symbols_text,
)
from converter.formats.uftrace.writing.tasks import (
    SESSION,
    Tasks,
    name_records,
    session_map,
    task_lines,
)
from converter.ir.distinct_values import values_of
from converter.ir.events import Batch, EventClass, Table
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up
from converter.projection.losses import LossReport
from converter.storage.sink import Sink

#: The kinds of files to which events of a class are written.
_TASK: Final = 0
_KERNEL: Final = 1
_PERF: Final = 2
_EXTERNAL: Final = 3
_LEFT_OUT: Final = 4

#: The number of batches, from the first, among which events of task files are looked for.
_LOOKED_AT: Final = 8
#: The deepest stack that uftrace shows by default.
_USUAL_DEPTH: Final = 1024


def write(
    trace: Trace,
    sink: Sink,
    variant: str,  # noqa: ARG001 - there is one
) -> LossReport:
    """Write a data directory from a trace that was projected to the format, or that was read from it.

    For the latter, the report has the data for which a new directory has no place.

    Raises:
        UnsupportedError: an event has no place in a directory.
        OutputError: the sink cannot be written to.
        TraceError: as `Trace.batches` does.

    """
    directory = unchanged_directory(trace)
    try:
        if directory is not None:
            replay(directory, sink)
            return LossReport()
        recording = recording_of(trace)
        if recording is None:
            return _written(_NewDirectory(trace, sink), trace.batches())
        kept = recording.keeps_records
        recording.keep_records()
        try:
            batches = trace.batches()
            first, is_part = _first_batches(trace, batches)
            output = _Part(trace, sink, recording) if is_part else _NewDirectory(trace, sink)
            return _written(output, chain(first, batches))
        finally:
            recording.keeps_records = kept
    except TraceError as error:
        raise error.within(format="uftrace") from None


def _written(output: _Output, batches: Iterable[Batch]) -> LossReport:
    """Write all batches; return the losses."""
    try:
        for batch in batches:
            output.write(batch)
        output.finish()
        return output.losses
    finally:
        output.close()


def _first_batches(trace: Trace, batches: Iterable[Batch]) -> tuple[list[Batch], bool]:
    """Return the first batches, and True if they are part of a recording: if they have records of task files as these
    were read. Without any record uftrace has nothing to show.
    """
    first = []
    for batch in islice(batches, _LOOKED_AT):
        first.append(batch)
        tables = [
            table
            for id, table in batch.tables.items()
            if len(table) and is_task_record(trace.event_classes[id])
        ]
        if tables:
            return first, all(has_records(table) for table in tables)
    return first, len(first) == _LOOKED_AT


class _Output:
    """A directory under construction: the files of each kind of events. Subclasses add all others at the end."""

    def __init__(
        self, trace: Trace, sink: Sink, tasks: Tasks, slices: SliceOutput | RecordOutput
    ) -> None:
        self._trace = trace
        self._sink = sink
        self._tasks = tasks
        self._task_files = slices
        self._kernel = KernelOutput(trace, self._tasks)
        self._perf = PerfOutput(trace, sink)
        self._external = ExternalOutput(trace, sink)
        #: By class id: the kind of file of its events.
        self._places: NDArray[np.int32] = np.zeros(0, np.int32)
        self._start: int | None = None
        self._end = 0
        self._cpus = 1
        #: By thread (-1: none): the time of its last event in the kernel's files.
        self._last: dict[int, int] = {}
        self.losses = LossReport()

    def write(self, batch: Batch) -> None:
        """Append a batch's events."""
        if not len(batch):
            return
        self._place(batch)
        if (batch.ts[1:] < batch.ts[:-1]).any():
            # Separately recorded threads share files here, whose records are in time order.
            batch = _selected(batch, np.argsort(batch.ts, kind="stable"), set(batch.tables))
        start, end = int(batch.ts[0]), int(batch.ts[-1])
        self._start = start if self._start is None else min(start, self._start)
        self._end = max(self._end, end)
        self._cpus = max(self._cpus, int(batch.cpu.max()) + 1)
        outputs = looked_up(self._places, batch.class_id)
        for output in values_of(outputs).tolist():
            classes = {id for id in batch.tables if self._places[id] == output}
            part = batch
            if len(classes) < len(batch.tables):
                part = _selected(batch, np.flatnonzero(outputs == output), classes)
            if output == _TASK:
                self._task_files.write(part)
            elif output == _KERNEL:
                self._kernel.write(part)
                self._note_last(part)
                self._note_tasks(part)
            elif output == _PERF:
                self._perf.write(part)
            elif output == _LEFT_OUT:
                self._leave_out(part)
            else:
                self._external.write(part)

    def finish(self) -> None:
        """Write the files whose content is known only at the end."""
        raise NotImplementedError

    def close(self) -> None:
        """Delete temporary files."""
        self._kernel.close()

    def _place(self, batch: Batch) -> None:
        """Determine the kind of file for the events of new classes."""
        new = range(len(self._places), len(self._trace.event_classes))
        self._places = np.append(self._places, np.full(len(new), -1, np.int32))
        for id in batch.tables:
            if self._places[id] < 0 and len(batch.tables[id]):
                self._places[id] = self._output_of(self._trace.event_classes[id], batch.tables[id])

    def _output_of(self, event_class: EventClass, table: Table) -> int:
        if is_task_record(event_class):
            return _TASK
        if is_perf_record(event_class):
            return _PERF
        if is_external_line(event_class):
            return _EXTERNAL
        if unknown_type(event_class) is not None and not is_little_endian(event_class, table):
            return _LEFT_OUT
        if is_kernel_record(event_class):
            return _KERNEL
        raise UnsupportedError(
            "no file holds events of this class",
            path=self._sink.name,
            field=event_class.kind.name.lower(),
        )

    def _leave_out(self, batch: Batch) -> None:
        """Count records whose byte order cannot be converted."""
        for name, _, here in self._unknown(batch):
            self.losses.add_at("native-big-endian", self._trace, batch, here, name=name)

    def _note_tasks(self, batch: Batch) -> None:
        """Count records that stay unchanged although their tasks have other numbers here."""
        for name, table, here in self._unknown(batch):
            numbers = self._tasks.numbers_of(batch.thread[here])
            count = other_tasks(table, batch.row[here], numbers)
            self.losses.add("native-thread", count, int(batch.ts[here[0]]), name=name)

    def _unknown(self, batch: Batch) -> Iterator[tuple[str, Table, NDArray[np.intp]]]:
        """Yield name, table and event positions of each class that no format describes."""
        for id, table in batch.tables.items():
            event_class = self._trace.event_classes[id]
            if unknown_type(event_class) is not None:
                here = np.flatnonzero(batch.class_id == id)
                if len(here):
                    yield event_class.name, table, here

    def _note_last(self, batch: Batch) -> None:
        last = np.full(int(batch.thread.max()) + 2, -1, np.int64)
        np.maximum.at(last, batch.thread + 1, batch.ts)
        for thread in np.flatnonzero(last >= 0).tolist():
            self._last[thread - 1] = max(self._last.get(thread - 1, -1), int(last[thread]))


class _NewDirectory(_Output):
    """A recording of one program, whose functions are the slices of any trace."""

    def __init__(self, trace: Trace, sink: Sink) -> None:
        tasks = Tasks(trace)
        self._slices = SliceOutput(trace, sink, tasks)
        super().__init__(trace, sink, tasks, self._slices)

    def write(self, batch: Batch) -> None:
        """Append a batch's events."""
        super().write(batch)
        for id in batch.tables:
            if self._trace.event_classes[id] == CALLSITE:
                # Addresses in the new directory are others.
                at = np.flatnonzero(batch.class_id == id)
                self.losses.add_at("call-site", self._trace, batch, at)

    def finish(self) -> None:
        """Write the files whose content is known only at the end."""
        start = self._start or 0
        tables = Tables()
        if not self._slices.has_functions:
            # Some commands of uftrace need a record, some a function.
            first = min(self._last, default=-1)
            time = max(self._last.get(first, start), start)
            self._slices.mark_function(first, time + 1)
        named = self._slices.user_events()
        mark = FIRST_USER_EVENT + len(named)
        if self._last:
            self._slices.mark_end(self._last, mark)
            tables.end_event = mark
        symbols = self._slices.fill_tables(tables)
        tables.forks = self._slices.has_forked
        libraries = OpenedLibraries(symbols, has_forked=tables.forks)
        libraries.write(self._sink)
        features = Feature.TASK_SESSION | Feature.SYM_REL_ADDR | Feature.MAX_STACK
        self._write(SYMBOLS_FILE, *symbols_text(symbols))
        if any(symbol.arguments or symbol.returned for symbol in symbols):
            features |= Feature.ARGUMENT | Feature.RETVAL | Feature.AUTO_ARGS
        if any(symbol.has_details for symbol in symbols):
            features |= Feature.DEBUG_INFO
            self._write(DEBUG_FILE, *debug_text(symbols))
        events = [*named, ("end", "traceconv")] if self._last else named
        tables.events = {FIRST_USER_EVENT + i: pair for i, pair in enumerate(named)}
        if events:
            features |= Feature.EVENT
            self._write("events.txt", _events_text(events))
        options = []
        if self._kernel.has_events:
            features |= Feature.KERNEL | Feature.EVENT
            # Otherwise uftrace shows them only inside functions.
            options += ["--kernel-full", "--event-full"]
            self._kernel.finish(self._sink)
            tables.kernel_names = self._kernel.renamed
        if self._slices.max_depth >= _USUAL_DEPTH:
            depth = min(self._slices.max_depth + 1, 0xFFFF)
            # The second option is the capacity of its flame graph.
            options += [f"-D {depth}", f"--max-stack={depth}"]
        self._write("default.opts", (" ".join(options) + "\n").encode("ascii") if options else b"")
        threads = sorted(self._slices.threads)
        tables.perf_events = self._perf.has_events
        if tables.perf_events:
            features |= Feature.PERF_EVENT
        elif names := name_records(self._trace, self._tasks, threads, self._end + 2):
            features |= Feature.PERF_EVENT
            self._write("perf-cpu0.dat", names)
        opened = [(one.path, one.base) for one in libraries.opened]
        self._write("task.txt", task_lines(self._trace, self._tasks, threads, start, opened))
        self._write(f"sid-{SESSION}.map", session_map(len(symbols), libraries.map_lines()))
        numbers = [self._tasks.number(thread) for thread in threads]
        self._write(
            "info",
            build_info(
                self._trace.environment,
                numbers,
                features=features,
                cpu_count=self._cpus,
                max_stack=self._slices.max_depth + 1,
                start=start,
                end=self._end,
                epoch_ns=self._trace.clock.epoch_ns,
            ),
        )
        tables.no_thread = self._tasks.no_thread
        self._write(TABLES_FILE, build_tables(self._trace, self._tasks, tables))

    def _write(self, name: str, *parts: bytes) -> None:
        with self._sink.create(name) as output:
            for part in parts:
                output.write(part)


class _Part(_Output):
    """A part of a recording, in a copy of its directory."""

    def __init__(self, trace: Trace, sink: Sink, recording: DataDirectory) -> None:
        self._records = RecordOutput(trace, sink, recording)
        self._has_perf_files = bool(recording.header.features & Feature.PERF_EVENT)
        super().__init__(trace, sink, Tasks(trace), self._records)

    def finish(self) -> None:
        """Copy the files that have no events, and keep the names of tasks from before the part."""
        if self._has_perf_files:
            threads = [thread for thread in self._records.threads if self._is_renamed(thread)]
            names = name_records(self._trace, self._tasks, threads, self._end + 2)
            self._perf.append(names)
        self._kernel.finish(self._sink)
        self._records.finish(self._perf.files, has_kernel_events=self._kernel.has_events)

    def _is_renamed(self, thread: int) -> bool:
        """Return True if nothing in the part says what a thread is called."""
        known = self._trace.threads[thread]
        return (
            known.name != self._trace.processes[known.process].name
            and known.tid not in self._perf.named
        )


def _selected(batch: Batch, which: NDArray[np.intp], classes: set[int]) -> Batch:
    """Return some events of a batch, of these classes; rows keep their positions in their tables."""
    return Batch(
        ts=np.ascontiguousarray(batch.ts[which]),
        class_id=batch.class_id[which],
        row=batch.row[which],
        tables={id: batch.tables[id] for id in classes},
        thread=batch.thread[which],
        cpu=batch.cpu[which],
        track=batch.track[which],
    )


def _events_text(events: list[tuple[str, str]]) -> bytes:
    """Return events.txt; a space would end a name, a colon the provider's."""
    lines = []
    for number, (name, category) in enumerate(events):
        provider = _word(category).replace(":", "_") or "traceconv"
        lines.append(f"EVENT: {FIRST_USER_EVENT + number} {provider}:{_word(name) or 'unnamed'}\n")
    return "".join(lines).encode("utf-8", "surrogateescape")


def _word(text: str) -> str:
    return "_".join(text.replace("\0", " ").split())
