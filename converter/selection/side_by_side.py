"""Partitions a trace by CPU or process in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.trace import Trace, TrackScope
from converter.selection.parts import Division
from converter.selection.stacks import END, UNMATCHED, Stacks
from converter.selection.steps import StepsOf
from converter.selection.tasks import ids_about

_Groups = NDArray[np.int64]
#: The number of "no CPU" or "no process".
_NONE: Final = np.int64(-1)


class SideBySide:
    """The parts of a trace, numbered in the order in which their first events come. The end of a slice is in the part
    of its begin; an event about several processes (a switch) is in the part of each.
    """

    def __init__(self, source: Trace, division: Division) -> None:
        self._source = source
        self._steps_of = StepsOf(source, values=False)
        self._stacks = Stacks()
        self._first = 0
        self._groups_of: Callable[[Batch], _Groups] = self._cpus
        self._pids: _Tasks | None = None
        if division is Division.PROCESS:
            self._pids = _Tasks(source)
            self._groups_of = self._pids.processes_of
        #: Part numbers by CPU or pid.
        self._numbers: dict[int, int] = {}
        self.labels: list[str] = []

    def pieces(self, batch: Batch) -> Iterator[tuple[int, Batch]]:
        """Return the events of a batch by part, each with the part's number."""
        numbers = self._numbered(self._groups_of(batch))
        steps = self._steps_of(batch)
        if steps is not None:
            owner = (numbers[steps.at] + 1).astype(np.int32)
            number = self._first + steps.at.astype(np.int64)
            closed = self._stacks.follow(steps.lane, steps.step, steps.name, number, owner)
            ends = (steps.step == END) & (closed.owner != UNMATCHED)
            numbers[steps.at[ends]] = closed.owner[ends] - 1
        self._first += len(batch)
        positions = np.arange(len(batch))
        if self._pids is not None:
            more, others = self._pids.processes_about(batch)
            # Each event once per part.
            both = np.stack(
                [np.concatenate([numbers, self._numbered(others)]), np.r_[positions, more]]
            )
            numbers, positions = np.unique(both, axis=1)
        order = np.argsort(numbers, kind="stable")
        present, starts = np.unique(numbers[order], return_index=True)
        for one, which in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
            yield one, batch.select(positions[which])

    def _numbered(self, groups: _Groups) -> _Groups:
        """Return the part numbers of CPUs or processes."""
        distinct, inverse = np.unique(groups, return_inverse=True)
        for group in distinct.tolist():
            if group not in self._numbers:
                self._numbers[group] = len(self.labels)
                self.labels.append(self._label(group))
        numbers = np.array([self._numbers[group] for group in distinct.tolist()], np.int64)
        return numbers[inverse] if len(groups) else np.zeros(0, np.int64)

    def _label(self, group: int) -> str:
        if self._pids is None:
            return f"cpu{group}" if group != _NONE else "no-cpu"
        return f"pid{self._pids.pids[group]}" if group != _NONE else "no-process"

    def _cpus(self, batch: Batch) -> _Groups:
        return np.where(batch.cpu < 0, _NONE, batch.cpu.astype(np.int64))


class _Tasks:
    """The processes that events belong to or are about, each as the number of the first process with its id."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.pids: list[int] = []
        self._by_pid: dict[int, int] = {}
        self._by_tid: dict[int, int] = {}
        # By process, thread and track, with one more entry for none.
        self._processes: list[int] = []
        self._threads = self._tracks = np.full(1, _NONE)

    def processes_of(self, batch: Batch) -> _Groups:
        """Return the process of each event: that of its thread, or of its track."""
        self._follow()
        of_thread = self._threads[batch.thread]
        return np.where(of_thread == _NONE, self._tracks[batch.track], of_thread)

    def processes_about(self, batch: Batch) -> tuple[NDArray[np.intp], _Groups]:
        """Return the positions of events that are about processes, and these processes."""
        positions, groups = [np.zeros(0, np.intp)], [np.zeros(0, np.int64)]
        for at, tids in ids_about(self._trace, batch):
            distinct, inverse = np.unique(tids, return_inverse=True)
            known = [self._by_tid.get(tid, _NONE) for tid in distinct.tolist()]
            found = np.array(known, np.int64)[inverse]
            positions.append(at[found != _NONE].astype(np.intp))
            groups.append(found[found != _NONE])
        return np.concatenate(positions), np.concatenate(groups)

    def _follow(self) -> None:
        """Update from the trace's tables."""
        trace = self._trace
        for process in trace.processes[len(self._processes) :]:
            number = self._by_pid.setdefault(process.pid, len(self.pids))
            if number == len(self.pids):
                self.pids.append(process.pid)
            self._processes.append(number)
        if len(self._threads) <= len(trace.threads):
            known = len(self._threads) - 1
            for thread in trace.threads[known:]:
                tid = thread.tid - (1 << 64) if thread.tid >= 1 << 63 else thread.tid
                self._by_tid[tid] = self._processes[thread.process]
            new = [self._processes[thread.process] for thread in trace.threads[known:]]
            self._threads = np.array([*self._threads[:-1].tolist(), *new, _NONE], np.int64)
        if len(self._tracks) <= len(trace.tracks):
            owners = []
            for track in trace.tracks:
                owner = int(_NONE)
                if track.scope is TrackScope.PROCESS:
                    owner = self._processes[track.owner]
                elif track.scope is TrackScope.THREAD:
                    owner = int(self._threads[track.owner])
                owners.append(owner)
            self._tracks = np.array([*owners, _NONE], np.int64)
