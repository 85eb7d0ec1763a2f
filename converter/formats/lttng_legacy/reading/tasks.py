"""Threads and processes of a kernel's trace, and columns that are derived from earlier events.

The state dump lists the existing tasks; forks and scheduling events add others over time. A thread gets its name from
the state dump, else from its first exec, else from the thread that it was forked from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.lttng_legacy.reading.classes import Classes, ClassSource
from converter.formats.lttng_legacy.reading.scan_state import CpuState
from converter.ir.columns import ListColumn
from converter.ir.distinct_values import map_distinct
from converter.ir.events import Batch, EventClass, Table
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace

#: All CPUs' idle tasks have pid 0.
_IDLE = "swapper"
#: The length of names in the kernel (TASK_COMM_LEN).
_NAME_SIZE = 15

#: The roles of `CpuState.follow`, by kind.
_ROLES = {
    Kind.SCHED_SWITCH: 1,
    Kind.IRQ_ENTRY: 2,
    Kind.IRQ_EXIT: 3,
    Kind.SYSCALL_ENTRY: 4,
    Kind.SYSCALL_EXIT: 5,
    Kind.PROCESS_FORK: 6,
}
_VALUES = {
    Kind.IRQ_ENTRY: Role.IRQ,
    Kind.SYSCALL_ENTRY: Role.SYSCALL_NUMBER,
}


class Tasks:
    """The tasks of a trace, by pid, as its tables have them."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._threads: dict[int, int] = {}
        self._processes: dict[int, int] = {}
        #: By thread: the one that it was forked from.
        self._parents: dict[int, int] = {}

    def thread(self, tid: int, pid: int | None = None) -> int:
        """Return the thread of this ID, adding it if it is new: to the process `pid`, or to one of its own."""
        tid &= 0xFFFF_FFFF
        known = self._threads.get(tid)
        if known is None:
            name = _IDLE if tid == 0 else ""
            process = self._process(tid if pid is None else pid & 0xFFFF_FFFF)
            known = self._threads[tid] = len(self._trace.threads)
            self._trace.threads.append(Thread(tid, process, name))
        return known

    def _process(self, pid: int) -> int:
        if pid not in self._processes:
            self._processes[pid] = len(self._trace.processes)
            self._trace.processes.append(Process(pid, _IDLE if pid == 0 else ""))
        return self._processes[pid]

    def dumped(self, tid: int, pid: int, parent: int, name: str) -> None:
        """Add a task of the state dump."""
        number = self.thread(tid, pid)
        self._name(number, name)
        if tid == pid and parent >= 0:
            self._process_of(number).parent_pid = parent

    def forked(self, tid: int, pid: int | None, parent: int) -> None:
        """Add a task that another has created."""
        if tid & 0xFFFF_FFFF in self._threads:
            return
        origin = self.thread(parent)
        number = self.thread(tid, pid)
        self._parents[number] = origin
        if self._trace.threads[number].process == self._trace.threads[origin].process:
            self._name(number, self._trace.threads[origin].name)
        else:
            pid_of_parent = self._process_of(origin).pid
            self._process_of(number).parent_pid = pid_of_parent

    def executed(self, number: int, path: str) -> None:
        """Name a thread after the program that it has started to run."""
        self._name(number, path.rpartition("/")[2][:_NAME_SIZE])

    def _name(self, number: int, name: str) -> None:
        thread = self._trace.threads[number]
        process = self._process_of(number)
        if not thread.name:
            thread.name = name
        if thread.tid == process.pid and not process.name:
            process.name = name

    def _process_of(self, number: int) -> Process:
        return self._trace.processes[self._trace.threads[number].process]

    def name_the_rest(self) -> None:
        """Name unnamed threads after what they were forked from."""
        # A parent is before its children.
        for number, origin in sorted(self._parents.items()):
            self._name(number, self._trace.threads[origin].name)


class Follower:
    """Fills in what is derived from earlier events, batch by batch."""

    def __init__(
        self, trace: Trace, classes: Classes, tasks: Tasks, cpus: int, first: dict[int, int]
    ) -> None:
        """Initialize with `first`, the IDs of the threads with which CPUs start."""
        self._trace = trace
        self._tasks = tasks
        self._state = CpuState(cpus)
        for cpu, tid in first.items():
            self._state.begin(cpu, tasks.thread(tid))
        self._classes: list[tuple[int, EventClass, ClassSource]] = [
            (id, trace.event_classes[id], source)
            for id, source in enumerate(classes.sources)
            if isinstance(source, ClassSource)
            and trace.event_classes[id].kind in (*_ROLES, Kind.PROCESS_EXEC)
        ]
        self._roles = np.zeros(len(classes.sources), np.uint8)
        for id, event_class, source in self._classes:
            role = _ROLES.get(event_class.kind, 0)
            # Fields in the event itself need not be derived.
            if role in (3, 5) and None not in source.declared.sources:
                role = 0
            self._roles[id] = role

    def follow(self, batch: Batch) -> None:
        """Fill in the thread of each event, and the columns that are not in its payload."""
        value = np.full(len(batch), -1, np.int32)
        for id, event_class, _ in self._present(batch, Kind.PROCESS_FORK):
            self._fork(event_class, batch.tables[id], value, batch.positions(id))
        for id, event_class, _ in self._present(batch, Kind.SCHED_SWITCH):
            table, places = batch.tables[id], batch.positions(id)
            for role, column in ((Role.PREV_TID, batch.thread), (Role.NEXT_TID, value)):
                index = event_class.index_of(role)
                assert index is not None
                tids = table.column(index)
                assert isinstance(tids, np.ndarray)
                column[places] = map_distinct(tids, self._tasks.thread)
        for kind, role in _VALUES.items():
            for id, event_class, _ in self._present(batch, kind):
                index = event_class.index_of(role)
                if index is not None:
                    numbers = batch.tables[id].column(index)
                    assert isinstance(numbers, np.ndarray)
                    value[batch.positions(id)] = numbers.astype(np.int32)
        self._state.follow(
            self._roles,
            batch.class_id,
            batch.cpu,
            batch.thread,
            value,
            len(self._trace.threads),
        )
        for id, _, source in self._present(batch, Kind.IRQ_EXIT, Kind.SYSCALL_EXIT):
            if None in source.declared.sources:
                self._derive(batch, id, source, value)
        for id, event_class, _ in self._present(batch, Kind.PROCESS_EXEC):
            self._exec(event_class, batch.tables[id], batch.thread[batch.positions(id)])

    def _present(self, batch: Batch, *kinds: Kind) -> Iterator[tuple[int, EventClass, ClassSource]]:
        return (
            entry for entry in self._classes if entry[0] in batch.tables and entry[1].kind in kinds
        )

    def _derive(self, batch: Batch, id: int, source: ClassSource, value: NDArray[np.int32]) -> None:
        table = batch.tables[id]
        index = source.declared.sources.index(None)
        columns: list[Any] = [table.lazy(i) for i in range(table.width)]
        columns[index] = value[batch.positions(id)]
        batch.tables[id] = Table(len(table), columns)

    def _fork(
        self,
        event_class: EventClass,
        table: Table,
        value: NDArray[np.int32],
        places: NDArray[np.int32],
    ) -> None:
        children = _integers(event_class, table, Role.TID)
        parents = _integers(event_class, table, Role.PARENT_TID)
        if children is None or parents is None:
            return
        pids = _integers(event_class, table, Role.PID)
        groups = [None] * len(children) if pids is None else pids.tolist()
        for child, pid, parent in zip(children.tolist(), groups, parents.tolist(), strict=True):
            self._tasks.forked(child, pid, parent)
        value[places] = map_distinct(children, self._tasks.thread)

    def _exec(self, event_class: EventClass, table: Table, threads: NDArray[np.int32]) -> None:
        index = event_class.index_of(Role.FILENAME)
        if index is None:
            return
        names = table.column(index)
        if isinstance(names, ListColumn):
            return
        assert isinstance(names, np.ndarray)
        for thread, name in zip(threads.tolist(), names.tolist(), strict=True):
            if thread >= 0:
                text = self._trace.strings[name].decode("utf-8", "surrogateescape")
                self._tasks.executed(thread, text)


def _integers(event_class: EventClass, table: Table, role: Role) -> NDArray[Any] | None:
    index = event_class.index_of(role)
    if index is None:
        return None
    column = table.column(index)
    assert isinstance(column, np.ndarray)
    return column
