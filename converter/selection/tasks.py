"""Selects threads by id or name, with those of the processes that they have forked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Thread, Trace, TrackScope
from converter.selection.patterns import pattern
from converter.selection.selection import Selection

#: Kinds of events that are about other tasks than the one that they are on, and the fields that identify these.
_ABOUT: Final = (
    Kind.SCHED_SWITCH,
    Kind.SCHED_WAKING,
    Kind.SCHED_WAKEUP,
    Kind.SCHED_WAKEUP_NEW,
    Kind.TASK_NEW,
    Kind.TASK_RENAME,
    Kind.TASK_EXIT,
    Kind.TASK_FREE,
    Kind.PROCESS_FORK,
    Kind.PROCESS_EXEC,
    Kind.SIGNAL_GENERATE,
)
_TASK_ROLES: Final = (Role.PREV_TID, Role.NEXT_TID, Role.TID)
_BIRTHS: Final = (Kind.PROCESS_FORK, Kind.TASK_NEW)
Mask = NDArray[np.bool_]


def ids_about(trace: Trace, batch: Batch) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
    """Return the positions of events that are about tasks, and the ids of these; an event may be about several."""
    for number, table in batch.tables.items():
        event_class = trace.event_classes[number]
        if event_class.kind not in _ABOUT or not len(table):
            continue
        for index, field in enumerate(event_class.fields):
            column = table.column(index) if field.role in _TASK_ROLES else None
            if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
                yield batch.positions(number), column.astype(np.int64)


class WantedTasks:
    """The wanted threads of a trace, as far as it has been read."""

    def __init__(self, trace: Trace, selection: Selection) -> None:
        self._trace = trace
        self._pids = [pattern(text) for text in selection.pids]
        self._tids = [pattern(text) for text in selection.tids]
        self._comms = [pattern(text) for text in selection.comms]
        self._children = selection.children
        #: Ids of processes that wanted ones have forked.
        self._born: set[int] = set()
        #: The name of each thread when it was last checked, and whether it is wanted.
        self._known: list[tuple[str, str, bool]] = []
        self._wanted = np.zeros(1, np.bool_)
        self._wanted_tids = np.zeros(0, np.int64)
        self._of_tracks = np.zeros(1, np.bool_)

    def mask(self, batch: Batch) -> Mask:
        """Return the mask of the events of a batch that are on a wanted thread, or about one."""
        self._follow()
        if self._children:
            self._follow_births(batch)
        result = self._wanted[batch.thread]
        if len(self._trace.tracks):
            result = result | self._of_tracks[batch.track]
        for at, tids in ids_about(self._trace, batch):
            result[at] |= np.isin(tids, self._wanted_tids)
        return result

    def _follow(self) -> None:
        """Check threads and tracks that are new or were renamed."""
        trace = self._trace
        changed = False
        for index, thread in enumerate(trace.threads):
            names = (thread.name, trace.processes[thread.process].name)
            if index < len(self._known) and self._known[index][:2] == names:
                continue
            # A thread that was wanted under a former name stays so.
            before = index < len(self._known) and self._known[index][2]
            entry = (*names, before or self._is_wanted(thread))
            self._known[index : index + 1] = [entry]
            changed = True
        if changed:
            self._settle()
        elif len(self._of_tracks) != len(trace.tracks) + 1:
            self._settle_tracks()

    def _is_wanted(self, thread: Thread) -> bool:
        process = self._trace.processes[thread.process]
        if process.pid in self._born:
            return True
        return (
            (not self._pids or any(one.fullmatch(str(process.pid)) for one in self._pids))
            and (not self._tids or any(one.fullmatch(str(thread.tid)) for one in self._tids))
            and (
                not self._comms
                or any(
                    one.fullmatch(name)
                    for one in self._comms
                    for name in {thread.name or process.name, process.name}
                )
            )
        )

    def _wanted_pids(self) -> set[int]:
        threads = self._trace.threads
        return self._born | {
            self._trace.processes[thread.process].pid
            for thread, (_, _, wanted) in zip(threads, self._known, strict=False)
            if wanted
        }

    def _settle(self) -> None:
        while self._children and self._add_children():
            pass
        self._wanted = np.array([*(wanted for _, _, wanted in self._known), False], np.bool_)
        self._wanted_tids = np.array(
            [
                thread.tid - (1 << 64) if thread.tid >= 1 << 63 else thread.tid
                for thread, (_, _, wanted) in zip(self._trace.threads, self._known, strict=True)
                if wanted
            ],
            np.int64,
        )
        self._settle_tracks()

    def _add_children(self) -> bool:
        """Add the processes that wanted ones have forked; return True if any of these are new."""
        wanted = self._wanted_pids()
        new = {
            process.pid
            for process in self._trace.processes
            if process.parent_pid in wanted and process.pid not in self._born
        } - wanted
        self._born |= new
        for index, (name, owner, is_wanted) in enumerate(self._known):
            thread = self._trace.threads[index]
            if not is_wanted and self._trace.processes[thread.process].pid in self._born:
                self._known[index] = (name, owner, True)
        return bool(new)

    def _settle_tracks(self) -> None:
        """Update the tracks: a track is wanted if its thread, or its process, is."""
        threads = self._trace.threads
        processes = {
            threads[index].process for index, (_, _, wanted) in enumerate(self._known) if wanted
        }
        self._of_tracks = np.array(
            [
                *(
                    (track.scope is TrackScope.THREAD and bool(self._wanted[track.owner]))
                    or (track.scope is TrackScope.PROCESS and track.owner in processes)
                    for track in self._trace.tracks
                ),
                False,
            ],
            np.bool_,
        )

    def _follow_births(self, batch: Batch) -> None:
        for number, table in batch.tables.items():
            event_class = self._trace.event_classes[number]
            child = event_class.index_of(Role.TID)
            if event_class.kind not in _BIRTHS or child is None or not len(table):
                continue
            parent = event_class.index_of(Role.PARENT_TID)
            by_wanted = self._wanted[batch.thread[batch.positions(number)]]
            children = _integers(table.column(child))
            # A child may have children of its own in the same batch.
            while True:
                if parent is not None:
                    parents = _integers(table.column(parent))
                    by_wanted = by_wanted | np.isin(parents, self._wanted_tids)
                new = set(children[by_wanted].tolist()) - self._born
                if not new:
                    break
                self._born |= new
                self._want_tasks(new)

    def _want_tasks(self, ids: set[int]) -> None:
        """Add the processes and threads that have these ids."""
        for index, (name, owner, wanted) in enumerate(self._known):
            thread = self._trace.threads[index]
            pid = self._trace.processes[thread.process].pid
            if not wanted and (thread.tid in ids or pid in ids):
                self._known[index] = (name, owner, True)
        self._settle()


def _integers(column: Any) -> NDArray[np.int64]:
    assert isinstance(column, np.ndarray), "ids of tasks are integers"
    return column.astype(np.int64)
