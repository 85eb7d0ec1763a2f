"""Progress of inputs that are copied to this machine completely before any of them is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

#: Called with the name of an input, the number of bytes that have arrived, and whether that is all of them.
Watcher = Callable[[str, int, bool], None]
_watchers: Final[list[Watcher]] = []


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Notify a watcher of all copies made in this context."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def counted(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield the chunks of an input, and notify the watchers of each."""
    done = 0
    for chunk in chunks:
        yield chunk
        done += len(chunk)
        _notify(name, done, complete=False)
    _notify(name, done, complete=True)


def _notify(name: str, done: int, *, complete: bool) -> None:
    for watcher in _watchers:
        watcher(name, done, complete)
