"""Processes, threads and tracks: process trees and track descriptors, each written as soon as it is known."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.json_sidecar import SortIndexes, has_switches, was_json
from converter.formats.perfetto.mapping import derived_uuid
from converter.formats.perfetto.writing.described_tables import DescribedTables, is_bare
from converter.formats.perfetto.writing.kernels.emit import Emitter, PacketSequence
from converter.formats.perfetto.writing.metadata import TablePacket, new_packet
from converter.ir.distinct_values import values_of
from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace, Track, TrackScope

#: SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY (track_descriptor.proto).
_BY_KEY: Final = 2
#: The descriptor of the root track, by which processes and threads are ordered by rank.
_EXPLICIT_ORDER: Final = {"uuid": 0, "process_ordering": 1, "thread_ordering": 1}
#: Importers treat process 0 as the idle task, whose thread has a fixed name. From a second descriptor of a process they
#: conclude that its number now belongs to another process.
_IDLE_PROCESS: Final = {
    "uuid": derived_uuid(b"idle", TrackScope.PROCESS, (0,), 0, ""),
    "process": {"pid": 0},
}

#: The delay after the event with which a task begins, in ns.
_BIRTH_DELAY: Final = 1


#: Process trees by their time: processes and threads.
_Trees = dict[int | None, dict[str, list[dict[str, Any]]]]


class TableOutput:
    """The entries of a trace's tables that are in the output."""

    def __init__(
        self,
        trace: Trace,
        sequence: PacketSequence,
        emitter: Emitter,
        known: list[TablePacket],
    ) -> None:
        self._trace = trace
        self._sequence = sequence
        self._emitter = emitter
        self._processes = 0
        self._threads = 0
        self._tids: list[int] = []
        self._thread_uuids: list[int] = []
        self._track_uuids: list[int] = []
        #: By index of the thread or process: its name in the output.
        self._thread_names: list[str] = []
        self._process_names: list[str] = []
        #: By the same index: the earliest time of its events, None for those known from the beginning.
        self._threads_since: list[int | None] = []
        self._processes_since: list[int | None] = []
        #: The numbers of processes and threads that are known from the beginning.
        self._first = len(trace.processes), len(trace.threads)
        self._first_of_tid: dict[int, int] = {}
        #: By index: the time of the first event on its track, if there is one.
        self._described_threads: dict[int, int | None] = {}
        self._described_processes: set[int] = set()
        self._described_tracks: set[int] = set()
        self._counters: set[int] = set()
        self._known = DescribedTables(known)
        #: For a trace that was read from this format: the names of tasks in its events, which importers also find.
        self._learned: LearnedNames | None = None
        #: Threads that events may name; they are written at the end if no event does.
        self._awaited: list[int] = []
        if trace.format == "perfetto":
            from converter.projection.passes.learned_names import LearnedNames

            self._learned = LearnedNames(trace)
        self.sort_indexes = SortIndexes()
        self._ordered = False

    def follow(
        self,
        threads: NDArray[np.int32],
        tracks: NDArray[np.int32],
        counters: NDArray[np.int32],
        batch: Batch | None,
    ) -> None:
        """Write new entries before a batch whose timeline events are on these threads and tracks.

        `counters` are the tracks among them that have counters.
        """
        trace = self._trace
        if self._learned is not None and batch is not None:
            self._learned.note(batch)
        known = len(self._process_names), len(self._thread_names)
        if batch is None:
            self._write_trees(None, {}, self._unnamed())
        elif not len(batch):
            self._write_trees(None, {})
        elif known == (len(trace.processes), len(trace.threads)):
            self._write_trees(int(batch.ts.min()), {})
        else:
            self._write_trees(int(batch.ts.min()), _births(trace, batch))
        for index in sorted(set(threads.tolist()) - self._described_threads.keys() - {-1}):
            self._describe_thread(index, _first(batch, thread=index))
        for index in range(len(self._track_uuids), len(self._trace.tracks)):
            self._track_uuids.append(self._track_uuid(self._trace.tracks[index]))
        self._sequence.set_threads(
            np.array(self._tids, np.int64), np.array(self._thread_uuids, np.uint64)
        )
        self._sequence.set_tracks(np.array(self._track_uuids, np.uint64))
        is_counter = set(counters.tolist()) - {-1}
        for index in sorted(set(tracks.tolist()) - {-1}):
            counts = index in is_counter
            if index not in self._described_tracks or (counts and index not in self._counters):
                self._describe_track(index, _first(batch, track=index), is_counter=counts)

    def process_uuids(self, threads: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Return the uuids of the tracks of threads' processes; zero where there is no thread."""

        def uuid(index: int) -> int:
            process = self._trace.threads[index].process
            return self._known.process_uuid(self._trace.processes[process].pid)

        found, which = np.unique(threads, return_inverse=True)
        uuids = [0 if index < 0 else uuid(index) for index in found.tolist()]
        return np.array(uuids, np.uint64)[which]

    # Processes and threads

    def _describe_all(self) -> None:
        """Write processes and threads that are new or newly named, for a trace that is not a recording of a kernel.

        From a process tree importers would conclude that it is one: its names are those of main threads and command
        lines. They read a position in the order only from the first description of a process or thread, and only if
        the root track's descriptor requests it.
        """
        self.sort_indexes.read(self._trace)
        if self.sort_indexes and not self._ordered:
            self._ordered = True
            self._put(None, track_descriptor=_EXPLICIT_ORDER)
        for index, process in enumerate(self._trace.processes):
            if index == len(self._process_names):
                self._process_names.append(process.name)
            elif self._process_names[index] == process.name:
                continue
            self._process_names[index] = process.name
            is_new = index not in self._described_processes
            if process.pid == 0 and is_new and not has_switches(self._trace):
                self._put(None, track_descriptor=_IDLE_PROCESS)
            self._described_processes.discard(index)
            self._describe_process(index, None)
        for index, thread in enumerate(self._trace.threads):
            if index == len(self._thread_names):
                pid = self._trace.processes[thread.process].pid
                self._thread_names.append(thread.name)
                self._tids.append(_signed(thread.tid))
                self._thread_uuids.append(self._known.thread_uuid(pid, thread.tid))
            elif self._thread_names[index] == thread.name:
                continue
            self._thread_names[index] = thread.name
            # The description of a process also names thread 0, which is a real one only if it has events or a name.
            if thread.tid or thread.name:
                self._described_threads.pop(index, None)
                self._describe_thread(index, None)

    def _write_trees(
        self, start: int | None, births: dict[int, int], unnamed: Collection[int] = ()
    ) -> None:
        """Write processes and threads that are new or newly named, and the threads `unnamed`.

        A name that becomes known late applies to the thread from its first event on: its tree has that time, by which
        importers sort. Later the thread may have ended, and another one would get the name. In the same way, importers
        apply a description from before a task begins to another task.
        """
        if was_json(self._trace):
            self._describe_all()
            return
        trees: _Trees = {}
        guessed = self._guessed()
        extra = self._add_processes(trees, start, births, guessed)
        self._add_threads(trees, start, births, guessed, unnamed)
        for time, tree in trees.items():
            self._put(time, process_tree=tree)
        for index in extra:
            self._described_processes.discard(index)
            self._describe_process(index, self._processes_since[index])

    def _add_processes(
        self, trees: _Trees, start: int | None, births: dict[int, int], guessed: set[int]
    ) -> list[int]:
        """Add processes to trees; return those whose command line needs a descriptor."""
        extra = []
        for index, process in enumerate(self._trace.processes):
            if index == len(self._process_names):
                self._process_names.append(process.name)
                since = None if index < self._first[0] else start
                self._processes_since.append(births.get(process.pid, since))
                if self._known.describes(process) or index in guessed:
                    continue
            elif self._process_names[index] == process.name:
                continue
            self._process_names[index] = process.name
            if process.command_line and process.command_line[0] != process.name:
                extra.append(index)
            tree = trees.setdefault(self._processes_since[index], {"processes": [], "threads": []})
            tree["processes"].append(_process_entry(process))
        return extra

    def _add_threads(
        self,
        trees: _Trees,
        start: int | None,
        births: dict[int, int],
        guessed: set[int],
        unnamed: Collection[int],
    ) -> None:
        """Add threads to trees, and describe those that trees cannot hold."""
        for index, thread in enumerate(self._trace.threads):
            process = self._trace.processes[thread.process]
            if index == len(self._thread_names):
                self._thread_names.append(thread.name)
                since = None if index < self._first[1] else start
                self._threads_since.append(births.get(thread.tid, since))
                self._tids.append(_signed(thread.tid))
                self._thread_uuids.append(self._known.thread_uuid(process.pid, thread.tid))
                self._first_of_tid.setdefault(thread.tid, index)
                if thread.process in guessed and thread.name:
                    self._awaited.append(index)
                if (process.pid, thread.tid) in self._known.threads or thread.process in guessed:
                    continue
            elif self._thread_names[index] == thread.name and index not in unnamed:
                continue
            self._thread_names[index] = thread.name
            if self._first_of_tid[thread.tid] != index:
                # A tree assigns each tid to one process, which is the first.
                self._describe_thread(index, self._described_threads.pop(index, None))
                continue
            tree = trees.setdefault(self._threads_since[index], {"processes": [], "threads": []})
            tree["threads"].append(_thread_entry(thread, process))
            if index in self._described_threads:
                self._describe_thread(index, self._described_threads.pop(index))

    def _unnamed(self) -> set[int]:
        """Return the threads omitted so far whose names no event has."""
        names = {} if self._learned is None else self._learned.names()
        threads = self._trace.threads
        awaited, self._awaited = self._awaited, []
        return {one for one in awaited if names.get(threads[one].tid) != threads[one].name}

    def _guessed(self) -> set[int]:
        """Return the new processes with one thread from kernel events that is not known to be the main thread.

        Importers leave open which process the thread belongs to, as does this package's reader until other data says
        it. The thread's name, if events have it, does not.
        """
        trace = self._trace
        members: dict[int, list[Thread]] = {}
        for thread in trace.threads[len(self._thread_names) :]:
            members.setdefault(thread.process, []).append(thread)
        return {
            index
            for index, threads in members.items()
            if index >= len(self._process_names)
            and [one.tid for one in threads] == [trace.processes[index].pid]
            and (self._learned is not None or not threads[0].name)
            and is_bare(trace.processes[index])
        }

    def _describe_process(self, index: int, since: int | None) -> None:
        """Write the process's own track, unless it has been written."""
        process = self._trace.processes[index]
        uuid = self._known.process_uuid(process.pid)
        if index not in self._described_processes and uuid not in self._known.uuids:
            self._described_processes.add(index)
            descriptor = {"uuid": uuid, "process": _process_descriptor(process)}
            descriptor.update(self.sort_indexes.fields_of(process.pid, None))
            self._put(since, track_descriptor=descriptor)

    def _describe_thread(self, index: int, since: int | None) -> None:
        """Write the thread's own track, unless it has been written.

        It has the time of its first event, so that importers apply it to the thread that begins in the recording
        (task_newtask), and not to an earlier one.
        """
        thread = self._trace.threads[index]
        pid = self._trace.processes[thread.process].pid
        uuid = self._thread_uuids[index]
        if index not in self._described_threads and uuid not in self._known.uuids:
            self._described_threads[index] = since
            named: dict[str, Any] = {"pid": pid & 0x7FFF_FFFF, "tid": thread.tid & 0x7FFF_FFFF}
            if thread.name:
                named["thread_name"] = _clean(thread.name)
            order = self.sort_indexes.fields_of(pid, thread.tid)
            self._put(since, track_descriptor={"uuid": uuid, "thread": named, **order})

    def _put(self, time: int | None, **content: Any) -> None:
        """Write a packet, with its time if it has one."""
        if time is not None:
            content["timestamp"] = max(time, 0)
        self._emitter.put(new_packet(**content))

    # Tracks

    def _parent_uuid(self, track: Track) -> int:
        if track.parent >= 0:
            return self._track_uuids[track.parent]
        if track.scope is TrackScope.THREAD:
            return self._thread_uuids[track.owner]
        if track.scope is TrackScope.PROCESS:
            return self._known.process_uuid(self._trace.processes[track.owner].pid)
        return 0

    def _track_uuid(self, track: Track) -> int:
        if track.identity and track.identity in self._known.uuids:
            return track.identity
        owner = self._owner(track)
        if track.identity:
            owner = (*owner, track.identity)
        name = track.name.encode("utf-8", "surrogateescape")
        return derived_uuid(name, track.scope, owner, self._parent_uuid(track), track.unit)

    def _owner(self, track: Track) -> tuple[int, ...]:
        if track.scope is TrackScope.THREAD:
            thread = self._trace.threads[track.owner]
            return (self._trace.processes[thread.process].pid, thread.tid)
        if track.scope is TrackScope.PROCESS:
            return (self._trace.processes[track.owner].pid,)
        return (track.owner,)

    def _describe_track(self, index: int, since: int | None, *, is_counter: bool) -> None:
        track = self._trace.tracks[index]
        uuid = self._track_uuids[index]
        if index in self._described_tracks and (not is_counter or index in self._counters):
            return
        if uuid in self._known.uuids:
            return
        self._described_tracks.add(index)
        if track.parent >= 0:
            self._describe_track(track.parent, since, is_counter=False)
        elif track.scope is TrackScope.THREAD:
            self._describe_thread(track.owner, since)
        elif track.scope is TrackScope.PROCESS:
            self._describe_process(track.owner, since)
        descriptor: dict[str, Any] = {"uuid": uuid}
        if track.name:
            descriptor["name"] = _clean(track.name)
        parent = self._parent_uuid(track)
        if parent:
            descriptor["parent_uuid"] = parent
        if track.identity:
            descriptor["sibling_merge_behavior"] = _BY_KEY
            descriptor["sibling_merge_key_int"] = track.identity & 0xFFFF_FFFF_FFFF_FFFF
        if self._needs_scope(track):
            descriptor["description"] = " ".join(
                [
                    track.scope.name.lower(),
                    *(map(str, self._owner(track)) if track.owner >= 0 else ()),
                ]
            )
        if track.unit or is_counter:
            self._counters.add(index)
            descriptor["counter"] = {"unit_name": _clean(track.unit)} if track.unit else {}
        self._put(since, track_descriptor=descriptor)

    def _needs_scope(self, track: Track) -> bool:
        """Return True if a track's owner does not follow from its parent's descriptor."""
        if track.parent < 0:
            return track.scope is TrackScope.CPU
        parent = self._trace.tracks[track.parent]
        return (parent.scope, parent.owner) != (track.scope, track.owner)


def _first(batch: Batch | None, **owner: int) -> int | None:
    """Return the time of the first event on a thread or track."""
    ((column, index),) = owner.items()
    return None if batch is None else int(batch.ts[getattr(batch, column) == index].min())


def _process_entry(process: Process) -> dict[str, Any]:
    """Return a process for a tree."""
    form: dict[str, Any] = {"pid": process.pid & 0x7FFF_FFFF}
    if process.parent_pid is not None:
        form["ppid"] = process.parent_pid & 0x7FFF_FFFF
    if process.command_line and process.command_line[0] == process.name:
        form["cmdline"] = [_raw(part) for part in process.command_line]
    elif process.name and not process.command_line:
        # Importers parse a single text as a whole command line, and its first word as the name.
        form["cmdline"] = [_clean(process.name), *([""] if " " in process.name else [])]
        form["cmdline_is_comm"] = True
    return form


def _thread_entry(thread: Thread, process: Process) -> dict[str, Any]:
    """Return a thread for a tree."""
    form: dict[str, Any] = {"tid": thread.tid & 0x7FFF_FFFF, "tgid": process.pid & 0x7FFF_FFFF}
    if thread.name:
        form["name"] = _clean(thread.name)
    return form


def _process_descriptor(process: Process) -> dict[str, Any]:
    descriptor: dict[str, Any] = {"pid": process.pid & 0x7FFF_FFFF}
    # Also an empty name: importers replace a missing one by the first word of the command line.
    if process.name or process.command_line:
        descriptor["process_name"] = _clean(process.name)
    return {**descriptor, "cmdline": [_raw(part) for part in process.command_line]}


def _raw(text: str) -> bytes:
    """Return an argument of a command line, which is not projected, as its original bytes."""
    return text.encode("utf-8", "surrogateescape")


def _clean(text: str) -> str:
    """Return text as a protobuf string can hold it; names have been projected to UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _signed(tid: int) -> int:
    return (tid + (1 << 63)) % (1 << 64) - (1 << 63)


def _births(trace: Trace, batch: Batch) -> dict[int, int]:
    """Return the tasks that begin in a batch without earlier events in it: by tid, the time from which they exist."""
    found: dict[int, int] = {}
    for class_id, table in batch.tables.items():
        event_class = trace.event_classes[class_id]
        tid_index = event_class.index_of(Role.TID)
        if event_class.kind is not Kind.TASK_NEW or tid_index is None or not len(table):
            continue
        column = table.column(tid_index)
        assert isinstance(column, np.ndarray)
        positions = np.flatnonzero(batch.class_id == class_id)
        tids = column[batch.row[positions]].tolist()
        for tid, ts in zip(tids, batch.ts[positions].tolist(), strict=True):
            found[tid] = min(ts, found.get(tid, ts))
    if not found:
        return {}
    numbers = [one.tid for one in trace.threads]
    # The last entry is for events without a thread; no time is before 0.
    since = np.array([*(found.get(tid, 0) for tid in numbers), 0], np.int64)
    before = batch.ts < np.take(since, batch.thread, mode="wrap")
    for index in values_of(batch.thread[before]).tolist():
        found.pop(numbers[index], None)
    return {tid: ts + _BIRTH_DELAY for tid, ts in found.items()}
