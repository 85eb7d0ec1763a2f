"""Processes and threads: named by the contexts of records, or tracked through the scheduler's events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.ctf import zephyr
from converter.formats.ctf.side_table import SideTable
from converter.formats.ctf.streams.columns import texts_of
from converter.formats.ctf.streams.scan_columns import follow_switches
from converter.ir.columns import Column
from converter.ir.distinct_values import distinct
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace
from converter.kernels.batches.union import looked_up

#: Process and thread of records without a thread.
NO_ID: Final = -1

#: IDs in the side table are not negative.
_ID_MASK: Final = (1 << 64) - 1

#: All CPUs' idle tasks have ID 0. Each process is named after its CPU; their shared thread has no CPU in its name.
IDLE_NAME: Final = "swapper"

#: The most CPUs on which switches are tracked.
_MAX_CPUS: Final = 1 << 16

#: lttng-modules' dump of the state when the recording starts.
STATEDUMP_PROCESS: Final = "lttng_statedump_process_state"

#: perf's records of names.
PERF_COMM: Final = "perf_comm"

#: lttng-ust's dump of the state when a process is first recorded: its name.
STATEDUMP_NAME: Final = ("lttng_ust_statedump", "procname")


class Tasks:
    """The processes and threads of a trace, by their IDs."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._processes: dict[int, int] = {}
        self._threads: dict[tuple[int, int], int] = {}
        #: The process of each thread of the machine, as far as it is recorded.
        self._process_of: dict[int, int] = {}
        self._names: dict[int, str] = {}
        #: The IDs given to threads that have only names.
        self._by_name: dict[bytes, int] = {}
        self._current = np.full(0, -1, np.int32)
        self._first_current: dict[int, int] = {}
        self._has_side_table = False
        self._placements: dict[tuple[int, int], int] = {}
        #: True if events of a CPU are on the thread that runs there.
        self.follows = False

    def load(self, side_table: SideTable) -> None:
        """Take processes, threads and tracks from the trace's side table."""
        trace = self._trace
        self._has_side_table = True
        trace.processes, trace.threads = side_table.processes, side_table.threads
        trace.tracks = side_table.tracks
        for index, process in enumerate(trace.processes):
            self._processes.setdefault(process.pid, index)
        for index, thread in enumerate(trace.threads):
            key = (trace.processes[thread.process].pid, thread.tid)
            self._threads.setdefault(key, index)

    def placements(
        self, entries: Sequence[tuple[int, int, int, bytes]]
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return the placement of each (process ID, thread ID, track, thread name), and True for renamed threads.

        A placement is the number of a thread, or of a pair of thread and track in traces with a side table. A thread
        is renamed if its name differs from when it first occurred. Both results have one more entry, for -1.
        """
        placements = np.full(len(entries) + 1, -1, np.int32)
        renamed = np.zeros(len(entries) + 1, np.bool_)
        for i, (pid, tid, track, name) in enumerate(entries):
            thread = -1
            if not pid == tid == NO_ID:
                text = name.decode("utf-8", "surrogateescape")
                if self._has_side_table:
                    thread = self.thread(pid & _ID_MASK, tid & _ID_MASK)
                else:
                    thread = self.thread(pid, tid, text)
                    renamed[i] = self._trace.threads[thread].name != text
            placements[i] = self._placement(thread, track) if self._has_side_table else thread
        return placements, renamed

    def of_packets(
        self, entries: Iterable[tuple[int, int, bytes]]
    ) -> Iterator[tuple[int, int, int, bytes]]:
        """Yield the entry for `placements` of each (process ID, thread ID, thread name) that a packet says.

        Threads without an ID are numbered from 1 in the order of their names' appearance. A thread without a process is
        its own.
        """
        for pid, tid, name in entries:
            known = tid
            if tid == NO_ID and name:
                known = self._by_name.setdefault(name, len(self._by_name) + 1)
            yield (known if pid == NO_ID else pid), known, -1, name

    def _placement(self, thread: int, track: int) -> int:
        if not 0 <= track < len(self._trace.tracks):
            track = -1
        if thread == track == -1:
            return -1
        number = self._placements.get((thread, track))
        if number is None:
            number = self._placements[thread, track] = len(self._placements)
        return number

    def threads_and_tracks(
        self, place: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32] | None]:
        """Return the threads and tracks of placements; no tracks if there are none."""
        if not self._has_side_table:
            return place, None
        table = np.array([*self._placements, (-1, -1)], np.int32)
        thread, track = table.T.copy()
        return looked_up(thread, place), looked_up(track, place) if (track >= 0).any() else None

    def process(self, pid: int) -> int:
        """Return the process of this ID, adding it if it is new."""
        index = self._processes.get(pid)
        if index is None:
            index = self._processes[pid] = len(self._trace.processes)
            self._trace.processes.append(Process(pid))
        return index

    def thread(self, pid: int, tid: int, name: str = "") -> int:
        """Return the thread of these IDs, adding it if it is new."""
        index = self._threads.get((pid, tid))
        if index is None:
            process = self.process(pid)
            index = self._threads[pid, tid] = len(self._trace.threads)
            self._trace.threads.append(Thread(tid, process, name))
            if pid == tid and name:
                self._trace.processes[process].name = name
        return index

    # Kernel traces

    def thread_on_machine(self, tid: int) -> int:
        """Return the thread of this ID, in the process that the prescan has found for it."""
        pid = self._process_of.get(tid, tid)
        index = self._threads.get((pid, tid))
        if index is None:
            name = IDLE_NAME if tid == 0 else self._names.get(tid, "")
            index = self.thread(pid, tid, name)
            process = self._trace.processes[self.process(pid)]
            if not process.name:
                process.name = IDLE_NAME if pid == 0 else self._names.get(pid, "")
        return index

    def learn(self, batch: Batch) -> None:
        """Learn in a first pass the threads' processes and names, and the task that runs on each CPU at first."""
        for id, table in batch.tables.items():
            declared = self._trace.event_classes[id]
            if declared.name in zephyr.NAMING and not declared.category:
                self._learn_named(table, declared)
            elif declared.kind is Kind.SCHED_SWITCH:
                self._learn_names(batch, id, Role.PREV_TID, Role.PREV_COMM)
                self._learn_names(batch, id, Role.NEXT_TID, Role.NEXT_COMM)
                self._learn_first(batch, id)
            elif declared.kind is Kind.PROCESS_FORK:
                self._learn_names(batch, id, Role.TID, Role.COMM)
                self._learn_processes(
                    self._integers(batch, id, Role.TID), self._integers(batch, id, Role.PID)
                )
            elif declared.name == STATEDUMP_PROCESS and not declared.category:
                self._learn_state(table, declared)

    def _learn_state(self, table: Table, declared: EventClass) -> None:
        tid = _index_of(declared, "tid", IntegerClass)
        pid = _index_of(declared, "pid", IntegerClass)
        name = _index_of(declared, "name", StringClass)
        if tid is None or pid is None or name is None:
            return
        tids = _numbers(table.column(tid))
        self._learn_processes(tids, _numbers(table.column(pid)))
        for number, text in zip(tids, self._texts(table.column(name)), strict=True):
            self._names.setdefault(number, text)

    def _learn_named(self, table: Table, declared: EventClass) -> None:
        tid = _index_of(declared, zephyr.THREAD, IntegerClass)
        name = _index_of(declared, zephyr.NAME, StringClass)
        if tid is not None and name is not None:
            names = self._texts(table.column(name))
            self._names.update(zip(_numbers(table.column(tid)), names, strict=True))

    def _integers(self, batch: Batch, id: int, role: Role) -> list[int]:
        index = self._trace.event_classes[id].index_of(role)
        return [] if index is None else _numbers(batch.tables[id].column(index))

    def _texts(self, column: Column) -> Iterator[str]:
        for text in texts_of(column, self._trace.strings):
            yield text.decode("utf-8", "surrogateescape")

    def _learn_names(self, batch: Batch, id: int, tid_role: Role, comm_role: Role) -> None:
        declared = self._trace.event_classes[id]
        comm = declared.index_of(comm_role)
        tid = declared.index_of(tid_role)
        if comm is None or tid is None:
            return
        column = batch.tables[id].column(comm)
        tids = batch.tables[id].column(tid)
        assert isinstance(tids, np.ndarray)
        if isinstance(column, np.ndarray):
            # The last name of each thread.
            values, positions = np.unique(tids[::-1], return_index=True)
            names = column[::-1][positions].tolist()
            strings = self._trace.strings
            for value, name in zip(values.tolist(), names, strict=True):
                if name:
                    self._names[value] = strings[name].decode("utf-8", "surrogateescape")
        else:
            self._names.update(zip(tids.tolist(), self._texts(column), strict=True))

    def _learn_processes(self, tids: Sequence[int], pids: Sequence[int]) -> None:
        for tid, pid in zip(tids, pids, strict=False):
            self._process_of.setdefault(tid, pid)

    def _learn_first(self, batch: Batch, id: int) -> None:
        cpus, first = np.unique(batch.cpu[batch.positions(id)], return_index=True)
        previous = self._integers(batch, id, Role.PREV_TID)
        for cpu, row in zip(cpus.tolist(), first.tolist(), strict=True):
            self._first_current.setdefault(cpu, previous[row])

    def begin(self) -> None:
        """Start a pass over the events."""
        self._current = np.full(0, -1, np.int32)
        if not self.follows:
            return
        cpus = [cpu for cpu in self._first_current if 0 <= cpu < _MAX_CPUS]
        self._current = np.full(max(cpus, default=-1) + 1, -1, np.int32)
        for cpu in cpus:
            self._current[cpu] = self.thread_on_machine(self._first_current[cpu])

    def assign_threads(self, batch: Batch) -> None:
        """Assign the events of a batch to the threads that run on their CPUs, and take names from perf's records."""
        if self._has_side_table:
            return
        switches = []
        for id in batch.tables:
            declared = self._trace.event_classes[id]
            if declared.name == PERF_COMM and not declared.category:
                self._take_names(batch, id, declared)
            elif (declared.category, declared.name) == STATEDUMP_NAME:
                self._name_processes(batch, id, declared)
            elif self.follows and declared.kind is Kind.SCHED_SWITCH:
                switches.append(id)
        if not self.follows:
            return
        highest = min(int(batch.cpu.max(initial=-1)) + 1, _MAX_CPUS)
        if highest > len(self._current):
            more = np.full(highest - len(self._current), -1, np.int32)
            self._current = np.concatenate([self._current, more])
        before = np.full(len(batch), -1, np.int32)
        after = np.full(len(batch), -2, np.int32)
        for id in switches:
            here = batch.positions(id)
            previous, following = self._switched(batch, id)
            before[here] = previous
            after[here] = following
        follow_switches(batch.cpu, before, after, self._current, batch.thread)

    def _switched(self, batch: Batch, id: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the threads before and after each switch of a class."""
        declared = self._trace.event_classes[id]
        if declared.name not in (zephyr.SWITCHED_IN, zephyr.SWITCHED_OUT):
            return (
                self._on_machine(batch, id, declared.index_of(Role.PREV_TID)),
                self._on_machine(batch, id, declared.index_of(Role.NEXT_TID)),
            )
        threads = self._on_machine(batch, id, _index_of(declared, zephyr.THREAD, IntegerClass))
        if declared.name == zephyr.SWITCHED_IN:
            return threads, threads
        return threads, np.full(len(threads), -1, np.int32)

    def _on_machine(self, batch: Batch, id: int, index: int | None) -> NDArray[np.int32]:
        assert index is not None
        column = batch.tables[id].column(index)
        assert isinstance(column, np.ndarray)
        tids, which = distinct(column)
        threads = np.empty(len(tids), np.int32)
        # New threads are added in the order of their numbers.
        for number in np.argsort(tids).tolist():
            threads[number] = self.thread_on_machine(int(tids[number]))
        return threads[which]

    def _take_names(self, batch: Batch, id: int, declared: EventClass) -> None:
        """Name threads by perf's records of new names."""
        pid = _index_of(declared, "pid", IntegerClass)
        tid = _index_of(declared, "tid", IntegerClass)
        comm = _index_of(declared, "comm", StringClass)
        if pid is None or tid is None or comm is None:
            return
        table = batch.tables[id]
        pids, tids = _numbers(table.column(pid)), _numbers(table.column(tid))
        for process, number, name in zip(pids, tids, self._texts(table.column(comm)), strict=True):
            thread = self.thread(process, number)
            self._trace.threads[thread].name = name
            if process == number:
                self._trace.processes[self.process(process)].name = name

    def _name_processes(self, batch: Batch, id: int, declared: EventClass) -> None:
        """Name unnamed processes by the state dump."""
        name = _index_of(declared, "procname", StringClass)
        if name is None:
            return
        trace = self._trace
        threads = batch.thread[batch.positions(id)].tolist()
        for thread, text in zip(threads, self._texts(batch.tables[id].column(name)), strict=True):
            if thread >= 0:
                process = trace.processes[trace.threads[thread].process]
                process.name = process.name or text


def follows_switches(classes: Iterable[str]) -> bool:
    """Return True if record classes of these names include those of a scheduler."""
    known = set(classes)
    return bool(known & {"sched_switch", "sched:sched_switch"}) or zephyr.is_zephyr(known)


def _index_of(declared: EventClass, name: str, kind: type) -> int | None:
    for index, field in enumerate(declared.fields):
        if field.name == name and isinstance(field.type, kind):
            return index
    return None


def _numbers(column: object) -> list[int]:
    assert isinstance(column, np.ndarray)
    numbers: list[int] = column.tolist()
    return numbers
