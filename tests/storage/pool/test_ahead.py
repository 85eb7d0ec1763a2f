"""Items made ahead: in order, one at a time, no more than may be, errors in their places."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from converter.storage.pool.ahead import Ahead
from converter.storage.pool.workers import TaskGroup
from tests.support.system.pool import own_pool

COUNT = 20


class Making:
    """Makes numbers, and says so when two threads do."""

    def __init__(self, fails_at: int = -1) -> None:
        self.made = 0
        self._fails_at = fails_at
        self._lock = threading.Lock()

    def __call__(self) -> int | None:
        assert self._lock.acquire(blocking=False), "two threads make an item"
        try:
            time.sleep(0.0002)
            if self.made == self._fails_at:
                raise ValueError("no more")
            self.made += 1
            return self.made if self.made <= COUNT else None
        finally:
            self._lock.release()


@pytest.fixture(autouse=True, params=[1, 2, 4])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    with own_pool(request.param):
        yield request.param


@pytest.mark.parametrize("most", [1, 3])
def test_items_come_in_order_and_no_more_are_made_than_may_be(most):
    making = Making()
    with TaskGroup(worthwhile=True) as workers:
        ahead = Ahead(making, workers, most)
        for number in range(1, COUNT + 1):
            time.sleep(0.001)
            assert ahead.next() == number
            assert making.made <= number + most
        assert ahead.next() is None
        assert ahead.next() is None
    assert making.made == COUNT + 1


def test_they_are_made_while_nobody_asks(threads):
    making = Making()
    with TaskGroup(worthwhile=True) as workers:
        ahead = Ahead(making, workers, 3)
        if threads > 1:
            while making.made < 3:
                time.sleep(0.001)
        assert ahead.next() == 1


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("fails_at", [0, 1, 7])
def test_an_error_is_raised_where_the_item_would_have_come(most, fails_at):
    with TaskGroup(worthwhile=True) as workers:
        ahead = Ahead(Making(fails_at), workers, most)
        assert [ahead.next() for _ in range(fails_at)] == list(range(1, fails_at + 1))
        for _ in range(2):
            with pytest.raises(ValueError, match="no more"):
                ahead.next()


def test_nothing_is_made_after_the_end():
    making = Making()
    with TaskGroup(worthwhile=True) as workers:
        ahead = Ahead(making, workers)
        ahead.next()
    made = making.made
    time.sleep(0.002)
    assert making.made == made


class _Result:
    """The task that a thread has started before `submit` returned."""

    def __init__(self, thread: threading.Thread) -> None:
        self._thread = thread
        self.asked = 0

    def result(self) -> None:
        self._thread.join(10)
        assert not self._thread.is_alive()
        self.asked += 1
        assert self.asked < 100, "a task that is done is waited for again and again"


class _EagerWorkers:
    """A pool whose threads are done with a task before `submit` returns, where nothing keeps them from it."""

    def submit(self, call: Callable[[], None]) -> _Result:
        thread = threading.Thread(target=call)
        thread.start()
        thread.join(0.05)
        return _Result(thread)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_task_may_end_before_it_is_known(most: int) -> None:
    making = Making()
    ahead: Ahead[int] = Ahead(making, cast(TaskGroup, _EagerWorkers()), most)
    assert [ahead.next() for _ in range(4)] == [1, 2, 3, 4]
