"""The projected trace's processes, threads and tracks: those of the source, and synthetic ones.

A format without tracks shows each as a thread. A format in which every event is on a thread gets threads for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import constant_column, renumbered
from converter.ir.distinct_values import map_distinct
from converter.ir.trace import Process, Thread, Trace, Track, TrackScope
from converter.projection.capabilities import Capabilities
from converter.projection.domain.scheduling.task_names import IDLE_NAME
from converter.projection.engine.buffers import Buffers
from converter.projection.engine.ids import ShownIds
from converter.projection.engine.texts import fit_name
from converter.projection.losses import LossReport


class TargetTables:
    """Follows the source's tables as they grow, and maps the indices of the source to those of the target."""

    def __init__(
        self,
        source: Trace,
        target: Trace,
        capabilities: Capabilities,
        report: LossReport,
        ids: ShownIds,
    ) -> None:
        self._source = source
        self._target = target
        self._capabilities = capabilities
        self._report = report
        #: Of the ids of the source's tables.
        self._shown_ids = ids
        self._mask = (1 << capabilities.id_bits) - 1
        #: All tracks by the indices of the target, which contains them only if its format has tracks.
        self.tracks: list[Track] = target.tracks if capabilities.tracks else []
        self.buffers = Buffers(target.tracks, capabilities.buffers)
        # By the index in the source: the index in the target.
        self._processes: list[int] = []
        self._threads: list[int] = []
        self._tracks: list[int] = []
        # Of the source: entries that may still get a name.
        self._unnamed_processes: list[int] = []
        self._unnamed_threads: list[int] = []
        self._synthetic_tracks: dict[Track, int] = {}
        self._threads_of_tracks: dict[int, int] = {}
        self._threads_of_cpus: dict[int, int] = {}
        self._synthetic_processes: dict[str, int] = {}
        self._thread_of_tid: dict[int, int] = {}
        #: Threads by tid that the source does not have, or not yet.
        self._added: dict[int, int] = {}
        self._tids = np.zeros(0, np.int64)
        self._pids = np.zeros(0, np.int64)

    def follow(self) -> None:
        """Add what is new in the source's tables."""
        source, target = self._source, self._target
        # A name may be filled in later than its owner.
        self._unnamed_processes = self._still_unnamed(
            self._unnamed_processes, source.processes, target.processes, self._processes
        )
        self._unnamed_threads = self._still_unnamed(
            self._unnamed_threads, source.threads, target.threads, self._threads
        )
        for process in source.processes[len(self._processes) :]:
            if not process.name:
                self._unnamed_processes.append(len(self._processes))
            self._processes.append(len(target.processes))
            target.processes.append(self._fitted_process(process))
        for thread in source.threads[len(self._threads) :]:
            if thread.tid in self._added:
                self._join(thread, self._added.pop(thread.tid))
                continue
            number = len(target.threads)
            if not thread.name:
                self._unnamed_threads.append(len(self._threads))
            self._threads.append(number)
            owner = self._processes[thread.process]
            self._thread_of_tid.setdefault(thread.tid, number)
            target.threads.append(Thread(thread.tid, owner, self._name(thread.name)))
        for track in source.tracks[len(self._tracks) :]:
            self._tracks.append(len(self.tracks))
            self.tracks.append(self._fitted_track(track))

    def _join(self, thread: Thread, number: int) -> None:
        """Identify a thread of the source with one that events named earlier, which has a process of its own."""
        process = self._processes[thread.process]
        held = self._target.threads[number]
        if self._target.processes[process].pid != self._target.processes[held.process].pid:
            self._report.add("thread-in-process-of-its-own")
        held.name = held.name or self._name(thread.name)
        if not thread.name:
            self._unnamed_threads.append(len(self._threads))
        self._threads.append(number)

    def is_named(self, tid: int) -> bool:
        """Return True if there is a thread with this tid and a name."""
        number = self._thread_of_tid.get(tid)
        return number is not None and bool(self._target.threads[number].name)

    def name_tasks(self, names: Mapping[int, str], *, adds: bool = False) -> None:
        """Name the threads that have no name, by tid; if `adds`, add those that do not exist."""
        if adds:
            self._add_tasks(names)
        for tid, name in names.items():
            number = self._thread_of_tid.get(tid)
            if number is not None and not self._target.threads[number].name:
                self._target.threads[number].name = self._name(name)

    def _add_tasks(self, names: Mapping[int, str]) -> None:
        """Add the tasks that are no threads yet, each in a process of its own, which has its name."""
        missing = [
            tid for tid in names if tid not in self._thread_of_tid and 0 <= tid <= self._mask
        ]
        if not missing:
            return
        processes = self._target.processes
        owners = {process.pid: index for index, process in enumerate(processes)}
        for tid in missing:
            owner = owners.get(tid)
            if owner is None:
                owner = len(processes)
                processes.append(Process(tid, self._name(names[tid])))
            self._add_thread(tid, owner, self._name(names[tid]))

    def _still_unnamed(
        self,
        unnamed: list[int],
        source: Sequence[Process | Thread],
        target: Sequence[Process | Thread],
        numbers: list[int],
    ) -> list[int]:
        """Return the entries still without a name; an entry that has one now passes it to the target's, if
        that has none.
        """
        named = [one for one in unnamed if source[one].name]
        for one in named:
            held = target[numbers[one]]
            held.name = held.name or self._name(source[one].name)
        return [one for one in unnamed if not source[one].name] if named else unnamed

    def _fitted_process(self, process: Process) -> Process:
        fitted = replace(process)
        if not self._capabilities.command_lines:
            self._report.add("command-line", bool(process.command_line))
            self._report.add("parent-process", process.parent_pid is not None)
            fitted.command_line, fitted.parent_pid = (), None
        fitted.name = self._name(process.name)
        return fitted

    def _fitted_track(self, track: Track) -> Track:
        fitted = replace(track, owner=self._owner(track), name=self._name(track.name))
        if track.parent >= 0:
            fitted = replace(fitted, parent=self._tracks[track.parent])
        if track.unit and not (self._capabilities.units or self._capabilities.track_units):
            self._report.add("track-unit")
            return replace(fitted, unit="")
        unit = fit_name(track.unit, self._capabilities)
        self._report.add("track-unit-changed", unit != track.unit)
        return replace(fitted, unit=unit)

    def _owner(self, track: Track) -> int:
        if track.scope is TrackScope.PROCESS:
            return self._processes[track.owner]
        if track.scope is TrackScope.THREAD:
            return self._threads[track.owner]
        return track.owner

    def _name(self, name: str) -> str:
        fitted = fit_name(name, self._capabilities)
        self._report.add("name-changed", fitted != name)
        return fitted

    # From the indices of the source to those of the target

    def renumber_threads(self, threads: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a column of the source's threads as indices of the target."""
        return renumbered(threads, self._threads)

    def renumber_tracks(self, tracks: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a column of the source's tracks as indices of the target."""
        if not self._tracks:
            return constant_column(np.int32(-1), len(tracks))
        return renumbered(tracks, self._tracks)

    # Queries about threads of the target

    def tids(self, threads: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the tids of threads as signed numbers, -1 for none."""
        self._learn_ids()
        return self._tids[threads]

    def pids(self, threads: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the ids of the processes of threads as signed numbers, -1 for none."""
        self._learn_ids()
        return self._pids[threads]

    def _learn_ids(self) -> None:
        threads, processes = self._target.threads, self._target.processes
        if len(self._tids) == len(threads) + 1:
            return
        # The last entry is that of -1.
        tids = [thread.tid for thread in threads]
        pids = [processes[thread.process].pid for thread in threads]
        self._tids = np.array([*tids, self._none], np.uint64).view(np.int64)
        self._pids = np.array([*pids, self._none], np.uint64).view(np.int64)

    _none = 0xFFFF_FFFF_FFFF_FFFF

    def thread_of_tid(self, tids: NDArray[Any]) -> NDArray[np.int32]:
        """Return the thread with each tid, -1 for none."""
        return map_distinct(tids, lambda tid: self._thread_of_tid.get(tid, -1))

    def task_of_tid(self, tids: NDArray[Any]) -> NDArray[np.int32]:
        """Return the thread with each tid, adding those that do not exist; -1 for numbers that are not tids."""
        return map_distinct(tids, self._task_of_tid)

    def _task_of_tid(self, tid: int) -> int:
        if tid in self._thread_of_tid or not 0 <= tid <= self._mask:
            return self._thread_of_tid.get(tid, -1)
        processes, name = self._target.processes, IDLE_NAME if tid == 0 else ""
        owner = next((i for i, one in enumerate(processes) if one.pid == tid), len(processes))
        if owner == len(processes):
            processes.append(Process(tid, name))
        return self._add_thread(tid, owner, name or processes[owner].name)

    def _add_thread(self, tid: int, owner: int, name: str) -> int:
        self._report.add("thread-added")
        self._target.threads.append(Thread(tid, owner, name))
        self._added[tid] = self._thread_of_tid[tid] = len(self._target.threads) - 1
        return self._added[tid]

    # Tracks and threads that the source does not have

    def synthetic_track(self, track: Track) -> int:
        """Return the track of that description, adding it if new; its owner is an index of the target."""
        if track not in self._synthetic_tracks:
            self._synthetic_tracks[track] = len(self.tracks)
            self.tracks.append(replace(track, name=fit_name(track.name, self._capabilities)))
        return self._synthetic_tracks[track]

    def threads_of_tracks(self, tracks: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the threads that represent tracks, -1 for no track."""
        return map_distinct(tracks, self.thread_of_track)

    def thread_of_track(self, number: int) -> int:
        """Return the thread that represents a track, -1 for none."""
        if number < 0:
            return -1
        if number not in self._threads_of_tracks:
            track = self.tracks[number]
            if track.scope is TrackScope.PROCESS:
                process = track.owner
            elif track.scope is TrackScope.THREAD:
                process = self._target.threads[track.owner].process
            else:
                process = self._process("CPUs" if track.scope is TrackScope.CPU else "Tracks")
            name = track.name or f"track {number}"
            self._threads_of_tracks[number] = self._thread(process, name)
        return self._threads_of_tracks[number]

    def threads_of_cpus(self, cpus: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the threads that represent CPUs, and no CPU (-1), for events that are on no thread."""
        return map_distinct(cpus, self._thread_of_cpu)

    def _thread_of_cpu(self, cpu: int) -> int:
        if cpu not in self._threads_of_cpus:
            name = "no thread" if cpu < 0 else f"Events Cpu {cpu}"
            process = self._process("Tracks" if cpu < 0 else "CPUs")
            self._threads_of_cpus[cpu] = self._thread(process, name)
        return self._threads_of_cpus[cpu]

    def _process(self, name: str) -> int:
        if name not in self._synthetic_processes:
            self._synthetic_processes[name] = len(self._target.processes)
            fitted = fit_name(name, self._capabilities)
            self._target.processes.append(Process(self._shown_ids.new(), fitted))
        return self._synthetic_processes[name]

    def _thread(self, process: int, name: str) -> int:
        fitted = fit_name(name, self._capabilities)
        self._target.threads.append(Thread(self._shown_ids.new(), process, fitted))
        return len(self._target.threads) - 1
