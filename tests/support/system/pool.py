"""A pool of threads of a test's own, which others have no part in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from converter.storage.pool import workers


def pool_threads() -> set[threading.Thread]:
    """The threads of all pools."""
    return {each for each in threading.enumerate() if each.name == "traceconv-worker"}


@contextmanager
def own_pool(threads: int | None = None) -> Iterator[set[threading.Thread]]:
    """A pool of so many threads, of which none is left in the end; gives those of other pools."""
    others = pool_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "_pool", workers._Pool())
        patch.setattr(workers, "_wanted", threads)
        yield others
    assert pool_threads() <= others
