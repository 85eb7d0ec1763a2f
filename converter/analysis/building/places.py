"""The processes, threads and tracks that a program declares for its events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.analysis.building.values import Integers, fitted, integer, integers, is_many, text
from converter.errors import ArgumentError
from converter.ir.field_classes import IntegerClass
from converter.ir.trace import Process, Thread, Trace, Track, TrackScope


class Place(NamedTuple):
    """A thread, or a track of the timeline, that `TraceBuilder` has made and that events can be on."""

    thread: int
    track: int
    name: str


#: The location of an event, or of each of many: a place, or the number or the name of a thread that has been declared.
Where = Place | Integers | str | None
CPU = IntegerClass(32, signed=True)
_NOWHERE = Place(-1, -1, "nowhere")


class Places:
    """The declarations of `TraceBuilder`."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._processes: dict[int, int] = {}
        self._threads: dict[tuple[int, int], int] = {}
        self._by_tid: dict[int, list[int]] = {}

    def process(
        self, pid: int, name: str = "", *, parent: int | None = None, command: Sequence[str] = ()
    ) -> None:
        """Declare a process, or add to its declaration; threads declare theirs by themselves.

        Args:
            pid: its number, 0 or more.
            name: its name.
            parent: the number of the process that started it, if known.
            command: the words of its command line, if known.
        """
        number = integer("pid", pid, least=0)
        index = self._processes.get(number)
        if index is None:
            index = self._processes[number] = len(self._trace.processes)
            self._trace.processes.append(Process(number))
        process = self._trace.processes[index]
        process.name = text("name", name) or process.name
        process.parent_pid = (
            process.parent_pid if parent is None else integer("parent", parent, least=0)
        )
        process.command_line = tuple(command) or process.command_line

    def thread(self, tid: int, name: str = "", *, pid: int | None = None) -> Place:
        """Declare a thread, or add to its declaration.

        Args:
            tid: its number, 0 or more.
            name: its name.
            pid: the number of its process; by default, the thread's own number.

        Returns:
            The place of events on it.
        """
        number = integer("tid", tid, least=0)
        owner_pid = number if pid is None else integer("pid", pid, least=0)
        if owner_pid not in self._processes:
            self.process(owner_pid, text("name", name) if owner_pid == number else "")
        index = self._threads.get((number, owner_pid))
        if index is None:
            index = self._threads[number, owner_pid] = len(self._trace.threads)
            self._by_tid.setdefault(number, []).append(index)
            self._trace.threads.append(Thread(number, self._processes[owner_pid]))
        thread = self._trace.threads[index]
        thread.name = text("name", name) or thread.name
        return Place(index, -1, f"thread {number}")

    def track(
        self,
        name: str,
        *,
        pid: int | None = None,
        thread: Place | None = None,
        cpu: int | None = None,
        unit: str = "",
    ) -> Place:
        """Make a track of the timeline, which belongs to one of these, or to the whole trace.

        Args:
            name: its name; two of the same name are two tracks.
            pid: the number of a process that was declared.
            thread: the place of a thread.
            cpu: the number of a CPU, 0 or more.
            unit: the unit of a counter on it (``"bytes"``).

        Returns:
            The place of events on it.
        """
        if sum(owner is not None for owner in (pid, thread, cpu)) > 1:
            raise ArgumentError("a track is of a process, a thread or a CPU: give one of them")
        scope, owner = TrackScope.GLOBAL, -1
        if pid is not None:
            if pid not in self._processes:
                raise ArgumentError(f"no process {pid}: declare it with process({pid}, name)")
            scope, owner = TrackScope.PROCESS, self._processes[pid]
        elif thread is not None:
            scope, owner = TrackScope.THREAD, self._place_of(thread).thread
        elif cpu is not None:
            scope, owner = TrackScope.CPU, fitted("cpu", CPU, integer("cpu", cpu, least=0))
        # Two of the same name are distinguished by their numbers.
        track = Track(
            text("name", name), scope, owner, unit=unit, identity=len(self._trace.tracks) + 1
        )
        self._trace.tracks.append(track)
        return Place(-1, len(self._trace.tracks) - 1, f"track {name!r}")

    def _place_of(self, on: object) -> Place:
        """Return the place that a caller passed."""
        match on:
            case None:
                return _NOWHERE
            case Place(thread, track):
                if thread >= len(self._trace.threads) or track >= len(self._trace.tracks):
                    raise ArgumentError(f"{on.name} is of another builder")
                return on
            case int() | np.integer():
                return self._thread_of_tid(int(on))
            case str():
                return self._thread_of_name(on)
        raise ArgumentError(
            f"events are on a thread or track, or on the thread of a number or a name, not {on!r}"
        )

    def _thread_of_name(self, name: str) -> Place:
        found = [index for index, one in enumerate(self._trace.threads) if one.name == name]
        if len(found) == 1:
            return Place(found[0], -1, f"thread {name!r}")
        if not found:
            raise ArgumentError(
                f"no thread is called {name!r}: declare it with thread(tid, {name!r})"
            )
        tids = ", ".join(str(self._trace.threads[index].tid) for index in found)
        raise ArgumentError(f"threads {tids} are called {name!r}: name one by its number")

    def _thread_of_tid(self, tid: int) -> Place:
        found = self._by_tid.get(tid, [])
        if len(found) == 1:
            return Place(found[0], -1, f"thread {tid}")
        if not found:
            raise ArgumentError(f"no thread {tid}: declare it with thread({tid}, name)")
        raise ArgumentError(f"thread {tid} is of several processes: use what thread() gave")

    def _places(self, on: Where, count: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        if on is None or isinstance(on, Place | str) or not is_many(on):
            place = self._place_of(on)
            return np.full(count, place.thread, np.int32), np.full(count, place.track, np.int32)
        distinct, numbers = np.unique(integers("on", on, count), return_inverse=True)
        threads = np.array([self._thread_of_tid(tid).thread for tid in distinct.tolist()], np.int32)
        return threads[numbers], np.full(count, -1, np.int32)
