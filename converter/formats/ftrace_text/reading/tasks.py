"""Threads and processes of the lines of ftrace text."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.lines.scan.line_scan import LINE_EVENT, Lines
from converter.formats.ftrace.lines.text_mapping import NO_TASK
from converter.formats.ftrace.tasks import IDLE_NAME
from converter.formats.side_table import SideTable
from converter.ir.trace import Process, Thread, Trace

#: The names that tools give to tasks without one, and to idle ones.
_UNKNOWN: Final = b"<...>"
#: Pids below have an entry in a table; Linux has none above.
_LISTED: Final = 1 << 22


class Tasks:
    """The threads of a trace by pid. A thread's process is that of its (tgid), else its own."""

    def __init__(self, trace: Trace, table: SideTable | None = None) -> None:
        self._trace = trace
        self._listed: NDArray[np.int32] = np.full(1 << 15, -1, np.int32)
        self._others: dict[int, int] = {}
        self._processes: dict[int, int] = {}
        #: The pid of the process of each thread.
        self._tgids: NDArray[np.int64] = np.full(1 << 10, -1, np.int64)
        self._unnamed: set[int] = set()
        self._has_table = table is not None
        if table is not None:
            table.add_tasks(trace)
            for index, number in enumerate(table.numbers):
                self._list(number, index)

    def threads_of(
        self, data: memoryview, lines: Lines, rows: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Return the thread of each of some lines, -1 where a line names none."""
        pids = lines.pid[rows]
        if self._has_table:
            pids = np.where(self._is_none(data, lines, rows), np.int32(-1), pids)
            # Lost events have no task.
            pids[lines.kind[rows] != LINE_EVENT] = -1
            return self._known(pids)
        pids = np.where(lines.kind[rows] == LINE_EVENT, pids, np.int32(-1))
        tgids = lines.tgid[rows]
        threads = self._known(pids)
        unknown = np.flatnonzero((threads < 0) & (pids >= 0))
        if len(unknown):
            distinct, first = np.unique(pids[unknown], return_index=True)
            for pid, row in zip(distinct.tolist(), unknown[first].tolist(), strict=True):
                same = unknown[pids[unknown] == pid]
                stated = tgids[same]
                stated = stated[stated >= 0]
                tgid = int(stated[0]) if len(stated) else pid
                self._add(pid, tgid, self._name(data, lines, int(rows[row])))
            threads = self._known(pids)
        moved = np.flatnonzero((tgids >= 0) & (self._tgids[threads] != tgids))
        while len(moved):
            # The number of a thread of another process is used again.
            row = int(moved[0])
            self._add(int(pids[row]), int(tgids[row]), self._name(data, lines, int(rows[row])))
            following = threads[row:]
            following[pids[row:] == pids[row]] = len(self._trace.threads) - 1
            moved = np.flatnonzero((tgids >= 0) & (self._tgids[threads] != tgids))
        self._name_more(data, lines, rows, threads)
        return threads

    @staticmethod
    def _is_none(data: memoryview, lines: Lines, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the lines whose task is the placeholder for none."""
        found: NDArray[np.bool_] = (lines.pid[rows] == 0) & (lines.comm_size[rows] == len(NO_TASK))
        for row in np.flatnonzero(found).tolist():
            start = int(lines.comm[rows[row]])
            found[row] = bytes(data[start : start + len(NO_TASK)]) == NO_TASK.encode()
        return found

    def _list(self, pid: int, index: int) -> None:
        if pid >= _LISTED:
            self._others[pid] = index
            return
        if pid >= len(self._listed):
            more = np.full(pid + 1 + pid // 2 - len(self._listed), -1, np.int32)
            self._listed = np.concatenate([self._listed, more])
        self._listed[pid] = index

    def _known(self, pids: NDArray[np.int32]) -> NDArray[np.int32]:
        most = int(pids.max(initial=0))
        if most >= len(self._listed) and most < _LISTED:
            more = np.full(most + 1 + most // 2 - len(self._listed), -1, np.int32)
            self._listed = np.concatenate([self._listed, more])
        inside = (pids >= 0) & (pids < len(self._listed))
        threads: NDArray[np.int32] = np.where(inside, self._listed[np.where(inside, pids, 0)], -1)
        for row in np.flatnonzero(pids >= len(self._listed)).tolist():
            threads[row] = self._others.get(int(pids[row]), -1)
        return threads.astype(np.int32)

    def _add(self, pid: int, tgid: int, name: str) -> None:
        trace = self._trace
        if tgid not in self._processes:
            self._processes[tgid] = len(trace.processes)
            trace.processes.append(Process(tgid))
        process = trace.processes[self._processes[tgid]]
        index = len(trace.threads)
        trace.threads.append(Thread(pid, self._processes[tgid], name))
        if pid == tgid and not process.name:
            process.name = name
        if not name:
            self._unnamed.add(index)
        if index >= len(self._tgids):
            self._tgids = np.concatenate([self._tgids, np.full(len(self._tgids), -1, np.int64)])
        self._tgids[index] = tgid
        self._list(pid, index)

    def _name_more(
        self,
        data: memoryview,
        lines: Lines,
        rows: NDArray[np.int64],
        threads: NDArray[np.int32],
    ) -> None:
        """Name threads by later lines where the first ones do not."""
        for index in sorted(self._unnamed):
            thread = self._trace.threads[index]
            for row in np.flatnonzero(threads == index).tolist():
                thread.name = self._name(data, lines, int(rows[row]))
                if thread.name:
                    process = self._trace.processes[thread.process]
                    if thread.tid == process.pid and not process.name:
                        process.name = thread.name
                    self._unnamed.discard(index)
                    break

    @staticmethod
    def _name(data: memoryview, lines: Lines, row: int) -> str:
        if lines.pid[row] == 0:
            return IDLE_NAME
        start = int(lines.comm[row])
        name = bytes(data[start : start + int(lines.comm_size[row])])
        return "" if name == _UNKNOWN else name.decode("utf-8", "surrogateescape")
