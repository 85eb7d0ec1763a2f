"""The task files of a part of a recording: the records that a selection has kept, as they are but for their times."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.uftrace.directory import DataDirectory
from converter.formats.uftrace.layout import RECORD_SIZE, TABLES_FILE, RecordType
from converter.formats.uftrace.mapping import EXECUTING, JUMPING
from converter.formats.uftrace.task_records import CallTable, TaskTable, located
from converter.formats.uftrace.writing.replay import copy_file
from converter.ir.distinct_values import values_of
from converter.ir.events import Batch, Table
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.kernels.batches.gather import Segments
from converter.selection.stacks import BEGIN, END, Stacks
from converter.storage.sink import Sink

_TASK_FILE: Final = re.compile(r"\d{1,10}\.dat", re.ASCII)
_PERF_FILE: Final = re.compile(r"perf-cpu\d{1,5}\.dat", re.ASCII)
#: The other files whose events are written again. Formats and symbols of the kernel are, if it has events.
_EVENT_FILE: Final = re.compile(r"kernel-cpu\d{1,5}\.dat|extern\.dat", re.ASCII)
_TIME_SIZE: Final = 8
#: Bits of a record's second word that an exit has otherwise than its entry.
_TYPE_AND_MORE: Final = 0b111


def recording_of(trace: Trace) -> DataDirectory | None:
    """Return the directory whose records can be copied into a part of it, if a trace was read from one.

    Records that another format's events became are not those of a recording; those of another byte order would need
    their values swapped.
    """
    directory = trace.sidecar.get("uftrace", {}).get("directory")
    if trace.format != "uftrace" or not isinstance(directory, DataDirectory):
        return None
    if directory.header.big_endian or TABLES_FILE in directory:
        return None
    return directory


def has_records(table: Table) -> bool:
    """Return True if a table of events of task files has their records."""
    return isinstance(table, TaskTable) and table.records is not None


class _OpenCalls:
    """The functions that tasks are in, where some have been left out: ends without a record need one, unless the
    function that has caused them is in the part.
    """

    def __init__(self, trace: Trace, never_left: NDArray[np.int32]) -> None:
        self._trace = trace
        self._never_left = never_left
        self._stacks = Stacks()
        #: By the number of an entry that is open: the second word of its record.
        self._words: dict[int, int] = {}
        #: By thread: when such a function was left last.
        self._causes: dict[int, int] = {}
        self._first = 0

    def exits(
        self,
        batch: Batch,
        span: NDArray[np.int64],
        size: NDArray[np.int64],
        number: int,
        buffers: list[NDArray[np.uint8]],
    ) -> NDArray[np.uint8]:
        """Return exits for ends of a batch, as buffer `number`; set their spans and sizes."""
        step = np.zeros(len(batch), np.int8)
        names = np.full(len(batch), -1, np.int32)
        for id, table in batch.tables.items():
            if isinstance(table, CallTable) and not table.closes:
                at = np.flatnonzero(batch.class_id == id)
                begins = self._trace.event_classes[id].kind is Kind.SLICE_BEGIN
                step[at] = BEGIN if begins else END
                names[at] = table.names[batch.row[at]]
        at = np.flatnonzero(step)
        closed = self._stacks.follow(
            batch.thread[at].astype(np.uint64),
            step[at],
            names[at].astype(np.int64) + 1,
            self._first + at,
            np.ones(len(at), np.int32),
        )
        words = self._begun_words(step, span, size, buffers)
        entries = np.full(len(batch), -1, np.int64)
        entries[at] = closed.number
        made = np.flatnonzero((step == END) & (size == 0) & (entries >= 0))
        made = made[~self._have_cause(batch, made, names[made])]
        found = entries[made] - self._first
        held = np.array([self._words.get(one, 0) for one in entries[made].tolist()], np.uint64)
        heads = np.where(found >= 0, words[np.maximum(found, 0)], held) if len(made) else held
        records = np.zeros((len(made), 2), "<u8")
        records[:, 1] = heads & ~np.uint64(_TYPE_AND_MORE) | np.uint64(RecordType.EXIT)
        span[made] = np.arange(len(made)) * RECORD_SIZE | number << 32
        size[made] = RECORD_SIZE
        self._keep_open(words)
        self._first += len(batch)
        return records.view(np.uint8).reshape(-1)

    def _begun_words(
        self,
        step: NDArray[np.int8],
        span: NDArray[np.int64],
        size: NDArray[np.int64],
        buffers: list[NDArray[np.uint8]],
    ) -> NDArray[np.uint64]:
        """Return the second words of the records of entries; 0 for other events."""
        words = np.zeros(len(step), np.uint64)
        begins = np.flatnonzero((step == BEGIN) & (size >= RECORD_SIZE))
        if len(begins):
            column = located(
                Segments(buffers),
                span[begins] + RECORD_SIZE // 2,
                np.full(len(begins), RECORD_SIZE // 2, np.int64),
            )
            assert isinstance(column.values, np.ndarray)
            words[begins] = column.values.view("<u8")
        return words

    def _have_cause(
        self, batch: Batch, made: NDArray[np.intp], names: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Return True for ends that a function is the cause of that is in the part, and left at the same time."""
        place = np.stack([batch.thread[made].astype(np.int64), batch.ts[made]])
        _, group = np.unique(place, axis=1, return_inverse=True)
        group = group.reshape(-1)
        causes = np.zeros(len(made) + 1, np.bool_)
        here = np.flatnonzero(np.isin(names, self._never_left))
        causes[group[here]] = True
        result = causes[group]
        if len(made):
            # The first of them may have been in the batch before.
            thread, ts = place[:, 0].tolist()
            result |= (group == group[0]) & (self._causes.get(thread) == ts)
        self._causes.update(place[:, here].T.tolist())
        return result

    def _keep_open(self, words: NDArray[np.uint64]) -> None:
        numbers, _ = self._stacks.open()
        self._words = {
            one: self._words[one] if one < self._first else int(words[one - self._first])
            for one in numbers.tolist()
        }


class RecordOutput:
    """Task files with the records of a recording."""

    def __init__(self, trace: Trace, sink: Sink, directory: DataDirectory) -> None:
        self._trace = trace
        self._sink = sink
        self._directory = directory
        self._files: dict[int, Sink] = {}
        # uftrace takes what a task does next to be elsewhere: nothing leaves the functions that it has been in.
        left_by = (*EXECUTING, *JUMPING)
        self._never_left = np.array([trace.strings.intern(name) for name in left_by], np.int32)
        #: Threads that are in such a function where the part ends.
        self._elsewhere: set[int] = set()
        self._open_calls = _OpenCalls(trace, self._never_left) if trace.filtered else None

    def write(self, batch: Batch) -> None:
        """Append the records of events.

        Raises:
            UnsupportedError: an event has no record.

        """
        span = np.zeros(len(batch), np.int64)
        size = np.zeros(len(batch), np.int64)
        closes = np.zeros(len(batch), np.bool_)
        names = np.zeros(len(batch), np.int32)
        buffers: list[NDArray[np.uint8]] = []
        for id, table in batch.tables.items():
            at = np.flatnonzero(batch.class_id == id)
            if not len(at):
                continue
            rows = batch.row[at]
            records = table.records if isinstance(table, TaskTable) else None
            if records is None:
                raise UnsupportedError(
                    "a part of a recording has only events of the recording",
                    path=self._sink.name,
                    field=self._trace.event_classes[id].kind.name.lower(),
                )
            assert isinstance(records.values, np.ndarray)
            span[at] = records.offsets[rows] | len(buffers) << 32
            size[at] = records.offsets[rows + 1] - records.offsets[rows]
            buffers.append(np.ascontiguousarray(records.values, np.uint8))
            if isinstance(table, CallTable) and table.closes:
                closes[at] = True
                names[at] = table.names[rows]
        ends = np.flatnonzero(closes)
        size[ends[self._stay_open(batch.thread[ends], names[ends])]] = 0
        if self._open_calls is not None:
            buffers.append(self._open_calls.exits(batch, span, size, len(buffers), buffers))
        # Ends that no record says have none here either.
        recorded = np.flatnonzero(size)
        order = recorded[np.argsort(batch.thread[recorded], kind="stable")]
        if not len(order):
            return
        column = located(Segments(buffers), span[order], size[order])
        data, offsets = column.values, column.offsets
        assert isinstance(data, np.ndarray)
        times = batch.ts[order].astype("<u8").view(np.uint8).reshape(-1, _TIME_SIZE)
        data[offsets[:-1, np.newaxis] + np.arange(_TIME_SIZE)] = times
        threads = batch.thread[order]
        for thread in values_of(threads).tolist():
            first, last = np.searchsorted(threads, [thread, thread + 1])
            self._file(thread).write(data[offsets[first] : offsets[last]].data)

    def _stay_open(self, threads: NDArray[np.int32], names: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return True for the functions, inner ones first, that are not left where the part ends."""
        order = np.argsort(threads, kind="stable")
        sorted_threads = threads[order]
        hides = np.isin(names[order], self._never_left)
        counts = np.cumsum(hides)
        first = np.searchsorted(sorted_threads, sorted_threads)
        stays = np.empty(len(threads), np.bool_)
        stays[order] = counts - (counts - hides)[first] > 0
        stays |= np.isin(threads, list(self._elsewhere))
        self._elsewhere.update(threads[stays].tolist())
        return stays

    def _file(self, thread: int) -> Sink:
        if thread not in self._files:
            name = f"{self._trace.threads[thread].tid}.dat"
            self._files[thread] = self._sink.create(name)
        return self._files[thread]

    @property
    def threads(self) -> list[int]:
        """The threads that have records."""
        return sorted(self._files)

    def finish(self, perf_files: Iterable[str], *, has_kernel_events: bool) -> None:
        """Copy the files that have no events; tasks and CPUs of perf without any have an empty file."""
        written = {f"{self._trace.threads[thread].tid}.dat" for thread in self._files}
        written.update(perf_files)
        for name in self._directory.readable_names():
            if _TASK_FILE.fullmatch(name) or _PERF_FILE.fullmatch(name):
                if name not in written:
                    self._sink.create(name).close()
            elif not _EVENT_FILE.fullmatch(name) and not (
                has_kernel_events and name in ("kernel_header", "kallsyms")
            ):
                copy_file(self._directory, name, self._sink)
