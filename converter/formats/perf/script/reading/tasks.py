"""Threads and processes of the lines of perf script."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perf.script.reading.scan import TaskTexts
from converter.ir.trace import Process, Thread, Trace

#: The name that tools of perf give to tasks without one: a colon and the number.
_UNNAMED: Final = ":"


#: The numbers of tasks of which only the name is known start here, above any pid of Linux.
_FIRST_NUMBER: Final = 1 << 30
#: The number, process and name of a task.
Task = tuple[int, int, bytes]


class Tasks:
    """The threads of a trace by the texts that name them.

    A task that changes its name is another thread from then on, as flame graphs have it.
    """

    def __init__(self, trace: Trace, known: dict[Task, int] | None) -> None:
        self.texts = TaskTexts()
        #: The processes of tasks, where records say them.
        self.processes: dict[int, int] = {}
        self._trace = trace
        #: The threads of a side table.
        self._known = known
        # The first text of a table is the empty one.
        self._thread_of: NDArray[np.int32] = np.full(1, -1, np.int32)
        self._threads: dict[Task, int] = {}
        self._indexes: dict[int, int] = {}

    def threads_of(self, data: memoryview, task: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the thread of each of some lines, -1 where a line names none."""
        known, count = len(self._thread_of), len(self.texts)
        if known < count:
            texts = self.texts
            found = []
            for number in range(known, count):
                start = int(texts.name[number])
                name = bytes(data[start : start + int(texts.name_size[number])])
                found.append(self._thread(int(texts.tid[number]), int(texts.tgid[number]), name))
            self._thread_of = np.concatenate([self._thread_of, np.array(found, np.int32)])
        threads: NDArray[np.int32] = np.where(task >= 0, self._thread_of[task], np.int32(-1))
        return threads

    def _thread(self, tid: int, tgid: int, name: bytes) -> int:
        if self._known is not None:
            # Events without a thread have another name.
            return self._known.get((tid, tgid, name), -1)
        if tid < 0 and not name:
            return -1
        if tid < 0:
            # Lines name tasks without their numbers.
            key = -1, -1, name
            if key not in self._threads:
                number = _FIRST_NUMBER + len(self._threads)
                self._threads[key] = self._add(
                    number, number, name.decode("utf-8", "surrogateescape")
                )
            return self._threads[key]
        if tgid < 0:
            tgid = self.processes.get(tid, tid)
        key = tid, tgid, name
        if key not in self._threads:
            self._threads[key] = self._add(tid, tgid, name.decode("utf-8", "surrogateescape"))
        return self._threads[key]

    def _add(self, tid: int, tgid: int, name: str) -> int:
        trace = self._trace
        if name == f"{_UNNAMED}{tid}":
            name = ""
        if tgid not in self._indexes:
            self._indexes[tgid] = len(trace.processes)
            trace.processes.append(Process(tgid))
        process = trace.processes[self._indexes[tgid]]
        if tid == tgid and name:
            # The last name is that of the program.
            process.name = name
        trace.threads.append(Thread(tid, self._indexes[tgid], name))
        return len(trace.threads) - 1
