"""Processes, threads and tracks: converts ProcessTree and descriptors to the trace's tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceWarning, note
from converter.formats.perfetto.mapping import UNITS, derived_uuid
from converter.formats.perfetto.reading.kernels.scan_sequences import KeyMap
from converter.ir.trace import Process, Thread, Trace, Track, TrackScope
from converter.limits import allowed, limit
from converter.projection.passes.learned_names import task_name

#: The spaces of position keys: a track's uuid, and a thread as ``pid << 32 | tid`` (both of 32 bits).
UUID_SPACE: Final = 0
THREAD_SPACE: Final = 1

#: The name of the CPU time of threads in importers.
_THREAD_TIME: Final = b"thread_time"
#: Builtin counters (counter_descriptor.proto, BuiltinCounterType): name and unit.
_BUILTIN_COUNTERS: Final = {1: (_THREAD_TIME, "ns"), 2: (b"thread_instruction_count", "count")}
#: The owner of a track where the parent's descriptor does not say it: CPUs, for which descriptors have no field, and
#: owners other than those of the parent track.
SCOPE_DESCRIPTION: Final = re.compile(
    rb"global|cpu (?P<cpu>\d{1,9})|process (?P<pid>\d{1,10})|thread (?P<of>\d{1,10}) (?P<tid>\d{1,10})"
)


def text(data: bytes) -> str:
    """Decode text of a table: bytes that are not UTF-8 become surrogates."""
    return data.decode("utf-8", "surrogateescape")


def track_name(descriptor: dict[str, Any]) -> bytes:
    """Return the name of a track, empty if it has none."""
    for field in ("name", "static_name", "atrace_name"):
        if descriptor.get(field):
            return bytes(descriptor[field])
    builtin = _BUILTIN_COUNTERS.get(descriptor.get("counter", {}).get("type", 0))
    return builtin[0] if builtin is not None else b""


def is_thread_time(descriptor: dict[str, Any]) -> bool:
    """Return True if a track is the counter of a thread's CPU time."""
    return "counter" in descriptor and track_name(descriptor) == _THREAD_TIME


class TrackTables:
    """The positions of events: the descriptors, and the indexes of tracks and threads in the trace.

    The value of a position is the index of a track, or -2 minus the index of a thread (-2 is thread 0).
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.threads_by_tid = KeyMap()
        self.positions = KeyMap()
        self._processes: dict[int, int] = {}
        self._threads: dict[tuple[int, int], int] = {}
        self._process_of_tid: dict[int, int] = {}
        #: The names that events give to tasks, by tid.
        self._names: dict[int, str] = {}
        self.descriptors: dict[int, dict[str, Any]] = {}

    # Metadata

    def add_process_tree(self, tree: dict[str, Any]) -> int:
        """Add a decoded ProcessTree; return the number of processes that had another name before."""
        renamed = 0
        for item in tree.get("processes", ()):
            pid = item.get("pid", 0)
            process = self._trace.processes[self.process(pid)]
            command_line = tuple(text(part) for part in item.get("cmdline", ()))
            if "ppid" in item:
                process.parent_pid = item["ppid"]
            if command_line:
                renamed += process.name not in ("", command_line[0])
                process.name = command_line[0]
                process.command_line = () if item.get("cmdline_is_comm") else command_line
            self._process_of_tid[pid] = pid
        for item in tree.get("threads", ()):
            tid = item.get("tid", 0)
            pid = item.get("tgid", tid)
            self._process_of_tid[tid] = pid
            index = self.thread(pid, tid)
            if item.get("name"):
                self._trace.threads[index].name = text(item["name"])
        return renamed

    def add_descriptor(self, descriptor: dict[str, Any]) -> None:
        """Add a decoded TrackDescriptor; later ones with the same uuid add to earlier ones."""
        uuid = descriptor.get("uuid", 0)
        known = self.descriptors.setdefault(uuid, {})
        for key, value in descriptor.items():
            if isinstance(value, dict) and isinstance(known.get(key), dict):
                known[key].update(value)
            else:
                known[key] = value
        if "process" in descriptor:
            self.add_process_descriptor(descriptor["process"])
        if "thread" in descriptor:
            self.add_thread_descriptor(descriptor["thread"])

    def add_process_descriptor(self, descriptor: dict[str, Any]) -> int:
        """Add a decoded ProcessDescriptor; return the process."""
        index = self.process(descriptor.get("pid", 0))
        process = self._trace.processes[index]
        if descriptor.get("cmdline"):
            process.command_line = tuple(text(part) for part in descriptor["cmdline"])
            process.name = process.name or process.command_line[0]
        # An empty name counts, too, if there is a command line: then the process has no name.
        if descriptor.get("process_name") or (
            "process_name" in descriptor and process.command_line
        ):
            process.name = text(descriptor["process_name"])
        return index

    def add_thread_descriptor(self, descriptor: dict[str, Any]) -> int:
        """Add a decoded ThreadDescriptor; return the thread."""
        pid, tid = descriptor.get("pid", 0), descriptor.get("tid", 0)
        self._process_of_tid.setdefault(tid, pid)
        index = self.thread(pid, tid)
        if descriptor.get("thread_name"):
            self._trace.threads[index].name = text(descriptor["thread_name"])
        return index

    def name_tasks(self, names: Mapping[int, bytes]) -> None:
        """Add the names of tasks in kernel events, by tid, for tasks that have no name in the metadata."""
        self._names = {tid: task_name(tid, name) for tid, name in names.items()}
        for tid in self._names:
            known = self._threads.get((self._process_of_tid.get(tid, tid), tid))
            if known is not None:
                self._name_task(known)

    def _name_task(self, index: int) -> None:
        thread = self._trace.threads[index]
        thread.name = thread.name or self._names.get(thread.tid, "")

    # Indices

    def process(self, pid: int) -> int:
        """Return the process, which is added if new."""
        index = self._processes.get(pid)
        if index is None:
            index = self._processes[pid] = len(self._trace.processes)
            self._trace.processes.append(Process(pid))
        return index

    def thread(self, pid: int, tid: int) -> int:
        """Return the thread of a process, which is added if new."""
        index = self._threads.get((pid, tid))
        if index is None:
            process = self.process(pid)
            index = self._threads[pid, tid] = len(self._trace.threads)
            self._trace.threads.append(Thread(tid, process))
        return index

    def threads(self, tids: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the thread of each kernel event by tid (-1: none). A tid without metadata gets its own process."""
        out = np.empty(len(tids), np.int32)
        missing = self.threads_by_tid.map_tids(tids, out)
        if missing:
            for tid in missing:
                pid = self._process_of_tid.get(tid, tid)
                index = self.thread(pid, tid)
                self._name_task(index)
                self.threads_by_tid.set(tid, 0, index)
            self.threads_by_tid.map_tids(tids, out)
        return out

    def resolve(
        self, keys: NDArray[np.uint64], spaces: NDArray[np.uint8]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return (track, thread) of each event by its position key; -1 where there is none."""
        out = np.empty(len(keys), np.int32)
        missing = self.positions.map_places(keys, spaces, out)
        if missing:
            for key, space in missing:
                if space == UUID_SPACE:
                    value = self._position(key, 0)
                else:
                    value = -2 - self.thread(_signed(key >> 32), _signed(key & 0xFFFF_FFFF))
                self.positions.set(key, space, value)
            self.positions.map_places(keys, spaces, out)
        return np.maximum(out, -1), np.maximum(-2 - out, -1)

    def _position(self, uuid: int, depth: int) -> int:
        descriptor = self.descriptors.get(uuid, {})
        if "thread" in descriptor:
            return -2 - self.add_thread_descriptor(descriptor["thread"])
        if uuid == 0 and not descriptor:
            return -1
        return self._track(uuid, descriptor, depth)

    def _track(self, uuid: int, descriptor: dict[str, Any], depth: int) -> int:
        known = self.positions.get(uuid, UUID_SPACE, -1)
        if known >= 0:
            return known
        scope, owner, parent = self._enclosing(descriptor, depth)
        name = track_name(descriptor)
        unit = ""
        if "counter" in descriptor:
            counter = descriptor["counter"]
            unit = text(counter.get("unit_name", b"")) or UNITS.get(counter.get("unit", 0), "")
            builtin = _BUILTIN_COUNTERS.get(counter.get("type", 0))
            if builtin is not None:
                unit = unit or builtin[1]
        parent_uuid = descriptor.get("parent_uuid", 0)
        identity = descriptor.get("sibling_merge_key_int", 0)
        known_by = (*self._identity(scope, owner), *([identity] if identity else ()))
        if uuid != derived_uuid(name, scope, known_by, parent_uuid, unit):
            identity = uuid
        index = len(self._trace.tracks)
        self._trace.tracks.append(Track(text(name), scope, owner, parent, unit, identity))
        self.positions.set(uuid, UUID_SPACE, index)
        return index

    def _enclosing(self, descriptor: dict[str, Any], depth: int) -> tuple[TrackScope, int, int]:
        """Return scope, owner and parent of a track."""
        if "process" in descriptor:
            return TrackScope.PROCESS, self.add_process_descriptor(descriptor["process"]), -1
        if depth == limit("perfetto.tracks"):
            expected = allowed("perfetto.tracks")
            what = "a track without those that it is in"
            note(
                self._trace.warnings,
                TraceWarning(message=what, format="perfetto", expected=expected, is_damage=False),
            )
            return TrackScope.GLOBAL, -1, -1
        parent_uuid = descriptor.get("parent_uuid", 0)
        parent = self.descriptors.get(parent_uuid)
        described = SCOPE_DESCRIPTION.fullmatch(descriptor.get("description", b""))
        if described is not None:
            above = -1
            if parent_uuid and parent is not None and parent is not descriptor:
                is_track = not {"thread", "process"} & parent.keys()
                if is_track:
                    above = self._track(parent_uuid, parent, depth + 1)
            return *self._described(described), above
        if parent is None or parent is descriptor:
            return TrackScope.GLOBAL, -1, -1
        if "thread" in parent:
            return TrackScope.THREAD, self.add_thread_descriptor(parent["thread"]), -1
        if "process" in parent:
            return TrackScope.PROCESS, self.add_process_descriptor(parent["process"]), -1
        if parent_uuid == 0:
            return TrackScope.GLOBAL, -1, -1
        value = self._track(parent_uuid, parent, depth + 1)
        track = self._trace.tracks[value]
        return track.scope, track.owner, value

    def _described(self, description: re.Match[bytes]) -> tuple[TrackScope, int]:
        """Return scope and owner of a track whose description contains them."""
        if description["cpu"]:
            return TrackScope.CPU, int(description["cpu"])
        if description["tid"]:
            return TrackScope.THREAD, self.thread(int(description["of"]), int(description["tid"]))
        if description["pid"]:
            return TrackScope.PROCESS, self.process(int(description["pid"]))
        return TrackScope.GLOBAL, -1

    def _identity(self, scope: TrackScope, owner: int) -> tuple[int, ...]:
        if scope is TrackScope.THREAD:
            thread = self._trace.threads[owner]
            return (self._trace.processes[thread.process].pid, thread.tid)
        if scope is TrackScope.PROCESS:
            return (self._trace.processes[owner].pid,)
        return (owner,)


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value
