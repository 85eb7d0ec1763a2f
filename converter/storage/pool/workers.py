"""The threads that do a conversion's work: one pool for all steps of all formats, of which who waits for work is one.

As many threads are at work as were asked for, the one that asks included: a thread that needs what is not done yet
does it itself or, if another is at it, something else meanwhile. So none has to be woken as long as there is work to
do, and none waits while there is any that it may take. What comes out does not depend on how many there are.

Work is of two kinds. *Pieces* wait for nothing but other pieces: decompression, scanning, decoding, emission,
compression. *Steps* may wait for pieces and for other steps: making a batch ahead of who asks for it. What a thread may
take while it waits is bounded, so that no work stands still on the stack below other work that needs it: within a piece
nothing, within a step pieces, and steps only where none is below, and only such as are done for the same thread outside
the pool, as others may wait for what that thread does next.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from types import TracebackType
from typing import Any, Final, Generic, ParamSpec, Self, TypeVar

#: Seconds of work before threads are begun for more of it: what a small trace needs is done by then.
_WORTHWHILE: Final = 0.002

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_wanted: int | None = None


def workers() -> int:
    """The threads at work at a time: as many as were asked for, or as there are processors for this process."""
    if _wanted is not None:
        return _wanted
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def use_workers(count: int | None) -> None:
    """Have so many threads from now on; None: as there are processors."""
    global _wanted  # noqa: PLW0603 - of the process, as its processors are
    _wanted = count


#: How far work is.
_OPEN, _TAKEN, _DONE, _TAKEN_BACK = range(4)
#: What a thread may take while it waits.
_NOTHING, _PIECES, _ALL = range(3)


class TakenBackError(Exception):
    """What comes of work that nobody does any more."""


class _Here(threading.local):
    """What the thread that asks is in the middle of."""

    may = _ALL

    def __init__(self) -> None:
        #: For which thread outside the pool.
        self.asker = threading.get_ident()


_here: Final = _Here()


class _Sleeper:
    """A thread that stands still until there is something for it: what it may take, of whom, None being everybody."""

    __slots__ = ("_lock", "asker", "awake", "may")

    def __init__(self, may: int, asker: int | None) -> None:
        self.may = may
        self.asker = asker
        self.awake = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def sleep(self) -> None:
        """Return when it is woken."""
        self._lock.acquire()

    def wake(self) -> None:
        """Wake it, unless it is awake; for who has the pool's lock."""
        if not self.awake:
            self.awake = True
            self._lock.release()


class Work(Generic[Result]):
    """Something that is done by a thread of the pool, or by who asks for what came of it."""

    __slots__ = ("_call", "_error", "_result", "asker", "owner", "state", "waited_for_by")

    def __init__(self, call: Callable[[], Result], owner: Workers) -> None:
        self._call: Callable[[], Result] | None = call
        self._error: BaseException | None = None
        self._result: Result | None = None
        self.owner = owner
        self.asker = _here.asker
        self.state = _OPEN
        self.waited_for_by: list[_Sleeper] = []

    def result(self) -> Result:
        """What came of it: who asks does it, unless another is at it. Its error is raised.

        Raises:
            TakenBackError: it has been taken back.

        """
        if self.state != _DONE:
            _pool.wait_for(self)
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]  # it is done

    def failure(self) -> Exception | None:
        """What it raised, None where it came to its end: as `result`, but that nothing is raised."""
        try:
            self.result()
        except Exception as error:  # noqa: BLE001 - it is what is asked for
            return error
        return None

    def done(self) -> bool:
        """Whether its result is there."""
        return self.state == _DONE

    def take_back(self) -> bool:
        """Have nobody do it; False: somebody does, or has."""
        return _pool.take_back(self)

    def do(self) -> None:
        """Do it; for who has taken it."""
        call, self._call = self._call, None
        assert call is not None, "work is done once"
        asker, may = _here.asker, _here.may
        _here.asker, _here.may = self.asker, _PIECES if self.owner.waits else _NOTHING
        try:
            self._result = call()
        except BaseException as error:
            self._error = error
            if not isinstance(error, Exception):
                raise  # it is meant for this thread, whoever waits for the work
        finally:
            _here.asker, _here.may = asker, may
            _pool.finish(self)


class Workers:
    """Work of one kind, for the threads that all share. Leaving the context, or `close`, leaves none of it under way.

    Args:
        waits: what is submitted may wait for other work.
        worthwhile: there is so much to do that threads are begun at once.

    """

    def __init__(self, *, waits: bool = False, worthwhile: bool = False) -> None:
        self.waits = waits
        self.unfinished: set[Work[Any]] = set()
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
    ) -> Work[Result]:
        """Have something done, where the same limits hold as here; of what is closed it is taken back at once."""
        work: Work[Result] = Work(partial(copy_context().run, call, *arguments, **named), self)
        _pool.submit(work)
        return work

    def close(self) -> None:
        """Take back what nobody has begun, and wait for the rest. Threads end with the last that could use them."""
        _pool.close(self)


class _Pool:
    """All open work, and the threads."""

    def __init__(self) -> None:
        # One that a thread can have twice: collecting garbage, wherever that begins, may close a reader.
        self._lock = threading.RLock()
        self._pieces: deque[Work[Any]] = deque()
        self._steps: deque[Work[Any]] = deque()
        #: Threads that have nothing else to do stand in front.
        self._sleepers: list[_Sleeper] = []
        self._threads: list[threading.Thread] = []
        self._most_threads = 0
        self._users = 0
        self._spent = 0.0

    def open(self, *, worthwhile: bool) -> None:
        """Somebody is going to submit work."""
        with self._lock:
            self._users += 1
            self._most_threads = workers() - 1
            if worthwhile:
                self._spent = _WORTHWHILE

    def close(self, owner: Workers) -> None:
        """Nobody will submit work of this owner any more."""
        with self._lock:
            if owner.closed:
                return
            owner.closed = True
            for work in list(owner.unfinished):
                if work.state == _OPEN:
                    self._drop(work)
            begun = list(owner.unfinished)
        for work in begun:
            self.wait_for(work)
        with self._lock:
            self._users -= 1
            ended: list[threading.Thread] = []
            if not self._users:
                self._spent = 0.0
                ended, self._threads = self._threads, []
                self._wake_all()
        for thread in ended:
            if thread is not threading.current_thread():
                thread.join()

    def submit(self, work: Work[Any]) -> None:
        """Have it done."""
        waits = work.owner.waits
        with self._lock:
            if work.owner.closed:
                work.state = _TAKEN_BACK
                return
            work.owner.unfinished.add(work)
            (self._steps if waits else self._pieces).append(work)
            for sleeper in self._sleepers:
                may = sleeper.may == _ALL and sleeper.asker in (None, work.asker) if waits else True
                if may and not sleeper.awake:
                    sleeper.wake()
                    return
            if self._spent >= _WORTHWHILE and len(self._threads) < self._most_threads:
                self._start_thread()

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._run, name="traceconv-worker", daemon=True)
        try:
            self._threads.append(thread)
            thread.start()
        except BaseException as error:
            # A signal, or the system has no more threads. One that runs all the same finds that it is not in the list.
            self._threads = [one for one in self._threads if one is not thread]
            if not isinstance(error, RuntimeError):
                raise

    def wait_for(self, work: Work[Any]) -> None:
        """Return when it is done; until then this thread does what it may."""
        may = _here.may
        if may == _ALL and not work.owner.waits:
            may = _PIECES
        while True:
            sleeper = None
            with self._lock:
                if work.state == _DONE:
                    return
                if work.state == _TAKEN_BACK:
                    raise TakenBackError
                taken = work if work.state == _OPEN else self._next(may, _here.asker)
                if taken is not None:
                    self._take(taken)
                else:
                    sleeper = self._sleeper(may, _here.asker)
                    work.waited_for_by.append(sleeper)
            if taken is not None:
                if self._spent < _WORTHWHILE:
                    begun = time.perf_counter()
                    taken.do()
                    self._spent += time.perf_counter() - begun
                else:
                    taken.do()
                taken = None
            if sleeper is not None:
                self._sleep(sleeper)

    def take_back(self, work: Work[Any]) -> bool:
        """Have nobody do it, unless somebody is at it."""
        with self._lock:
            if work.state != _OPEN:
                return False
            self._drop(work)
            return True

    def finish(self, work: Work[Any]) -> None:
        """It is done."""
        with self._lock:
            work.state = _DONE
            work.owner.unfinished.discard(work)
            if work.waited_for_by:
                for sleeper in work.waited_for_by:
                    sleeper.wake()
                work.waited_for_by.clear()

    def _run(self) -> None:
        """What a thread of the pool does."""
        while True:
            sleeper = None
            with self._lock:
                if threading.current_thread() not in self._threads:
                    return
                taken = self._next(_ALL, None)
                if taken is not None:
                    self._take(taken)
                else:
                    sleeper = self._sleeper(_ALL, None)
            if taken is not None:
                with suppress(BaseException):  # it is raised where the result is asked for
                    taken.do()
                taken = None
            if sleeper is not None:
                self._sleep(sleeper)

    def _next(self, may: int, asker: int | None) -> Work[Any] | None:
        """What a thread does next: steps, which others follow from, before pieces."""
        if may == _ALL:
            for work in self._steps:
                if asker in (None, work.asker):
                    return work
        return self._pieces[0] if may != _NOTHING and self._pieces else None

    def _take(self, work: Work[Any]) -> None:
        work.state = _TAKEN
        (self._steps if work.owner.waits else self._pieces).remove(work)

    def _drop(self, work: Work[Any]) -> None:
        (self._steps if work.owner.waits else self._pieces).remove(work)
        work.state = _TAKEN_BACK
        work.owner.unfinished.discard(work)
        for sleeper in work.waited_for_by:
            sleeper.wake()

    def _sleeper(self, may: int, asker: int | None) -> _Sleeper:
        sleeper = _Sleeper(may, asker)
        if asker is None:
            self._sleepers.insert(0, sleeper)
        elif may != _NOTHING:
            self._sleepers.append(sleeper)
        return sleeper

    def _sleep(self, sleeper: _Sleeper) -> None:
        try:
            sleeper.sleep()
        except BaseException:
            self._wake_all()  # for what it may have been woken for
            raise
        finally:
            with self._lock:
                if sleeper in self._sleepers:
                    self._sleepers.remove(sleeper)

    def _wake_all(self) -> None:
        with self._lock:
            for sleeper in self._sleepers:
                sleeper.wake()


_pool: Final = _Pool()
