"""Work of several threads, whose results come in the order in which it was given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from queue import SimpleQueue
from typing import Final, Generic, TypeVar

from converter.storage.pool.workers import Work, Workers, workers

State = TypeVar("State")
Item = TypeVar("Item")
Result = TypeVar("Result")

#: Pieces that wait to be taken: who gives them is at one itself meanwhile, and other threads need the next.
_WAITING: Final = 2


class OrderedWork(Generic[State]):
    """Pieces of work, each of which has one of `states` to itself: what a kernel keeps between calls.

    A piece that comes alone is worked on by who asks for it, as all are where there is one state. As many pieces as
    there are states are under way, and few wait to be taken, so that memory stays bounded.
    """

    def __init__(self, states: Sequence[State]) -> None:
        self._states = len(states)
        self._idle: SimpleQueue[State] = SimpleQueue()
        for state in states:
            self._idle.put(state)
        self._workers: Workers | None = None

    def results(
        self, work: Callable[[State, Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        """What becomes of each item, in their order. Errors are raised where the result would have come."""
        items = iter(items)
        first = list(islice(items, 2))
        if self._states == 1 or len(first) < 2:
            for item in chain(first, items):
                yield self._done(work, item)
            return
        if self._workers is None:
            self._workers = Workers()
        # A thread that took a piece while all states are in use would stand still.
        most = self._states + (_WAITING if workers() <= self._states else 0)
        pending: deque[Work[Result]] = deque()
        try:
            for item in chain(first, items):
                pending.append(self._workers.submit(self._done, work, item))
                if len(pending) == most:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for left in pending:
                left.take_back()

    def _done(self, work: Callable[[State, Item], Result], item: Item) -> Result:
        state = self._idle.get()
        try:
            return work(state, item)
        finally:
            self._idle.put(state)

    def close(self) -> None:
        """Wait for what has been begun."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None
