"""Tasks for several processes, or machines: given to Dask, which finds workers for them and others where one is lost.

Dask is an extra (``pip install traceconv[dask]``). What tasks read and write must be where every worker finds it.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeVar

from converter.conversion import Strictness
from converter.errors import TraceError, TraceWarning, UnsupportedError, note
from converter.limits import changed_limits
from converter.reading import open_trace
from converter.storage.locations import is_remote
from converter.storage.pool.workers import use_workers

if TYPE_CHECKING:
    from distributed import LocalCluster

    from converter.ir.trace import Trace
    from converter.selection.selection import Selection

_LOCAL = re.compile(r"local(?::([1-9]\d{0,3}))?", re.ASCII)
#: How often a task that an error of the machine has ended is tried again, besides those whose worker was lost.
_RETRIES: Final = 2
_CONNECTING: Final = "15s"
_ENVIRONMENT: Final = "distributed.nanny.pre-spawn-environ"
#: What every worker takes (Dask has each report the version of pandas, where that is installed), and every conversion
#: besides its two formats.
_NEEDED: Final = (
    "distributed",
    "numpy",
    "pandas",
    "converter.conversion",
    "converter.projection.preparation",
    "converter.projection.project",
    "converter.streaming.pipeline",
)

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one of `count` workers writes of a conversion, to a place of its own."""

    source: str
    path: str
    target_format: str | None
    source_format: str | None = None
    options: Mapping[str, str] | None = None
    selection: Selection | None = None
    strict: bool | Strictness = False
    number: int = 0
    count: int = 1
    #: Those that hold here hold on the workers.
    limits: Mapping[str, int] = field(default_factory=changed_limits)

    def opened(self) -> AbstractContextManager[Trace]:
        """The trace, as `open_trace` gives it."""
        return open_trace(
            self.source, self.source_format, self.options, self.selection, self.limits
        )


def seen_by_workers(source: str, seen: Iterable[Iterable[TraceWarning]]) -> list[TraceWarning]:
    """What workers have found damaged in an input, each once, with its path as it was given: to them it is absolute."""
    whole = source if is_remote(source) else os.path.abspath(source)
    found: list[TraceWarning] = []
    for warning in chain.from_iterable(seen):
        path = warning.path
        if path is not None and path.startswith(whole):
            path = source + path[len(whole) :]
        note(found, replace(warning, path=path))
    return found


class Scheduler:
    """Runs tasks on the workers that a Dask scheduler has."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @property
    def workers(self) -> int:
        """How many tasks there can be at a time."""
        return sum(
            worker["nthreads"] for worker in self._client.scheduler_info(-1)["workers"].values()
        )

    def run(
        self, function: Callable[[_Task], _Result], tasks: Iterable[_Task]
    ) -> Iterator[tuple[int, _Result | BaseException]]:
        """The numbers of tasks and what became of each, as they are done: what it returned, or raised."""
        from distributed import as_completed

        numbers = {
            self._client.submit(
                _run, function, task, pure=False, retries=_RETRIES, priority=-number
            ): number
            for number, task in enumerate(tasks)
        }
        for future in as_completed(list(numbers)):
            number = numbers.pop(future)
            error = future.exception()
            result = future.result() if error is None else error
            future.release()
            yield number, result

    def results(
        self, function: Callable[[_Task], _Result], tasks: Iterable[_Task]
    ) -> list[_Result]:
        """What became of all tasks, as they were done.

        Raises:
            TraceError: one has raised it, or its worker was lost again and again.

        """
        found = []
        for _, result in self.run(function, tasks):
            if isinstance(result, TraceError):
                raise result
            if isinstance(result, BaseException):
                raise TraceError(f"a worker was lost: {result}") from result
            found.append(result)
        return found


@contextmanager
def scheduler(name: str) -> Iterator[Scheduler]:
    """The scheduler of a name: "local" (a process for each CPU), "local:4", or the address of a running one.

    Raises:
        UnsupportedError: Dask is not installed.
        TraceError: there is none at that address.

    """
    with ExitStack() as stack:
        here = _LOCAL.fullmatch(name)
        try:
            if here is not None:
                stack.enter_context(_local_settings())
            from distributed import Client
        except ModuleNotFoundError:
            message = "a scheduler needs Dask: pip install 'traceconv[dask]'"
            raise UnsupportedError(message) from None
        try:
            if here is not None:
                count = int(here[1] or os.cpu_count() or 1)
                client = stack.enter_context(Client(stack.enter_context(_workers_here(count))))
            else:
                client = stack.enter_context(Client(name, timeout=_CONNECTING))
        except (OSError, ValueError) as error:
            raise TraceError(f"no scheduler: {error}", path=name) from error
        yield Scheduler(client)


@contextmanager
def _local_settings() -> Iterator[None]:
    """How Dask starts workers of this machine.

    They are forked off one process, which imports what they need once. Where there is none (Windows), or such a process
    of this one runs already, each worker imports it for itself. They keep the memory that they have: Dask has
    them return what is free to the system, which takes longer than all else to bring large pieces again. And nobody
    looks a hundred times a second at what they do, for a dashboard that there is not: to look takes the interpreter's
    lock, for which three threads of a conversion wait.
    """
    import dask
    from distributed.utils import get_mp_context

    environment = dict(dask.config.get(_ENVIRONMENT))
    environment.pop("MALLOC_TRIM_THRESHOLD_", None)
    settings: dict[str, Any] = {
        _ENVIRONMENT: environment,
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",
    }
    forks = "forkserver" in multiprocessing.get_all_start_methods()
    if forks:
        settings["distributed.worker.multiprocessing-method"] = "forkserver"
    with dask.config.set(settings):
        if forks:
            # Dask names modules of its own when it is first asked.
            get_mp_context().set_forkserver_preload(list(_NEEDED))
        yield


def _workers_here(count: int) -> LocalCluster:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=count, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
    )


def _run(function: Callable[[_Task], _Result], task: _Task) -> _Result | TraceError:
    """On a worker, which has a thread of its own for each task."""
    use_workers(1)
    try:
        return function(task)
    except TraceError as error:
        return error  # another try would end in the same way
