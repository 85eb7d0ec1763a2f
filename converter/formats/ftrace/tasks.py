"""Threads and processes: trace.dat has no table of them, so they are inferred from records."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from converter.errors import TraceError
from converter.formats.ftrace.layout import SectionId, parse, recording_layouts
from converter.formats.ftrace.recording import Recording, Section
from converter.ir.trace import Process, Thread, Trace
from converter.kernels.tables.tasks import TaskTable

#: All CPUs' idle tasks have pid 0; each is named after its CPU, but they share one thread.
IDLE_NAME = "swapper"


def command_lines(sections: Sequence[Section], *, big_endian: bool) -> dict[int, bytes]:
    """Return section CMDLINES: the names by pid that the kernel had kept when the recording ended.

    Raises:
        TraceError: it is damaged.

    """
    section = next((section for section in sections if section.id == SectionId.CMDLINES), None)
    if section is None:
        return {}
    layout = recording_layouts(big_endian).long_text
    text = parse(layout, bytes(section), section.offset, "CMDLINES")
    return {int(pid): name for pid, name in re.findall(rb"^(\d{1,10}) (.*)$", text, re.MULTILINE)}


def saved_command_lines(file: Recording) -> dict[int, bytes]:
    """Return the file's names by pid; none, with a warning, where they are damaged."""
    try:
        return command_lines(file.sections, big_endian=file.big_endian)
    except TraceError as error:
        file.warn(error)
        return {}


def add_tasks(trace: Trace, table: TaskTable, saved: Mapping[int, bytes]) -> None:
    """Add a thread for each task of the table, ordered by pid, and their processes.

    A task's process is the one that it named itself (a marker), or that of its creator if it was created with
    CLONE_THREAD, else its own. Its name is the saved one, which trace-cmd and KernelShark show, or the last one in an
    event.
    """
    tasks = {task[0]: task for task in table.tasks()}
    processes: dict[int, int] = {}

    def process_of(pid: int) -> int:
        """Follow creators; a cycle, which reused pids can cause, ends where it closes."""
        path: list[int] = []
        at = pid
        while at not in processes and at not in path:
            path.append(at)
            known = tasks.get(at)
            if known is None:
                break
            _, _, named, creator, relation, leader = known
            if named >= 0:
                at = named
                break
            if relation != "thread" or leader:
                break
            at = creator
        found = processes.get(at, at)
        for item in path:
            processes[item] = found
        return found

    for pid in tasks:
        process_of(pid)
    names = {pid: _name(pid, task[1], saved) for pid, task in tasks.items()}
    index: dict[int, int] = {}
    for pid in sorted({processes[pid] for pid in tasks}):
        index[pid] = len(trace.processes)
        process = Process(pid, names.get(pid) or _name(pid, b"", saved))
        known = tasks.get(pid)
        if known is not None and known[4] in ("process", "forked"):
            process.parent_pid = process_of(known[3])
        trace.processes.append(process)
    for pid in sorted(tasks):
        table.assign(pid, len(trace.threads))
        trace.threads.append(Thread(pid, index[processes[pid]], names[pid]))


def _name(pid: int, seen: bytes, saved: Mapping[int, bytes]) -> str:
    if pid == 0:
        return IDLE_NAME
    return (saved.get(pid) or seen).decode("utf-8", "surrogateescape")
