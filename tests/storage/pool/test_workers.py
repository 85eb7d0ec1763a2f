"""The pool: work is done by threads and by who waits for it, each once, and no thread waits for ever."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial

import pytest

from converter.storage.pool import workers
from converter.storage.pool.workers import (
    CancelledError,
    Future,
    TaskGroup,
    most_workers,
    use_workers,
)
from tests.support.system.pool import own_pool, pool_threads

#: So long that whoever could take other work meanwhile has done so.
A_WHILE = 0.02


@pytest.fixture(autouse=True)
def others() -> Iterator[set[threading.Thread]]:
    with own_pool() as others:
        yield others


@pytest.fixture(params=[1, 2, 4])
def threads(request: pytest.FixtureRequest) -> int:
    count: int = request.param
    use_workers(count)
    return count


def thread_name() -> str:
    time.sleep(A_WHILE)
    return threading.current_thread().name


def test_little_work_is_done_by_who_asks(monkeypatch):
    monkeypatch.setattr(workers, "_WORTHWHILE", 10.0)
    with TaskGroup() as pool:
        done = [pool.submit(threading.get_ident) for _ in range(10)]
        assert {each.result() for each in done} == {threading.get_ident()}


def test_as_many_threads_are_at_work_as_are_wanted(threads, others):
    with TaskGroup(worthwhile=True) as pool:
        names = Counter(work.result() for work in [pool.submit(thread_name) for _ in range(12)])
        assert len(pool_threads() - others) == threads - 1
    assert set(names) <= {"MainThread", "traceconv-worker"}
    # Who waits for it does a part of it.
    assert names["MainThread"] >= 12 // threads - 1


def test_threads_are_begun_when_what_was_done_has_taken_long():
    use_workers(2)
    with TaskGroup() as pool:
        pool.submit(time.sleep, 2 * workers._WORTHWHILE).result()
        work = pool.submit(threading.get_ident)
        while not work.done():
            time.sleep(0)
        assert work.result() != threading.get_ident()


def test_errors_are_raised_where_the_result_is_asked_for(threads):
    with TaskGroup(worthwhile=True) as pool:
        failed = pool.submit(int, "x")
        for _ in range(2):
            with pytest.raises(ValueError, match="invalid literal"):
                failed.result()
        assert isinstance(failed.failure(), ValueError)
        assert pool.submit(int, "1").failure() is None


def test_what_ends_a_thread_is_raised_where_it_is_asked_for():
    def ended() -> None:
        raise KeyboardInterrupt

    use_workers(2)
    with TaskGroup(worthwhile=True) as pool:
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                pool.submit(ended).result()
        assert pool.submit(int, "1").result() == 1


def test_what_is_closed_is_not_done_any_more():
    use_workers(1)
    done: list[int] = []
    with TaskGroup(worthwhile=True) as pool:
        work = [pool.submit(done.append, number) for number in range(5)]
        work[2].result()
    assert done == [2]
    with pytest.raises(CancelledError):
        work[0].result()


def test_what_is_under_way_when_it_is_closed_begins_nothing_more():
    use_workers(2)
    begun, may_end = threading.Event(), threading.Event()
    done: list[int] = []
    followed: list[Future[None]] = []

    def work() -> None:
        begun.set()
        may_end.wait()
        followed.append(pool.submit(done.append, 1))

    with TaskGroup(worthwhile=True) as other:
        with TaskGroup(worthwhile=True) as pool:
            pool.submit(work)
            begun.wait()
            threading.Timer(A_WHILE, may_end.set).start()
        # All threads have come to an end of what there is.
        assert [other.submit(thread_name).result() for _ in range(3)]
    assert done == []
    with pytest.raises(CancelledError):
        followed[0].result()


def test_closing_waits_for_what_is_under_way():
    use_workers(2)
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        may_end.wait()
        ended.set()

    with TaskGroup(worthwhile=True) as pool:
        pool.submit(work)
        begun.wait()
        threading.Timer(A_WHILE, may_end.set).start()
    assert ended.is_set()


def test_work_that_is_taken_back_is_done_by_nobody(threads):
    if threads == 1:
        with TaskGroup() as pool:
            work = pool.submit(threading.get_ident)
            assert work.cancel()
            assert not work.cancel()
            with pytest.raises(CancelledError):
                work.result()
    with TaskGroup(worthwhile=True) as pool:
        done = pool.submit(int)
        assert done.result() == 0
        assert not done.cancel()


def test_what_holds_for_who_submits_holds_for_the_work(threads):
    variable: ContextVar[int] = ContextVar("variable", default=0)
    with TaskGroup(worthwhile=True) as pool:
        variable.set(1)
        work = [pool.submit(variable.get) for _ in range(4)]
        variable.set(2)
        assert [each.result() for each in work] == [1] * 4


@pytest.mark.parametrize("seed", range(20))
def test_steps_that_wait_for_steps_and_pieces_all_end(threads, seed):
    """Chains of steps as conversions have them, each of which asks for the one before and for pieces."""
    random_numbers = random.Random(seed)
    spans = [random_numbers.uniform(0, 0.001) for _ in range(50)]
    done: Counter[tuple[int, int]] = Counter()
    with TaskGroup(may_block=True, worthwhile=True) as steps, TaskGroup() as pieces:

        def piece(number: int) -> int:
            time.sleep(spans[number % len(spans)])
            return number

        def step(chain: int, number: int, before: Future[int] | None) -> int:
            done[chain, number] += 1
            under_way = [pieces.submit(piece, number + at) for at in range(3)]
            asked = 0 if before is None else before.result()
            return asked + sum(work.result() for work in under_way)

        last: list[Future[int]] = []
        for chain in range(3):
            work = None
            for number in range(15):
                work = steps.submit(step, chain, number, work)
            assert work is not None
            last.append(work)
        expected = sum(3 * number + 3 for number in range(15))
        assert [work.result() for work in last] == [expected] * 3
    assert set(done.values()) == {1}
    assert len(done) == 45


def test_a_step_of_another_thread_may_wait_for_what_this_one_does(threads):
    """Who waits takes no steps that are done for another thread, which may wait for it."""
    fed = threading.Event()
    results: list[bool] = []

    def other() -> None:
        with TaskGroup(may_block=True, worthwhile=True) as steps:
            results.append(steps.submit(fed.wait, 10).result())

    thread = threading.Thread(target=other)
    thread.start()
    time.sleep(A_WHILE)
    with TaskGroup(may_block=True, worthwhile=True) as steps:
        assert [steps.submit(int).result() for _ in range(5)] == [0] * 5
    fed.set()
    thread.join()
    assert results == [True]


def test_a_thread_that_is_interrupted_leaves_work_to_others():
    """What it would have been woken for is done all the same."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    use_workers(3)
    may_end = threading.Event()
    try:
        with TaskGroup(worthwhile=True) as pool:
            held = [pool.submit(may_end.wait) for _ in range(2)]
            time.sleep(A_WHILE)
            interrupt = partial(signal.pthread_kill, threading.get_ident(), signal.SIGINT)
            threading.Timer(A_WHILE, interrupt).start()
            with pytest.raises(KeyboardInterrupt):
                held[0].result()
            may_end.set()
            assert [work.result() for work in held] == [True, True]
            assert [pool.submit(int, number).result() for number in range(20)] == list(range(20))
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("count", [1, 64, 10**12])
def test_no_more_threads_are_used_than_help(count):
    use_workers(count)
    try:
        assert workers.workers() == min(count, most_workers())
        assert most_workers() >= 64
    finally:
        use_workers(None)


@pytest.mark.parametrize("at", ["claim", "queue"])
def test_a_signal_between_two_steps_leaves_no_task_that_nobody_finishes(monkeypatch, at):
    """It can come after a task was claimed and before it runs, or before it is in its queue."""
    use_workers(1)
    group = TaskGroup()
    task = group.submit(lambda: 1)
    if at == "queue":
        workers._pool._leaf_tasks.remove(task)
    else:

        def interrupted(_):
            raise KeyboardInterrupt

        monkeypatch.setattr(Future, "do", interrupted)
        with pytest.raises(KeyboardInterrupt):
            task.result()
        monkeypatch.undo()
    group.close()
    assert not group.unfinished
    use_workers(None)
