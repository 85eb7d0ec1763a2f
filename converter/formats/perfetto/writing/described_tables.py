"""The processes, threads and tracks in the packets with which a trace was read, and that are written again."""

from __future__ import annotations

from typing import Any

from converter.formats.perfetto.layout import PacketField
from converter.formats.perfetto.mapping import derived_uuid
from converter.formats.perfetto.writing.metadata import TablePacket
from converter.ir.trace import Process, TrackScope


class DescribedTables:
    """Everything that such packets describe."""

    def __init__(self, packets: list[TablePacket]) -> None:
        self.uuids: set[int] = set()
        self.processes: set[int] = set()
        #: The processes of the described threads.
        self.implied: set[int] = set()
        self.threads: set[tuple[int, int]] = set()
        self._thread_uuids: dict[tuple[int, int], int] = {}
        self._process_uuids: dict[int, int] = {}
        for field, _, content in packets:
            match field if content else None:
                case PacketField.TRACK_DESCRIPTOR:
                    self._add_descriptor(content)
                case PacketField.PROCESS_TREE:
                    self._add_tree(content)
                case PacketField.PROCESS_DESCRIPTOR:
                    self.processes.add(content.get("pid", 0))
                case PacketField.THREAD_DESCRIPTOR:
                    self._add_thread(content)

    def _add_tree(self, tree: dict[str, Any]) -> None:
        self.processes |= {item.get("pid", 0) for item in tree.get("processes", ())}
        for item in tree.get("threads", ()):
            tid = item.get("tid", 0)
            pid = item.get("tgid", tid)
            self.threads.add((pid, tid))
            self.implied.add(pid)

    def _add_descriptor(self, descriptor: dict[str, Any]) -> None:
        uuid = descriptor.get("uuid", 0)
        self.uuids.add(uuid)
        if "thread" in descriptor:
            self._thread_uuids.setdefault(self._add_thread(descriptor["thread"]), uuid)
        elif "process" in descriptor:
            pid = descriptor["process"].get("pid", 0)
            self.processes.add(pid)
            self._process_uuids.setdefault(pid, uuid)

    def _add_thread(self, thread: dict[str, Any]) -> tuple[int, int]:
        key = (thread.get("pid", 0), thread.get("tid", 0))
        self.threads.add(key)
        self.implied.add(key[0])
        return key

    def describes(self, process: Process) -> bool:
        """Return True if a process is described completely: one that only its threads name has nothing but its pid."""
        bare = is_bare(process)
        return process.pid in self.processes or (bare and process.pid in self.implied)

    def thread_uuid(self, pid: int, tid: int) -> int:
        """Return the uuid of a thread's own track."""
        known = self._thread_uuids.get((pid, tid))
        if known is not None:
            return known
        return derived_uuid(b"", TrackScope.THREAD, (pid, tid), 0, "")

    def process_uuid(self, pid: int) -> int:
        """Return the uuid of a process's own track."""
        known = self._process_uuids.get(pid)
        return derived_uuid(b"", TrackScope.PROCESS, (pid,), 0, "") if known is None else known


def is_bare(process: Process) -> bool:
    """Return True if a process has nothing but its pid."""
    return not process.name and not process.command_line and process.parent_pid is None
