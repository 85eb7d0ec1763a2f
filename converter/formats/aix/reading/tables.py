"""Processes, threads and tracks of a trace: those that traceconv's own streams declare, or those in hooks."""

from __future__ import annotations

import posixpath

import numpy as np
from numpy.typing import NDArray

from converter.formats.aix.entries.prescan import Prescan
from converter.formats.aix.side_table import Declarations
from converter.ir.trace import Process, Thread, Trace


def add_declared(trace: Trace, declared: Declarations) -> None:
    """Add the declared processes, threads, tracks and classes to the trace, under their numbers."""
    trace.processes += (declared.processes[i] for i in range(len(declared.processes)))
    trace.threads += (declared.threads[i] for i in range(len(declared.threads)))
    trace.tracks += (declared.tracks[i] for i in range(len(declared.tracks)))
    for number in range(len(declared.classes)):
        trace.add_class(declared.classes[number][0])


def add_native(trace: Trace, found: Prescan) -> NDArray[np.int32]:
    """Add the threads whose IDs are in entries; return the thread of each number of `Forms.threads`.

    Hooks that name a process and a thread of it assign the thread to the process, EXEC hooks name its program, and FORK
    hooks its parent; a child without an EXEC runs its parent's program. All other threads are in process 0.
    """
    threads = found.forms.threads(0)
    numbers: dict[int, int] = {}
    # A process gets the name of the last program that it has executed.
    names = {pid: _name_of(path) for pid, path in found.executions}
    pid_of = {tid: pid for tid, pid in threads if pid is not None}
    parents = {child: pid_of[tid] for child, tid in found.forks if pid_of.get(tid, child) != child}
    for child, parent in parents.items():
        names.setdefault(child, names.get(parent, ""))
    first = len(trace.threads)
    for tid, pid in threads:
        known = 0 if pid is None else pid
        if known not in numbers:
            numbers[known] = len(trace.processes)
            trace.processes.append(Process(known, names.get(known, ""), parents.get(known)))
        trace.threads.append(Thread(tid, numbers[known]))
    return np.arange(first, first + len(threads), dtype=np.int32)


def _name_of(path: bytes) -> str:
    text = path.partition(b"\0")[0].decode("utf-8", "surrogateescape")
    return posixpath.basename(text.partition(" ")[0]) or text
