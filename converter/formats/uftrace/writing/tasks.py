"""Tasks: their numbers in files and records, `task.txt`, the map of the only session, and their names."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.task_numbers import TaskNumbers
from converter.formats.uftrace.layout import PERF_HEADER, SYMBOL_SIZE, PerfType, symbol_address
from converter.ir.trace import Trace

#: The only program: its file, its address in memory, and the id of its only session.
PROGRAM: Final = "/traceconv/app"
BASE: Final = 0x400000
SESSION: Final = "7472616365636f6e"
_PAGE: Final = 0x1000
#: uftrace treats addresses above it as the kernel's.
_STACK: Final = "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]\n"
#: comm[TASK_COMM_LEN], its NUL included.
_COMM_SIZE: Final = 16
_COMM_EVENT: Final = struct.Struct("<II16sIIQ")


class Tasks(TaskNumbers):
    """The number of each thread, and one for events without a thread: uftrace has no events without a task.

    uftrace drops kernel events of unknown tasks, and mistakes the next event for theirs. `uftrace report --task`
    crashes at numbers of ten digits. Those of Linux are below 4,194,305.
    """

    largest = 99_999_999
    first_free = 10_000_000

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)
        # Later versions refuse a directory with a task 0, which is Linux's idle task.
        self._taken.add(0)
        self._trace = trace
        self._processes: list[int] = []
        #: Set on first use.
        self.no_thread: int | None = None

    def numbers_of(self, thread: NDArray[np.int32]) -> NDArray[np.int32]:
        numbers = super().numbers_of(thread)
        if len(thread) and int(thread.min()) < 0:
            numbers = np.where(thread < 0, np.int32(self.number(-1)), numbers)
        return numbers

    def number(self, thread: int) -> int:
        """Return the number of a thread, or that for no thread (-1)."""
        numbers = self.all()
        if thread >= 0:
            return numbers[thread]
        if self.no_thread is None:
            self.no_thread = self._free()
        return self.no_thread

    def process_numbers(self) -> list[int]:
        """Return the processes' numbers: the pid if no task of another process has it, else the first thread's."""
        if len(self._processes) == len(self._trace.processes):
            return self._processes
        of_thread: dict[int, int] = {}
        first: dict[int, int] = {}
        for number, thread in zip(self.all(), self._trace.threads, strict=True):
            of_thread[number] = thread.process
            first.setdefault(thread.process, number)
        self._processes = []
        for index, process in enumerate(self._trace.processes):
            number = process.pid
            if not 0 < number <= self.largest or of_thread.get(number, index) != index:
                number = first[index] if index in first else self._free()
            self._processes.append(number)
        return self._processes

    def _free(self) -> int:
        while self._next in self._taken:
            self._next += 1
        self._taken.add(self._next)
        return self._next


def end_of_symbols(count: int) -> int:
    """Return the end of a file with this many functions, relative to its start."""
    return -(-(symbol_address(count) + SYMBOL_SIZE) // _PAGE) * _PAGE


def map_line(start: int, end: int, path: str) -> str:
    """Return the line of a map."""
    return f"{start:08x}-{end:08x} r-xp 00000000 00:00 0                          {path}\n"


def session_map(symbol_count: int, more: Iterable[str] = ()) -> bytes:
    """Return the map of the session: the program, as large as its functions need, and more lines."""
    line = map_line(BASE, BASE + end_of_symbols(symbol_count), PROGRAM)
    return "".join([line, *more, _STACK]).encode("ascii")


def task_lines(
    trace: Trace,
    tasks: Tasks,
    present: Iterable[int],
    start: int,
    libraries: Iterable[tuple[str, int]] = (),
) -> bytes:
    """Return `task.txt`: one session, and the threads `present` (-1: none) with their processes, from `start` (ns) on;
    and paths and addresses of libraries that the program opens.

    Processes that do not belong to the first are its children: uftrace looks for a process's session among its parents.
    """
    pids = tasks.process_numbers()
    by_pid = dict(zip((process.pid for process in trace.processes), pids, strict=True))
    owners: dict[int, list[int]] = {}
    alone = []
    for thread in present:
        if thread < 0:
            alone.append(tasks.number(thread))
        else:
            owners.setdefault(trace.threads[thread].process, []).append(tasks.number(thread))
    order = sorted(owners)
    root = pids[order[0]] if order else alone[0]
    lines = [f'SESS {_time(start)} pid={root} sid={SESSION} exename="{PROGRAM}"\n']
    lines.append(f"TASK {_time(start)} tid={root} pid={root}\n")
    lines += [
        f'DLOP {_time(start)} tid={root} sid={SESSION} base={base:x} libname="{path}"\n'
        for path, base in libraries
    ]
    # The distance of a process from the first: uftrace crashes if a task other than the first is as old as its parent.
    generations = {root: 0}
    for index in order:
        pid = pids[index]
        if pid not in generations:
            parent = by_pid.get(trace.processes[index].parent_pid or 0, root)
            parent = parent if parent in generations else root
            generations[pid] = generations[parent] + 1
            lines.append(f"FORK {_time(start + generations[pid])} pid={pid} ppid={parent}\n")
        time = _time(start + generations[pid] + (pid != root))
        lines += [f"TASK {time} tid={tid} pid={pid}\n" for tid in owners[index] if tid != pid]
    lines += [f"TASK {_time(start)} tid={tid} pid={root}\n" for tid in alone if tid != root]
    return "".join(lines).encode("ascii")


def _time(time: int) -> str:
    return f"timestamp={time // 10**9}.{time % 10**9:09d}"


def name_records(trace: Trace, tasks: Tasks, present: Iterable[int], start: int) -> bytes:
    """Return PERF_RECORD_COMM of the threads `present`: their names, or their processes' names, from `start` on."""
    parts = []
    pids = tasks.process_numbers()
    header = PERF_HEADER["<"].pack(PerfType.COMM, 0, PERF_HEADER["<"].size + _COMM_EVENT.size)
    for thread in present:
        name = "(no thread)"
        pid = tid = tasks.number(thread)
        if thread >= 0:
            known = trace.threads[thread]
            name = known.name or trace.processes[known.process].name
            pid = pids[known.process]
        text = name.encode("utf-8", "surrogateescape").replace(b"\0", b" ")[: _COMM_SIZE - 1]
        if text:
            parts.append(header + _COMM_EVENT.pack(pid, tid, text, pid, tid, start))
    return b"".join(parts)
