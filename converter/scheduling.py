"""Tasks for several processes or machines, run by Dask, which replaces lost workers.

Dask is an extra (``pip install traceconv[dask]``). The files of tasks must be reachable by every worker.
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

from converter.errors import TraceError, TraceWarning, UnsupportedError, note
from converter.jobs.conversion import Strictness
from converter.jobs.reading import open_trace
from converter.limits import changed_limits
from converter.storage.locations import is_remote
from converter.storage.pool.workers import most_workers, use_workers

if TYPE_CHECKING:
    from distributed import LocalCluster

    from converter.ir.trace import Trace
    from converter.selection.selection import Selection

_LOCAL = re.compile(r"local(?::([1-9]\d{0,3}))?", re.ASCII)
#: How often a task is retried after an error of the machine, in addition to those whose worker was lost.
_RETRIES: Final = 2
_CONNECTING: Final = "15s"
_ENVIRONMENT: Final = "distributed.nanny.pre-spawn-environ"
#: Modules that every worker imports (Dask has each report the version of pandas, if that is installed), and those that
#: every conversion imports in addition to its two formats.
_NEEDED: Final = (
    "distributed",
    "numpy",
    "pandas",
    "converter.jobs.conversion",
    "converter.projection.preparation",
    "converter.projection.project",
    "converter.streaming.pipeline",
)

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The share of one of `count` workers in a conversion, with an output path of its own."""

    source: str
    path: str
    target_format: str | None
    source_format: str | None = None
    options: Mapping[str, str] | None = None
    selection: Selection | None = None
    strict: bool | Strictness = False
    number: int = 0
    count: int = 1
    #: The limits in force here also apply on the workers.
    limits: Mapping[str, int] = field(default_factory=changed_limits)

    def opened(self) -> AbstractContextManager[Trace]:
        """Open the trace as `open_trace` does."""
        return open_trace(
            self.source, self.source_format, self.options, self.selection, self.limits
        )


def seen_by_workers(source: str, seen: Iterable[Iterable[TraceWarning]]) -> list[TraceWarning]:
    """Return the damage that workers have found in an input, each once, with the path as given: workers use absolute
    paths.
    """
    opened = source if is_remote(source) else os.path.abspath(source)
    found: list[TraceWarning] = []
    for warning in chain.from_iterable(seen):
        path = warning.path
        if path is not None and path.startswith(opened):
            path = source + path[len(opened) :]
        note(found, replace(warning, path=path))
    return found


class Scheduler:
    """Runs tasks on the workers of a Dask scheduler."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @property
    def workers(self) -> int:
        """Return the number of tasks that can run at a time."""
        return sum(
            worker["nthreads"] for worker in self._client.scheduler_info(-1)["workers"].values()
        )

    def run(
        self, function: Callable[[_Task], _Result], tasks: Iterable[_Task]
    ) -> Iterator[tuple[int, _Result | BaseException]]:
        """Yield the number of each task and its return value or exception, in the order of completion."""
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
        """Return the results of all tasks, in the order of completion.

        Raises:
            TraceError: one has raised it, or its worker was lost repeatedly.

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
    """Connect to a scheduler: "local" (a process for each CPU), "local:4", or the address of a running one.

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
                count = min(int(here[1] or os.cpu_count() or 1), most_workers())
                client = stack.enter_context(Client(stack.enter_context(_workers_here(count))))
            else:
                client = stack.enter_context(Client(name, timeout=_CONNECTING))
        except (OSError, ValueError) as error:
            raise TraceError(f"no scheduler: {error}", path=name) from error
        yield Scheduler(client)


@contextmanager
def _local_settings() -> Iterator[None]:
    """Configure how Dask starts local workers.

    They are forked from one process, which imports the common modules once. Where fork servers do not exist (Windows),
    or this process runs one already, each worker imports them itself. Workers keep their memory: by default, Dask makes
    them return free memory to the system, and getting large blocks again takes longer than everything else. And the
    profiler, which would sample them a hundred times a second for a dashboard that is not used, is off: it needs the
    interpreter's lock, for which three threads of a conversion wait.
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
            # Dask sets names of its own modules on first use.
            get_mp_context().set_forkserver_preload(list(_NEEDED))
        yield


def _workers_here(count: int) -> LocalCluster:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=count, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
    )


def _run(function: Callable[[_Task], _Result], task: _Task) -> _Result | TraceError:
    """Run a task on a worker, which has a separate thread for each."""
    use_workers(1)
    try:
        return function(task)
    except TraceError as error:
        return error  # another try would fail in the same way
