"""How long a recorded conversion takes on so many processors: a discrete-event model of the thread pool.

The threads of the pool (`converter/storage/pool/workers.py`) are simulated: each takes blocking tasks before leaf
tasks, and while it waits for a result it runs what the pool would let it run. A step takes as long as it took when it
was recorded. Not in the model: the interpreter's lock, memory bandwidth, caches, the disk. How much these matter is
seen where the model is compared with as many processors as the machine has.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Generator
from typing import NamedTuple

from benchmarks.pool_recording import Recording

#: What a simulated thread waits for next: that many seconds, or (None) that something happens.
_Pause = Generator[float | None, None, None]
_NOTHING, _LEAF_TASKS, _ALL = range(3)
_OPEN, _CLAIMED, _DONE = range(3)


class Simulated(NamedTuple):
    """The seconds that a command takes, and the number of processors that are busy on average."""

    seconds: float
    busy: float


def simulate(recording: Recording, processors: int) -> Simulated:
    """Return what a recorded command takes on so many processors."""
    seconds = _Pool(recording, processors).run()
    return Simulated(seconds, recording.seconds / seconds)


class _Pool:
    """The threads of a pool, and what they have done so far."""

    def __init__(self, recording: Recording, processors: int) -> None:
        self._tasks = recording.tasks
        self._states = [_OPEN] * len(recording.tasks)
        self._blocking_tasks: deque[int] = deque()
        self._leaf_tasks: deque[int] = deque()
        self._idle: list[_Pause] = []
        self._events: list[tuple[float, int, _Pause]] = []
        self._order = 0
        self._now = 0.0
        self._continue(self._main())
        for _ in range(processors - 1):
            self._continue(self._thread())

    def run(self) -> float:
        """Return the seconds from the begin of the first task to its end."""
        while self._states[0] != _DONE:
            self._now, _, thread = heapq.heappop(self._events)
            self._continue(thread)
        return self._now

    def _continue(self, thread: _Pause) -> None:
        pause = next(thread, -1.0)
        if pause is None:
            self._idle.append(thread)
        elif pause >= 0:
            self._order += 1
            heapq.heappush(self._events, (self._now + pause, self._order, thread))

    def _wake(self) -> None:
        """Have all idle threads look for something to do."""
        idle, self._idle = self._idle, []
        for thread in idle:
            self._order += 1
            heapq.heappush(self._events, (self._now, self._order, thread))

    def _main(self) -> _Pause:
        self._states[0] = _CLAIMED
        yield from self._run(0, _ALL)

    def _thread(self) -> _Pause:
        while True:
            task = self._find(_ALL)
            if task is None:
                yield None
            else:
                yield from self._claimed(task)

    def _claimed(self, task: int) -> _Pause:
        self._states[task] = _CLAIMED
        self._queue_of(task).remove(task)
        yield from self._run(task, _LEAF_TASKS if self._tasks[task].may_block else _NOTHING)

    def _queue_of(self, task: int) -> deque[int]:
        return self._blocking_tasks if self._tasks[task].may_block else self._leaf_tasks

    def _run(self, task: int, may: int) -> _Pause:
        for what, value in self._tasks[task].steps:
            if what == "compute":
                yield value
            elif what == "submit":
                self._queue_of(int(value)).append(int(value))
                self._wake()
            else:
                yield from self._wait(int(value), may)
        self._states[task] = _DONE
        self._wake()

    def _wait(self, task: int, may: int) -> _Pause:
        if may == _ALL and not self._tasks[task].may_block:
            may = _LEAF_TASKS
        while self._states[task] != _DONE:
            found = task if self._states[task] == _OPEN else self._find(may)
            if found is None:
                yield None
            else:
                yield from self._claimed(found)

    def _find(self, may: int) -> int | None:
        if may == _ALL and self._blocking_tasks:
            return self._blocking_tasks[0]
        return self._leaf_tasks[0] if may != _NOTHING and self._leaf_tasks else None
