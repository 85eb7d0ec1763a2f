"""How many threads do the work of a conversion that needs no interpreter: decompression, scanning, decoding,
compression. What comes out does not depend on it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Final, ParamSpec, TypeVar

#: Seconds of work before threads are begun for more of it: what a small trace needs is done by then.
_WORTHWHILE: Final = 0.002

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_wanted: int | None = None


def workers() -> int:
    """The threads for one such step: as many as were asked for, or as there are processors for this process."""
    if _wanted is not None:
        return _wanted
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def use_workers(count: int | None) -> None:
    """Have so many threads from now on; None: as there are processors."""
    global _wanted  # noqa: PLW0603 - of the process, as its processors are
    _wanted = count


class Threads(ThreadPoolExecutor):
    """Threads where the same limits hold as where they are given work."""

    def submit(self, work: Callable[..., Result], /, *args: Any, **named: Any) -> Future[Result]:
        """As `ThreadPoolExecutor.submit`."""
        return super().submit(copy_context().run, work, *args, **named)


class Workers(Executor):
    """Threads, begun when there is more to do than beginning them takes; what comes before is done at once.

    Nothing that is submitted may wait for what is submitted behind it.
    """

    def __init__(self, threads: int, name: str = "traceconv") -> None:
        self._threads = threads
        self._name = name
        self._spent = 0.0
        self._pool: Threads | None = None

    def submit(
        self,
        work: Callable[Arguments, Result],
        /,
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Future[Result]:
        """Have something done."""
        if self._pool is None and self._spent >= _WORTHWHILE:
            self._pool = Threads(self._threads, self._name)
        if self._pool is not None:
            return self._pool.submit(work, *arguments, **named)
        begun = time.perf_counter()
        done: Future[Result] = Future()
        try:
            done.set_result(work(*arguments, **named))
        except Exception as error:  # noqa: BLE001 - it is raised where the result is asked for
            done.set_exception(error)
        self._spent += time.perf_counter() - begun
        return done

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads, if any."""
        if self._pool is not None:
            self._pool.shutdown(wait, cancel_futures=cancel_futures)
