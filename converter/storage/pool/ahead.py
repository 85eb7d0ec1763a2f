"""Prefetching of items one at a time, and whether strings must be interned in order meanwhile."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

from converter.storage.pool.workers import Future, TaskGroup

Item = TypeVar("Item")

_in_order: ContextVar[bool] = ContextVar("in_order", default=False)


@contextmanager
def in_order() -> Iterator[None]:
    """Intern the strings of data read in this context in the order of batches and columns, for any number of threads.

    Needed for outputs that number strings as the trace does; all others number them as they write them.
    """
    before = _in_order.set(True)
    try:
        yield
    finally:
        _in_order.reset(before)


def is_in_order() -> bool:
    """Return True if strings must not be interned by several threads at once."""
    return _in_order.get()


class Ahead(Generic[Item]):
    """A prefetching iterator: calls `make` for up to `most` items before they are requested; None ends it.

    One item is made at a time, by whichever thread is idle. An error is raised at the position of the item that it
    prevented. Nothing more is made once `workers` are closed.
    """

    def __init__(self, make: Callable[[], Item | None], workers: TaskGroup, most: int = 1) -> None:
        self._make = make
        self._workers = workers
        self._most = most
        self._lock = threading.Lock()
        self._ready: deque[Item] = deque()
        self._ended = False
        # A task that has started stores its successor: not before this one is stored, which it would be lost by.
        with self._lock:
            self._work: Future[None] | None = workers.submit(self._make_one)

    def next(self) -> Item | None:
        """Return the next item, None after the last."""
        while True:
            with self._lock:
                if self._ready:
                    item = self._ready.popleft()
                    if self._work is None and not self._ended:
                        self._work = self._workers.submit(self._make_one)
                    return item
                if self._ended:
                    return None
                work = self._work
            assert work is not None, "there is neither an item nor who makes one"
            work.result()

    def _make_one(self) -> None:
        item = self._make()
        with self._lock:
            if item is None:
                self._ended = True
            else:
                self._ready.append(item)
            more = not self._ended and len(self._ready) < self._most
            self._work = self._workers.submit(self._make_one) if more else None
