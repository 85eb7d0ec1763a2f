"""Reads a data directory of uftrace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from converter.errors import RemarkError, TraceError
from converter.formats.ftrace.event_format.gathers import columns_of
from converter.formats.ftrace.event_format.record_tables import RecordColumns
from converter.formats.uftrace.arguments.shown_values import SymbolNames
from converter.formats.uftrace.arguments.specifications import SpecificationLists
from converter.formats.uftrace.directory import INFO_FILE, DataDirectory
from converter.formats.uftrace.info import Info, parse_info
from converter.formats.uftrace.layout import (
    MAGIC,
    TABLES_FILE,
    Feature,
    PerfType,
    parse_header,
)
from converter.formats.uftrace.mapping import (
    DISCARDED,
    EXTERNAL,
    FORKING,
    NATIVE,
    SOURCE_LINE,
    USER_EVENT_WITH_DATA,
    slice_begin,
    slice_end,
    unmatched_end,
    watched_variable,
)
from converter.formats.uftrace.reading.batches import (
    Pass,
    ReadyStream,
    Recording,
    TaskStream,
)
from converter.formats.uftrace.reading.event_names import event_names
from converter.formats.uftrace.reading.event_streams import (
    EXTERNAL_FILE,
    EXTERNAL_GATHERS,
    PERF_CLASSES,
    ExternalStream,
    PerfStream,
    perf_files,
    prescan_perf_file,
)
from converter.formats.uftrace.reading.functions import Functions
from converter.formats.uftrace.reading.seeking import TaskSeeking
from converter.formats.uftrace.reading.task_tables import add_known_tasks, add_tasks
from converter.formats.uftrace.reading.windows import window_size
from converter.formats.uftrace.symbols.symbol_files import Modules, space_times
from converter.formats.uftrace.task_sessions import Tasks, parse_binary_tasks, parse_tasks
from converter.ir.events import Batch
from converter.ir.semantics import Semantics
from converter.ir.trace import ClockDomain, Trace
from converter.kernels.tables.tasks import TaskTable
from converter.limits import allowed
from converter.storage.pool.workers import TaskGroup
from converter.storage.source import Source

if TYPE_CHECKING:
    from converter.formats.uftrace.reading.kernel_files import KernelFiles
    from converter.formats.uftrace.side_table import Tables

_KERNEL_FILE = re.compile(r"kernel-cpu\d{1,5}\.dat", re.ASCII)
_TASK_FILE = re.compile(r"(\d{1,10})\.dat", re.ASCII)
_AS_ESTIMATED = (
    "exits have the times that the recorder has estimated (--estimate-return): where a task was off the CPU, uftrace"
    " shows them later"
)
_NANOSECONDS = 1_000_000_000
_MOST_OFFSET = 1 << 33


def read(source: Source, srcline: str = "") -> Trace:
    """Read a data directory, which is given itself or by its `info`.

    Args:
        source: the directory or file.
        srcline: "yes" or "no", for functions with or without their source locations; by default "yes" for recordings
            made with `--srcline` and without automatic arguments, whose .dbg files have no other use.

    Raises:
        TraceError: there is no `info`, or its header is invalid, or the directory has no records.

    """
    try:
        if srcline not in ("", "yes", "no"):
            raise TraceError(field="srcline", expected="yes or no", found=srcline)
        if source.is_directory:
            return _Reader(source, srcline).trace
        if source.read(0, len(MAGIC)) != MAGIC:
            raise TraceError(offset=0, field="info.magic", expected="Ftrace!")
        folder = source.beside()
        if folder is None:
            raise TraceError("the other files of the directory are not at hand: give its path")
        return _Reader(folder, srcline).trace
    except TraceError as error:
        raise error.within(format="uftrace", path=source.name) from error


class _Reader:
    """A directory being read. Perf and kernel files are prescanned when batches are first requested."""

    def __init__(self, source: Source, srcline: str) -> None:
        self.trace = Trace("uftrace", make_batches=self._batches)
        trace = self.trace
        with source.open(INFO_FILE) as file:
            text = file.read(0, file.size)
        header = parse_header(text)
        directory = self._directory = DataDirectory(source, header, trace.warnings)
        trace.source_batches = trace.make_batches
        trace.in_time_order = True
        # A forked task leaves the functions that its parent has entered.
        trace.semantics = Semantics(lone_ends=True)
        trace.sidecar["uftrace"] = {"directory": directory}
        trace.keep_records = directory.keep_records
        self._info = parse_info(
            text[header.header_size :], header.header_size, directory.warn_of_info
        )
        self._source_lines = srcline == "yes" or (not srcline and not self._info.auto_args)
        self._order = ">" if header.big_endian else "<"
        self._tables = self._read_tables()
        if self._tables is not None and self._tables.forks is not None:
            directory.meanings = frozenset(FORKING if self._tables.forks else ())
        self._sessions = self._read_tasks()
        self._kernel = self._read_kernel()
        self._set_clock(self._info)
        trace.environment = dict(
            self._info.environment if self._tables is None else self._tables.trace.environment
        )
        if self._kernel is not None:
            trace.symbols = self._kernel.symbols
        self._recording: Recording | None = None
        self._task_table = TaskTable()
        self._task_files = self._find_task_files()
        self._seeking = trace.seeking = TaskSeeking(directory, self._task_files)
        self._streams: list[tuple[int, int, list[tuple[int, int]]]] = []
        self._total = 0
        self._done: Callable[[], int] = lambda: 0
        trace.progress = lambda: (self._done(), self._total)

    def _read_tables(self) -> Tables | None:
        """Return the side table of a directory that was made from another format's trace."""
        data = self._directory.read_if_there(TABLES_FILE)
        if data is None:
            return None
        # Imported here: recordings have no tables, and the module takes time to import.
        from converter.formats.uftrace.side_table import read_tables

        try:
            return read_tables(data)
        except TraceError as error:
            self._directory.warn(error, TABLES_FILE)
            return None

    def _read_tasks(self) -> Tasks:
        for name in ("task.txt", "task"):
            text = self._directory.read_if_there(name)
            if text is None:
                continue

            def warn(error: TraceError, name: str = name) -> None:
                self._directory.warn(error, name)

            if name == "task":
                return parse_binary_tasks(text, self._order, warn)
            return parse_tasks(text, warn)
        self._directory.warn(
            TraceError("there is no task.txt: functions are addresses", field="task.txt")
        )
        return Tasks()

    def _read_kernel(self) -> KernelFiles | None:
        if not any(_KERNEL_FILE.fullmatch(name) for name in self._directory.names):
            return None
        # Imported here: few recordings have kernel files, and the module takes time to import.
        from converter.formats.uftrace.reading.kernel_files import KernelFiles

        try:
            names = {} if self._tables is None else self._tables.kernel_names
            return KernelFiles(self._directory, names)
        except TraceError as error:
            self._directory.warn(error)
            return None

    def _set_clock(self, info: Info) -> None:
        trace = self.trace
        if self._tables is not None:
            trace.clock = self._tables.trace.clock
            trace.clock_domains = self._tables.trace.clock_domains
            return
        epoch = None
        if info.utc_offset is not None:
            if abs(info.utc_offset) < _MOST_OFFSET:
                epoch = info.utc_offset * _NANOSECONDS
            else:
                self._directory.warn_of_info(
                    TraceError("not an offset to 1970", field="info.utc_offset")
                )
        trace.clock = ClockDomain("mono", epoch_ns=epoch)
        trace.clock_domains = [trace.clock]

    def _find_task_files(self) -> list[int]:
        """Return the tasks that have a file, those of `info` first."""
        there = {
            int(match[1])
            for name in self._directory.names
            if (match := _TASK_FILE.fullmatch(name)) and int(match[1]) < 1 << 31
        }
        for tid in self._info.tids:
            if tid not in there and self._tables is None:
                self._directory.warn(
                    TraceError("the file of a task is missing", field=f"{tid}.dat")
                )
        listed = [tid for tid in self._info.tids if tid in there]
        return [*listed, *sorted(there - set(listed))]

    # Before the first batch

    def _prepare(self) -> Recording:
        directory, trace = self._directory, self.trace
        perf_counts = np.zeros(32, np.int64)
        if self._tables is None or self._tables.perf_events:
            for name in perf_files(directory):
                try:
                    prescan_perf_file(directory, name, self._task_table, perf_counts)
                except TraceError as error:
                    directory.warn(error)
        names = {task[0]: task[1] for task in self._task_table.tasks() if task[1]}
        if self._kernel is not None:
            kernel_tasks = self._kernel.prescan()
            for pid, task_name, *_ in kernel_tasks.tasks():
                if task_name:
                    names.setdefault(pid, task_name)
            self._task_table.absorb(kernel_tasks)
        texts = {pid: name.decode("utf-8", "surrogateescape") for pid, name in names.items()}
        if self._tables is not None:
            add_known_tasks(trace, self._tables, self._task_table)
        else:
            add_tasks(trace, self._sessions, self._task_files, texts, self._task_table)
        specifications = SpecificationLists(
            self._info,
            directory.header.long_size,
            debug=bool(directory.header.features & Feature.DEBUG_INFO),
            warn=directory.warn_of_info,
        )
        functions = Functions(
            trace,
            specifications,
            self._tables,
            directory.warn,
            source_lines=self._source_lines,
        )
        plain = np.array(
            [
                functions.class_id(event_class)
                for event_class in (
                    slice_begin(()),
                    slice_end(()),
                    slice_end(()) if self._tables is not None else unmatched_end(()),
                    DISCARDED,
                    NATIVE,
                    USER_EVENT_WITH_DATA,
                    *(watched_variable(size) for size in (1, 2, 4, 8)),
                    slice_begin((SOURCE_LINE,) if self._source_lines else ()),
                )
            ],
            np.int32,
        )
        events = list(event_names(directory, trace.strings, functions, self._tables))
        columns: dict[int, RecordColumns] = {}
        self._perf_classes = np.full(32, -1, np.int32)
        for kind, (event_class, gathers) in PERF_CLASSES.items():
            if perf_counts[kind]:
                id = trace.add_class(event_class)
                self._perf_classes[kind] = id
                columns[id] = columns_of(gathers)
        self._external_class = -1
        if EXTERNAL_FILE in directory:
            self._external_class = trace.add_class(EXTERNAL)
            columns[self._external_class] = columns_of(EXTERNAL_GATHERS)
        if self._kernel is not None:
            self._kernel.add_classes(trace)
        modules = Modules(directory)
        spaces = self._find_spaces(modules)
        return Recording(
            trace,
            functions,
            modules.all,
            spaces,
            SymbolNames(modules.all, spaces),
            events,
            plain,
            directory.header.big_endian,
            self._tables is None,
            int(self._perf_classes[PerfType.EXIT]),
            self._tables is None,
            columns,
            None if self._kernel is None else self._kernel.classes,
            self._kernel is not None and self._kernel.big_endian,
            directory.warn,
        )

    def _find_spaces(self, modules: Modules) -> list[list[tuple[int, int, int, int]]]:
        """Return the address spaces of all sessions, and set those of each task file by start time."""
        spaces: list[list[tuple[int, int, int, int]]] = [[]]
        session_spaces: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for tid in self._task_files:
            times: list[tuple[int, int]] = []
            sessions = self._sessions.session_times(tid)
            if self._sessions.lost:
                what, expected = "tasks without their session", allowed("uftrace.ancestors")
                self._directory.warn(RemarkError(what, expected=expected))
            for position, (start, session) in enumerate(sessions):
                key = session.sid, start
                if key not in session_spaces:
                    session_spaces[key] = []
                    for time, libraries in space_times(session, start, self._directory.warn):
                        session_spaces[key].append((time, len(spaces)))
                        spaces.append(modules.space(session, libraries))
                end = sessions[position + 1][0] if position + 1 < len(sessions) else None
                times += [item for item in session_spaces[key] if end is None or item[0] < end]
            self._streams.append((tid, self._task_table.thread_of(tid), times or [(0, 0)]))
        return spaces

    # The passes

    def _batches(self) -> Iterator[Batch]:
        if self._recording is None:
            self._recording = self._prepare()
        directory, recording = self._directory, self._recording
        perf = perf_files(directory)
        if self._tables is not None and not self._tables.perf_events:
            perf = []
        kernel_count = 0 if self._kernel is None else 1
        count = len(self._streams) + len(perf) + kernel_count + 1
        tasks = []
        size = window_size(count * self.trace.readers)
        with TaskGroup() as pool:
            for tid, thread, times in self._streams:
                try:
                    windows = self._seeking.windows(tid, size)
                except TraceError as error:
                    directory.warn(error)
                    continue
                tasks.append(
                    TaskStream(
                        windows,
                        thread,
                        np.array([time for time, _ in times], np.int64),
                        np.array([space for _, space in times], np.int32),
                    )
                )
            ready: list[ReadyStream] = []
            for name in perf:
                try:
                    ready.append(
                        PerfStream(directory, name, self._perf_classes, self._task_table, count)
                    )
                except TraceError as error:
                    directory.warn(error)
            if self._kernel is not None:
                ready += self._kernel.streams(self.trace, self._task_table, pool)
            if self._external_class >= 0:
                try:
                    ready.append(ExternalStream(directory, self._external_class, count))
                except TraceError as error:
                    directory.warn(error)
            self._total = sum(task.windows.source.size for task in tasks)
            self._done = lambda: sum(task.windows.start for task in tasks)
            estimated = bool(directory.header.features & Feature.ESTIMATE_RETURN)
            switch_class = -1
            if estimated and not directory.keeps_records:
                switch_class = int(self._perf_classes[PerfType.SWITCH])
                if switch_class >= 0 and self._kernel is not None:
                    directory.warn(RemarkError(_AS_ESTIMATED))
                    switch_class = -1
            current = Pass(
                recording,
                tasks,
                ready,
                switch_class,
                directory.header.max_stack,
                keeps_records=directory.keeps_records,
            )
            while (batch := current.next()) is not None:
                yield batch
                del batch
        if not current.delivered and current.first_damage is not None:
            raise current.first_damage
        if not tasks and not ready:
            raise TraceError("there are no records", path=directory.source.name)
