"""Inputs that are copied here as a whole before anything of them is read, for those who show how far that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

#: Hears how many bytes of an input are here, by its name, and whether that is all.
Watcher = Callable[[str, int, bool], None]
_watchers: Final[list[Watcher]] = []


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell somebody of all copies meanwhile."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def counted(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The chunks of an input, of which watchers hear as they come."""
    done = 0
    for chunk in chunks:
        yield chunk
        done += len(chunk)
        _tell(name, done, complete=False)
    _tell(name, done, complete=True)


def _tell(name: str, done: int, *, complete: bool) -> None:
    for watcher in _watchers:
        watcher(name, done, complete)
