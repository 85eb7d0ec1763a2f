"""Tasks of several threads whose results are returned in the order of submission."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from queue import SimpleQueue
from typing import Final, Generic, TypeVar

from converter.storage.pool.workers import Future, TaskGroup, workers

State = TypeVar("State")
Item = TypeVar("Item")
Result = TypeVar("Result")

#: The number of tasks that are queued in addition: the submitter runs one itself meanwhile, and other threads need a
#: next.
_QUEUED: Final = 2


class OrderedWork(Generic[State]):
    """Tasks, each of which has one of `states` to itself: the state that a kernel keeps between calls.

    A task without others is run by the caller that requests its result; so are all tasks if there is only one
    state. Otherwise as many tasks are in progress as there are states, and few more are queued, so that memory
    stays bounded.
    """

    def __init__(self, states: Sequence[State]) -> None:
        self._states = len(states)
        self._idle: SimpleQueue[State] = SimpleQueue()
        for state in states:
            self._idle.put(state)
        self._workers: TaskGroup | None = None

    def results(
        self, work: Callable[[State, Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        """Return the result of each item, in order. An error is raised at the position of the result
        that it replaces.
        """
        items = iter(items)
        first = list(islice(items, 2))
        if self._states == 1 or len(first) < 2:
            for item in chain(first, items):
                yield self._run(work, item)
            return
        if self._workers is None:
            self._workers = TaskGroup()
        # A thread that took a task while all states are in use would be idle.
        most = self._states + (_QUEUED if workers() <= self._states else 0)
        pending: deque[Future[Result]] = deque()
        try:
            for item in chain(first, items):
                pending.append(self._workers.submit(self._run, work, item))
                if len(pending) == most:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for left in pending:
                left.cancel()

    def _run(self, work: Callable[[State, Item], Result], item: Item) -> Result:
        state = self._idle.get()
        try:
            return work(state, item)
        finally:
            self._idle.put(state)

    def close(self) -> None:
        """Wait for the tasks that have been started."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None
