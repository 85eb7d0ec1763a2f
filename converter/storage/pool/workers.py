"""The thread pool of a conversion: one for all tasks of all formats, in which a waiting thread works too.

The number of threads includes the one that requests results. A thread that needs an unfinished result computes it
itself or, if another thread is at it, does other work meanwhile. So no thread has to be woken while there is work, and
none waits while there is any that it may do. Results do not depend on the number of threads.

There are two kinds of tasks. *Leaf tasks* wait only for other leaf tasks: decompression, scanning, decoding, emission,
compression. *Blocking tasks* may wait for leaf tasks and for other blocking tasks: preparing a batch ahead of its use.
What a thread may run while it waits is restricted, so that no task is stuck on the stack below another one that needs
it. Within a leaf task that is nothing. Within a blocking task it is leaf tasks; and blocking tasks only if there is no
task below on the stack, and only those for the same thread outside the pool, since others may wait for what that
thread does next.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import partial
from types import TracebackType
from typing import Any, Final, Generic, ParamSpec, Self, TypeVar

#: Seconds of work before threads are started for more of it: a small trace is finished by then.
_WORTHWHILE: Final = 0.002

#: The most threads on a machine with few processors, and for each processor of others.
_MOST_WORKERS: Final = 64
_MOST_OF_A_PROCESSOR: Final = 4

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_wanted: int | None = None
_wanted_here: ContextVar[int | None] = ContextVar("wanted_here", default=None)


def workers() -> int:
    """Return the number of threads at work at a time: as requested, else the number of processors of this process."""
    wanted = _wanted_here.get() or _wanted
    return processors() if wanted is None else wanted


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def most_workers() -> int:
    """Return the most threads or processes that are ever used: more would only take memory."""
    return max(_MOST_WORKERS, _MOST_OF_A_PROCESSOR * processors())


def use_workers(count: int | None) -> None:
    """Set the number of threads from now on, up to `most_workers`; None: as many as there are processors."""
    global _wanted  # noqa: PLW0603 - a setting of the process
    _wanted = None if count is None else min(count, most_workers())


@contextmanager
def using_workers(count: int | None) -> Iterator[None]:
    """Set the number of threads in this context, up to `most_workers`; None: as it is.

    Raises:
        ValueError: it is less than 1.

    """
    if count is not None and count < 1:
        raise ValueError(f"jobs: expected a number of threads from 1, found {count}")
    before = _wanted_here.get()
    _wanted_here.set(before if count is None else min(count, most_workers()))
    try:
        yield
    finally:
        _wanted_here.set(before)


#: The states of a task.
_OPEN, _CLAIMED, _DONE, _CANCELLED = range(4)
#: What a thread may run while it waits.
_NOTHING, _LEAF_TASKS, _ALL = range(3)


class CancelledError(Exception):
    """Raised by `result` of a task that was cancelled."""


class _ThreadState(threading.local):
    """The task that the current thread is running."""

    may = _ALL

    def __init__(self) -> None:
        #: The thread outside the pool for which it runs.
        self.submitter = threading.get_ident()


_current: Final = _ThreadState()


class _Waiter:
    """A thread that waits for something to do: the tasks that it may run, and for which thread (None: for any)."""

    __slots__ = ("_lock", "awake", "may", "submitter")

    def __init__(self, may: int, submitter: int | None) -> None:
        self.may = may
        self.submitter = submitter
        self.awake = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def wait(self) -> None:
        """Wait until it is woken."""
        self._lock.acquire()

    def wake(self) -> None:
        """Wake the waiter, unless it is awake. The caller holds the pool's lock."""
        if not self.awake:
            self.awake = True
            self._lock.release()


class Future(Generic[Result]):
    """A task that is run by a thread of the pool, or by the thread that requests its result."""

    __slots__ = ("_call", "_error", "_result", "owner", "state", "submitter", "waiters")

    def __init__(self, call: Callable[[], Result], owner: TaskGroup) -> None:
        self._call: Callable[[], Result] | None = call
        self._error: BaseException | None = None
        self._result: Result | None = None
        self.owner = owner
        self.submitter = _current.submitter
        self.state = _OPEN
        self.waiters: list[_Waiter] = []

    def result(self) -> Result:
        """Return the result, running the task in this thread if no other has started it. Raise the task's error.

        Raises:
            CancelledError: the task was cancelled.

        """
        if self.state != _DONE:
            _pool.wait_for(self)
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value] # it is done

    def failure(self) -> Exception | None:
        """Return the error that the task raised, or None; runs or waits for it as `result` does, but does not raise."""
        try:
            self.result()
        except Exception as error:  # noqa: BLE001 - the caller requests it
            return error
        return None

    def done(self) -> bool:
        """True if the result is available."""
        return self.state == _DONE

    def cancel(self) -> bool:
        """Cancel the task; return False if a thread has started or finished it."""
        return _pool.cancel(self)

    def do(self) -> None:
        """Run the task. The caller has claimed it."""
        call, self._call = self._call, None
        assert call is not None, "work is done once"
        submitter, may = _current.submitter, _current.may
        _current.submitter, _current.may = (
            self.submitter,
            _LEAF_TASKS if self.owner.may_block else _NOTHING,
        )
        try:
            self._result = call()
        except BaseException as error:
            self._error = error
            if not isinstance(error, Exception):
                raise  # it is meant for this thread, whichever thread waits for the task
        finally:
            _current.submitter, _current.may = submitter, may
            _pool.finish(self)

    def abandon(self, error: BaseException) -> None:
        """Mark a claimed task as failed, unless it is done: its thread does something else."""
        if self.state == _CLAIMED:
            self._error = error
            _pool.finish(self)


class TaskGroup:
    """A group of tasks of one kind, for the shared threads. Leaving the context, or `close`, leaves none of them
    running.

    Args:
        may_block: tasks of the group may wait for other tasks.
        worthwhile: there is so much to do that threads are started at once.

    """

    def __init__(self, *, may_block: bool = False, worthwhile: bool = False) -> None:
        self.may_block = may_block
        self.unfinished: set[Future[Any]] = set()
        self.closed = False
        _pool.open(worthwhile=worthwhile)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def submit(
        self,
        call: Callable[Arguments, Result],
        /,
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Future[Result]:
        """Submit a call, which runs with the limits that hold here; after `close` the task is cancelled at once."""
        work: Future[Result] = Future(partial(copy_context().run, call, *arguments, **named), self)
        _pool.submit(work)
        return work

    def close(self) -> None:
        """Cancel tasks that no thread has started, and wait for the rest. Threads end with the last group that could
        use them.
        """
        _pool.close(self)


class _Pool:
    """All open tasks, and the threads."""

    def __init__(self) -> None:
        # Reentrant: a garbage collection may close a reader, wherever it happens.
        self._lock = threading.RLock()
        self._leaf_tasks: deque[Future[Any]] = deque()
        self._blocking_tasks: deque[Future[Any]] = deque()
        #: Threads that have nothing else to do come first.
        self._waiters: list[_Waiter] = []
        self._threads: list[threading.Thread] = []
        self._most_threads = 0
        self._users = 0
        self._spent = 0.0

    def open(self, *, worthwhile: bool) -> None:
        """Register a group that is going to submit tasks."""
        with self._lock:
            self._users += 1
            self._most_threads = workers() - 1
            if worthwhile:
                self._spent = _WORTHWHILE

    def close(self, owner: TaskGroup) -> None:
        """Unregister a group, which submits no more tasks."""
        with self._lock:
            if owner.closed:
                return
            owner.closed = True
            for work in list(owner.unfinished):
                if work.state == _OPEN:
                    self._cancel(work)
            started = list(owner.unfinished)
        try:
            for work in started:
                self.wait_for(work)
        finally:
            ended = self._without_user()
        for thread in ended:
            if thread is not threading.current_thread():
                thread.join()

    def _without_user(self) -> list[threading.Thread]:
        """Return the threads that end because no group needs them any more."""
        with self._lock:
            self._users -= 1
            ended: list[threading.Thread] = []
            if not self._users:
                self._spent = 0.0
                ended, self._threads = self._threads, []
                self._wake_all()
        return ended

    def submit(self, work: Future[Any]) -> None:
        """Queue a task."""
        waits = work.owner.may_block
        with self._lock:
            if work.owner.closed:
                work.state = _CANCELLED
                return
            work.owner.unfinished.add(work)
            (self._blocking_tasks if waits else self._leaf_tasks).append(work)
            for waiter in self._waiters:
                may = (
                    waiter.may == _ALL and waiter.submitter in (None, work.submitter)
                    if waits
                    else True
                )
                if may and not waiter.awake:
                    waiter.wake()
                    return
            if self._spent >= _WORTHWHILE and len(self._threads) < self._most_threads:
                self._start_thread()

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._run, name="traceconv-worker", daemon=True)
        try:
            self._threads.append(thread)
            thread.start()
        except BaseException as error:
            # A signal, or the system has no more threads. A thread that runs all the same finds that it is not in the
            # list.
            self._threads = [one for one in self._threads if one is not thread]
            if not isinstance(error, RuntimeError):
                raise

    def wait_for(self, work: Future[Any]) -> None:
        """Return when a task is done; until then this thread runs other tasks that it may run."""
        may = _current.may
        if may == _ALL and not work.owner.may_block:
            may = _LEAF_TASKS
        while self._wait_once(work, may):
            pass

    def _wait_once(self, work: Future[Any], may: int) -> bool:
        """Run a task, or wait until there may be one; return False if the task that is needed is done."""
        waiter = claimed = None
        try:
            with self._lock:
                if work.state == _DONE:
                    return False
                if work.state == _CANCELLED:
                    raise CancelledError
                claimed = work if work.state == _OPEN else self._find_work(may, _current.submitter)
                if claimed is not None:
                    self._claim(claimed)
                else:
                    waiter = self._new_waiter(may, _current.submitter)
                    work.waiters.append(waiter)
            if claimed is not None:
                started = time.perf_counter()
                claimed.do()
                self._spent += time.perf_counter() - started
        except BaseException as error:
            # A signal can come between claiming a task and running it: nobody else would finish it.
            if claimed is not None:
                claimed.abandon(error)
            raise
        if waiter is not None:
            self._wait_for_work(waiter)
        return True

    def cancel(self, work: Future[Any]) -> bool:
        """Cancel a task, unless a thread has started it."""
        with self._lock:
            if work.state != _OPEN:
                return False
            self._cancel(work)
            return True

    def finish(self, work: Future[Any]) -> None:
        """Mark a task as done, and wake the threads that wait for it."""
        with self._lock:
            work.state = _DONE
            work.owner.unfinished.discard(work)
            if work.waiters:
                for waiter in work.waiters:
                    waiter.wake()
                work.waiters.clear()

    def _run(self) -> None:
        """Run tasks; the main function of a pool thread."""
        thread = threading.current_thread()
        try:
            while self._run_next(thread):
                pass
        except MemoryError:
            # Not of a task. The other threads have enough, or fail themselves.
            with self._lock:
                if thread in self._threads:
                    self._threads.remove(thread)

    def _run_next(self, thread: threading.Thread) -> bool:
        """Run a task or wait for one; return False if the thread is to end."""
        waiter = None
        with self._lock:
            if thread not in self._threads:
                return False
            claimed = self._find_work(_ALL, None)
            if claimed is not None:
                self._claim(claimed)
            else:
                waiter = self._new_waiter(_ALL, None)
        if claimed is not None:
            with suppress(BaseException):  # it is raised where the result is requested
                claimed.do()
        if waiter is not None:
            self._wait_for_work(waiter)
        return True

    def _find_work(self, may: int, submitter: int | None) -> Future[Any] | None:
        """Claim the next task for a thread: blocking tasks, on which others depend, before leaf tasks."""
        if may == _ALL:
            for work in self._blocking_tasks:
                if submitter in (None, work.submitter):
                    return work
        return self._leaf_tasks[0] if may != _NOTHING and self._leaf_tasks else None

    def _claim(self, work: Future[Any]) -> None:
        self._take_out(work)
        work.state = _CLAIMED

    def _take_out(self, work: Future[Any]) -> None:
        """Remove an open task from its queue, where a signal may have kept it from getting."""
        with suppress(ValueError):
            (self._blocking_tasks if work.owner.may_block else self._leaf_tasks).remove(work)

    def _cancel(self, work: Future[Any]) -> None:
        self._take_out(work)
        work.state = _CANCELLED
        work.owner.unfinished.discard(work)
        for waiter in work.waiters:
            waiter.wake()

    def _new_waiter(self, may: int, submitter: int | None) -> _Waiter:
        waiter = _Waiter(may, submitter)
        if submitter is None:
            self._waiters.insert(0, waiter)
        elif may != _NOTHING:
            self._waiters.append(waiter)
        return waiter

    def _wait_for_work(self, waiter: _Waiter) -> None:
        try:
            waiter.wait()
        except BaseException:
            self._wake_all()  # the waiters recheck what they were woken for
            raise
        finally:
            with self._lock:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    def _wake_all(self) -> None:
        with self._lock:
            for waiter in self._waiters:
                waiter.wake()


_pool: Final = _Pool()
