"""task.txt: sessions (a program's image in a process), tasks, forks and libraries opened later (utils/session.c).

SESS timestamp=897.412374762 pid=25594 sid=98210c2622eac16b exename="/usr/bin/x"
TASK timestamp=897.412432419 tid=25594 pid=25594
FORK timestamp=897.419175885 pid=25599 ppid=25594
DLOP timestamp=897.466900454 tid=25594 sid=98210c2622eac16b base=7f62bfae8000 libname="./lib.so"
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right, insort
from collections.abc import Callable
from dataclasses import dataclass, field

from converter.errors import TraceError
from converter.limits import limit

_LINE = re.compile(rb"(SESS|TASK|FORK|DLOP) +timestamp=(\d{1,10})\.(\d{9}) (.*)", re.DOTALL)
_FIELD = re.compile(rb'(\w+)=(?:"([^"]*)"|(\S+))')
_SID = re.compile(r"[0-9a-f]{16}", re.ASCII)

#: Messages in the binary file `task` of old recordings (uftrace.h, enum uftrace_msg_type).
_MESSAGE_MAGIC = 0xFACE
_TASK_START = 3
_FORK_END = 6
_SESSION = 7


@dataclass(frozen=True, slots=True)
class Library:
    """A library that a session opened later; `base` is its load address."""

    time: int
    base: int
    path: str


@dataclass(slots=True)
class Session:
    """An image of a program; `sid` names its map."""

    time: int
    pid: int
    sid: str
    program: str
    libraries: list[Library] = field(default_factory=list)


@dataclass(slots=True)
class Tasks:
    """The content of task.txt, in its order; pids by tid, parents (time, pid) by pid."""

    sessions: list[Session] = field(default_factory=list)
    processes: dict[int, int] = field(default_factory=dict)
    parents: dict[int, tuple[int, int]] = field(default_factory=dict)
    #: True if a task has more ancestors than are searched for its session.
    lost: bool = False
    _of_process: dict[int, list[Session]] = field(default_factory=dict)
    #: By the id of sessions, which are one image in several processes.
    _libraries: dict[str, list[Library]] = field(default_factory=dict)

    def add(self, kind: str, time: int, values: dict[str, str]) -> None:
        """Add the content of a line; ValueError or KeyError if it is invalid."""
        if kind == "SESS":
            sid = _sid(values["sid"])
            libraries = self._libraries.setdefault(sid, [])
            session = Session(time, _id(values["pid"]), sid, values["exename"], libraries)
            self.sessions.append(session)
            insort(self._of_process.setdefault(session.pid, []), session, key=lambda one: one.time)
            self.processes.setdefault(session.pid, session.pid)
        elif kind == "TASK":
            self.processes[_id(values["tid"])] = _id(values["pid"])
        elif kind == "FORK":
            pid = _id(values["pid"])
            self.processes[pid] = pid
            self.parents[pid] = time, _id(values["ppid"])
        else:
            sid = _sid(values["sid"])
            library = Library(time, int(values["base"], 16), values["libname"])
            if not 0 <= library.base < 1 << 64:
                raise ValueError("a base beyond 64 bits")
            if sid in self._libraries:
                self._libraries[sid].append(library)

    def session_times(self, tid: int) -> list[tuple[int, Session]]:
        """Return the sessions of a task by ascending start time: those of its process, before them its parent's."""
        found: list[tuple[int, Session]] = []
        forked: int | None = None
        most = limit("uftrace.ancestors")
        pid = self.processes.get(tid, tid)
        seen: set[int] = set()
        while pid not in seen and len(seen) <= most:
            seen.add(pid)
            own = self._of_process.get(pid, [])
            if forked is not None:
                # Only the parent's session at the time of the fork counts.
                own = own[: bisect_right([session.time for session in own], forked)][-1:]
            found[:0] = [(session.time, session) for session in own]
            if (own and forked is not None) or pid not in self.parents:
                break
            forked, pid = self.parents[pid]
            self.lost |= len(seen) > most
        return found or [(session.time, session) for session in self.sessions[:1]]


def parse_tasks(text: bytes, warn: Callable[[TraceError], None]) -> Tasks:
    """Parse task.txt; invalid lines are omitted with a warning."""
    tasks = Tasks()
    at = 0
    for raw in text.split(b"\n"):
        start, at = at, at + len(raw) + 1
        if not raw.strip() or raw.startswith(b"#"):
            continue
        match = _LINE.fullmatch(raw)
        try:
            if match is None:
                raise ValueError("not SESS, TASK, FORK or DLOP with a timestamp")
            values = {
                name.decode(): (quoted or plain).decode("utf-8", "surrogateescape")
                for name, quoted, plain in _FIELD.findall(match[4])
            }
            time = int(match[2]) * 1_000_000_000 + int(match[3])
            tasks.add(match[1].decode(), time, values)
        except KeyError as error:
            warn(TraceError(offset=start, field="task", expected=f"{error.args[0]}=", found=raw))
        except ValueError as error:
            warn(TraceError(str(error), offset=start, field="task", found=raw))
    return tasks


def parse_binary_tasks(data: bytes, order: str, warn: Callable[[TraceError], None]) -> Tasks:
    """Parse `task`, which old versions wrote instead of task.txt.

    Messages are a header (u16 magic, u16 type, u32 length), a time, a pid and a tid; in messages of a session these
    are followed by its id, an unused number, the length of the program's name and the name, padded to 8 bytes.
    """
    tasks = Tasks()
    message = struct.Struct(f"{order}HHIQii")
    session = struct.Struct(f"{order}16s4xi")
    at = 0
    while at < len(data):
        try:
            magic, kind, _, time, pid, tid = message.unpack_from(data, at)
            if magic != _MESSAGE_MAGIC or kind not in (_TASK_START, _FORK_END, _SESSION):
                raise ValueError("not a message of a task or session")
            values = {"pid": str(pid), "tid": str(tid)}
            size = message.size
            if kind == _SESSION:
                sid, length = session.unpack_from(data, at + size)
                size += session.size
                name = data[at + size : at + size + length]
                if length < 0 or len(name) < length:
                    raise ValueError("the name of the program is cut off")
                values |= {
                    "sid": sid.decode("ascii"),
                    "exename": name.rstrip(b"\0").decode("utf-8", "surrogateescape"),
                }
                tasks.add("SESS", time, values)
                size += length + -length % 8
            elif kind == _FORK_END:
                tasks.add("FORK", time, {"pid": str(tid), "ppid": str(pid)})
            else:
                tasks.add("TASK", time, values)
        except (struct.error, ValueError) as error:
            warn(TraceError(str(error), offset=at, field="task"))
            break
        at += size
    return tasks


def _id(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) >= 1 << 31:
        raise ValueError(f"not the number of a task: {text[:20]!r}")
    return int(text)


def _sid(text: str) -> str:
    if not _SID.fullmatch(text):
        raise ValueError(f"not the id of a session: {text[:40]!r}")
    return text
