"""The tables of a merged trace: processes, threads, tracks and classes of all inputs, each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import EventClass
from converter.ir.trace import Process, Thread, Trace, Track, TrackScope
from converter.merging.machines import Machine
from converter.projection.losses import LossReport

#: The number of characters of a thread's name that Linux keeps (TASK_COMM_LEN without its NUL).
_COMM: int = 15


@dataclass(slots=True)
class Source:
    """An input, with arrays that map its indices to those of the merged trace; the last entry of each is that of -1."""

    name: str
    trace: Trace
    machine: Machine
    processes: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    tracks: list[int] = field(default_factory=list)
    classes: list[int] = field(default_factory=list)
    strings: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    #: The number of processes seen per id: an id may be reused.
    seen_processes: Counter[int] = field(default_factory=Counter)
    seen_threads: Counter[tuple[int, int]] = field(default_factory=Counter)
    unnamed: set[tuple[str, int]] = field(default_factory=set)


class MergedTables:
    """Builds the tables of the target from those of its sources, and follows them as they grow.

    A process is identified by its pid and machine, a thread by its tid and process. A recorder without processes (a
    kernel's) treats each thread as a process, which is corrected if another input knows better. If inputs have
    several names for one task, the longest wins, since names get truncated; this is a reported loss.
    """

    def __init__(self, target: Trace, sources: Sequence[Source], losses: LossReport) -> None:
        self._target = target
        self._sources = sources
        self._losses = losses
        self._processes: dict[tuple[int, int], int] = {}
        self._threads: dict[tuple[int, int, int], int] = {}
        self._tracks: dict[Track, int] = {}
        self._classes: dict[EventClass, int] = {}
        # By machine and tid: the process of a thread that some input treats as a process of its own.
        self._process_of: dict[tuple[str, int], int] = {}
        self._named_by: dict[tuple[str, int], str] = {}
        self._correct()
        # In an order that does not depend on that of the inputs: the first that says something of a process counts.
        for source in sorted(sources, key=lambda one: one.name):
            self.follow(source)

    def follow(self, source: Source) -> None:
        """Add what is new in the tables of a source."""
        trace = source.trace
        for kind, number in sorted(source.unnamed):
            self._fill_in(source, kind, number)
        for process in trace.processes[len(source.processes) :]:
            source.processes.append(self._process(source, process))
        for thread in trace.threads[len(source.threads) :]:
            source.threads.append(self._thread(source, thread))
        for track in trace.tracks[len(source.tracks) :]:
            source.tracks.append(self._track(source, track))
        for event_class in trace.event_classes[len(source.classes) :]:
            if event_class not in self._classes:
                self._classes[event_class] = self._target.add_class(event_class)
            if event_class in trace.of_programs:
                self._target.of_programs.add(event_class)
            source.classes.append(self._classes[event_class])

    # Tasks

    def _correct(self) -> None:
        """Find the processes of threads that an input treats as processes."""
        lone: dict[tuple[str, int], set[str]] = {}
        owners: dict[tuple[str, int], dict[int, str]] = {}
        leaders: set[tuple[str, int]] = set()
        ambiguous: set[tuple[str, int]] = set()
        for source in self._sources:
            trace, machine = source.trace, source.machine.name
            own: dict[int, set[int]] = {}
            for thread in trace.threads:
                pid = trace.processes[thread.process].pid
                own.setdefault(thread.tid, set()).add(pid)
                if pid == thread.tid:
                    lone.setdefault((machine, pid), set()).add(thread.name)
                else:
                    leaders.add((machine, pid))
                    owners.setdefault((machine, thread.tid), {})[pid] = thread.name
            ambiguous.update(
                (machine, tid) for tid, pids in own.items() if tid in pids and len(pids) > 1
            )
        for key in (lone.keys() & owners.keys()) - leaders - ambiguous:
            if len(owners[key]) > 1:
                continue
            ((pid, name),) = owners[key].items()
            # A process is older than its threads. Small numbers that are not ids of a machine also occur with other
            # names.
            if 0 < pid < key[1] and all(_same_name(name, other) for other in lone[key]):
                self._process_of[key] = pid

    def _process(self, source: Source, process: Process) -> int:
        machine = source.machine
        pid = self._process_of.get((machine.name, process.pid), process.pid)
        corrected = pid != process.pid
        source.seen_processes[pid] += not corrected
        key = (machine.id(pid), max(source.seen_processes[pid], 1))
        number = self._processes.get(key)
        if number is None:
            number = self._processes[key] = len(self._target.processes)
            self._target.processes.append(Process(key[0]))
        if corrected:
            return number
        known = self._target.processes[number]
        if process.parent_pid is not None:
            parent = machine.id(process.parent_pid)
            if known.parent_pid is None:
                known.parent_pid = parent
            elif known.parent_pid != parent:
                self._losses.add(
                    "merge-parent-differs", parent=str(parent), pid=known.pid, input=source.name
                )
        if not known.command_line:
            known.command_line = process.command_line
        elif process.command_line not in ((), known.command_line):
            self._losses.add("merge-command-line-differs", pid=known.pid, input=source.name)
        self._name(source, known, process.name, ("process", number))
        if not process.name:
            source.unnamed.add(("process", len(source.processes)))
        return number

    def _thread(self, source: Source, thread: Thread) -> int:
        process = source.processes[thread.process]
        tid = source.machine.id(thread.tid)
        source.seen_threads[process, tid] += 1
        key = (process, tid, source.seen_threads[process, tid])
        number = self._threads.get(key)
        if number is None:
            number = self._threads[key] = len(self._target.threads)
            self._target.threads.append(Thread(tid, process))
        self._name(source, self._target.threads[number], thread.name, ("thread", number))
        if not thread.name:
            source.unnamed.add(("thread", len(source.threads)))
        return number

    def _fill_in(self, source: Source, kind: str, number: int) -> None:
        """Copy a name that was learned after the entry that it names."""
        trace, target = source.trace, self._target
        if kind == "process":
            name, index = trace.processes[number].name, source.processes[number]
            self._name(source, target.processes[index], name, (kind, index))
        else:
            name, index = trace.threads[number].name, source.threads[number]
            self._name(source, target.threads[index], name, (kind, index))
        if name:
            source.unnamed.discard((kind, number))

    def _name(
        self, source: Source, task: Process | Thread, name: str, key: tuple[str, int]
    ) -> None:
        if not name or name == task.name:
            return
        before, by = task.name, self._named_by.get(key, "")
        if not before:
            task.name = name
            self._named_by[key] = source.name
            return
        chosen = max(before, name, key=lambda text: (len(text), text))
        other, whose = (name, source.name) if chosen == before else (before, by)
        if chosen != before:
            task.name = chosen
            self._named_by[key] = source.name
        if not _same_name(chosen, other):
            id = task.pid if isinstance(task, Process) else task.tid
            self._losses.add(
                "merge-name-differs", what=key[0], id=id, shown=chosen, name=other, input=whose
            )

    # Tracks

    def _track(self, source: Source, track: Track) -> int:
        machine = source.machine
        owner, name = track.owner, track.name
        match track.scope:
            case TrackScope.PROCESS:
                owner = source.processes[owner]
            case TrackScope.THREAD:
                owner = source.threads[owner]
            case TrackScope.CPU:
                owner = machine.cpu(owner)
            case TrackScope.GLOBAL:
                if machine.moved and track.parent < 0:
                    name = f"{machine.name}: {name}" if machine.name else name
        parent = source.tracks[track.parent] if track.parent >= 0 else -1
        merged = replace(track, name=name, owner=owner, parent=parent)
        number = self._tracks.get(merged)
        if number is None:
            number = self._tracks[merged] = len(self._target.tracks)
            self._target.tracks.append(merged)
        return number


def _same_name(one: str, other: str) -> bool:
    """Return True if two names may be the same one; either may be truncated or unknown."""
    shorter, longer = sorted((one, other), key=len)
    return shorter in ("", longer) or (len(shorter) == _COMM and longer.startswith(shorter))
