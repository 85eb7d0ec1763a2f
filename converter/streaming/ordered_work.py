"""Work on several threads, whose results come in the order in which it was given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from itertools import chain, islice
from queue import SimpleQueue
from typing import Generic, TypeVar

from converter.storage.workers import Workers

State = TypeVar("State")
Item = TypeVar("Item")
Result = TypeVar("Result")


class OrderedWork(Generic[State]):
    """A thread for each of `states`, of which every piece of work has one to itself: what a kernel keeps between calls.

    A piece that comes alone is worked on by who asks for it, as all are where there is one state. At most one piece
    more than there are threads is under way or waits to be taken, so that memory stays bounded.
    """

    def __init__(self, states: Sequence[State], name: str) -> None:
        self._name = name
        self._threads = len(states)
        self._idle: SimpleQueue[State] = SimpleQueue()
        for state in states:
            self._idle.put(state)
        self._pool: Workers | None = None

    def results(
        self, work: Callable[[State, Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        """What becomes of each item, in their order. Errors are raised where the result would have come."""
        items = iter(items)
        first = list(islice(items, 2))
        if self._threads == 1 or len(first) < 2:
            for item in chain(first, items):
                yield self._done(work, item)
            return
        if self._pool is None:
            self._pool = Workers(self._threads, self._name)
        pending: deque[Future[Result]] = deque()
        try:
            for item in chain(first, items):
                pending.append(self._pool.submit(self._done, work, item))
                if len(pending) > self._threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()

    def _done(self, work: Callable[[State, Item], Result], item: Item) -> Result:
        state = self._idle.get()
        try:
            return work(state, item)
        finally:
            self._idle.put(state)

    def close(self) -> None:
        """End the threads, when they are done with what they have begun."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
