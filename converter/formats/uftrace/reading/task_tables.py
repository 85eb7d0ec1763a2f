"""The processes and threads of a directory, and the threads of the numbers in its records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from posixpath import basename
from typing import TYPE_CHECKING

from converter.formats.uftrace.task_sessions import Tasks
from converter.ir.trace import Process, Thread, Trace
from converter.kernels.tables.tasks import TaskTable

if TYPE_CHECKING:
    from converter.formats.uftrace.side_table import Tables


def add_known_tasks(trace: Trace, tables: Tables, numbers: TaskTable) -> None:
    """Add the tasks of another format's trace, which the directory lists."""
    trace.processes.extend(tables.trace.processes)
    trace.threads.extend(tables.trace.threads)
    for thread, number in enumerate(tables.trace.numbers):
        numbers.assign(number, thread)
    if tables.no_thread is not None:
        numbers.assign(tables.no_thread, -1)


def add_tasks(
    trace: Trace,
    sessions: Tasks,
    task_files: Iterable[int],
    names: Mapping[int, str],
    numbers: TaskTable,
) -> None:
    """Add the tasks of a recording: those with a file, then those of task.txt, then those of perf and kernel files.

    Args:
        trace: the trace whose tables are filled.
        sessions: the content of task.txt.
        task_files: the tasks that have a file.
        names: by task, from perf and kernel files.
        numbers: the tasks of those files; the thread of each number is added.

    """
    process_of = dict(sessions.processes)
    creators = {pid: (creator, relation) for pid, _, _, creator, relation, _ in numbers.tasks()}
    tids = list(dict.fromkeys([*task_files, *sessions.processes, *sorted(creators)]))
    for tid in tids:
        if tid not in process_of:
            creator, relation = creators.get(tid, (-1, ""))
            process_of[tid] = process_of.get(creator, creator) if relation == "thread" else tid
    known = set(sessions.processes.values())
    index: dict[int, int] = {}
    for tid in tids:
        pid = process_of[tid]
        if pid not in index:
            index[pid] = len(trace.processes)
            trace.processes.append(_process(pid, sessions, names, known=pid in known))
        numbers.assign(tid, len(trace.threads))
        name = names.get(tid) or trace.processes[index[pid]].name
        trace.threads.append(Thread(tid, index[pid], name))


def _process(pid: int, sessions: Tasks, names: Mapping[int, str], *, known: bool) -> Process:
    """Return a process, named after the last program that it ran."""
    own = sessions.session_times(pid)
    parent = sessions.parents.get(pid)
    name = basename(own[-1][1].program) if own and known else names.get(pid, "")
    return Process(pid, name, None if parent is None else parent[1])
