"""Processes and threads, and their names as records of the time say."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perf.data.layout import RecordType
from converter.formats.perf.data.reading.records import Rows
from converter.formats.perf.data.reading.scan import HAS_NO_TIME, Scanner
from converter.formats.side_table import SideTable
from converter.ir.trace import Process, Thread, Trace

#: The name of a CPU's idle task, which no record says.
IDLE: Final = "swapper"
_COMM: Final = 4 * RecordType.COMM
_FORK: Final = 4 * RecordType.FORK


class Tasks:
    """The threads of a trace, by the numbers that a scanner gives them; names are learnt by a prescan."""

    def __init__(self, trace: Trace, *, big_endian: bool) -> None:
        self._trace = trace
        self._order = ">" if big_endian else "<"
        self._process_of: dict[int, int] = {}
        self._thread_of: dict[tuple[int, int], int] = {}
        #: Time, pid and tid; name, or pid and tid of the parent.
        self._said: list[tuple[int, tuple[int, int], str | tuple[int, int]]] = []
        #: Of a recording with a side table: threads by tid, and by the scanner's numbers.
        self._adopted: dict[int, int] | None = None
        self._numbers: list[int] = []

    def adopt(self, table: SideTable) -> None:
        """Take the processes and threads of a side table in place of all others."""
        table.add_tasks(self._trace)
        self._adopted = {number: index for index, number in enumerate(table.numbers)}

    def extend(self, scanner: Scanner) -> None:
        """Add the threads that a scanner has found since."""
        if self._adopted is not None:
            for _, tid in scanner.threads(len(self._numbers)):
                self._numbers.append(self._adopted.get(tid, -1))
            return
        trace = self._trace
        for pid, tid in scanner.threads(len(self._thread_of)):
            if pid not in self._process_of:
                self._process_of[pid] = len(trace.processes)
                trace.processes.append(Process(pid, IDLE if pid == 0 else ""))
            self._thread_of[pid, tid] = len(trace.threads)
            is_idle = pid == tid == 0
            trace.threads.append(Thread(tid, self._process_of[pid], IDLE if is_idle else ""))

    def learn(self, rows: Rows) -> None:
        """Keep what records of a window say about names."""
        if self._adopted is not None:
            return
        code = rows.code & ~HAS_NO_TIME
        for at in np.flatnonzero((code == _COMM) | (code == _FORK)).tolist():
            start, size = int(rows.start[at]), int(rows.size[at])
            record = rows.segment[start : start + size].tobytes()
            ids = np.frombuffer(record, self._order + "i4", 4, 8).tolist()
            ts = int(rows.ts[at])
            if code[at] == _COMM:
                name = record[16:].partition(b"\0")[0].decode("utf-8", "surrogateescape")
                self._said.append((ts, (ids[0], ids[1]), name))
            else:
                child, parent = (ids[0], ids[2]), (ids[1], ids[3])
                self._said.append((ts, child, parent))

    def name(self) -> None:
        """Name threads by the last record about each, and processes by their first thread."""
        names: dict[tuple[int, int], str] = {}
        for _, task, said in sorted(self._said, key=lambda item: item[0]):
            if isinstance(said, str):
                names[task] = said
            elif said in names:
                names[task] = names[said]
        self._said = []
        trace = self._trace
        for (pid, tid), name in names.items():
            number = self._thread_of.get((pid, tid))
            if number is None:
                continue
            trace.threads[number].name = name
            if pid == tid:
                trace.processes[self._process_of[pid]].name = name

    def renumbered(self, thread: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return threads of the trace by the scanner's numbers, which are the same without a side table."""
        if self._adopted is None:
            return thread
        # The last entry is for events without a thread.
        return np.array([*self._numbers, -1], np.int32)[thread]
