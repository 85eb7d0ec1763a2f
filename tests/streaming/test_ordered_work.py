"""Work on several threads: results in the order of the work, states of one piece at a time, few pieces ahead."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from converter.streaming.ordered_work import OrderedWork
from tests.support.system.pool import own_pool

THREADS = 3


class State:
    """Says so when two threads have it at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.worked_on: list[int] = []

    def doubled(self, item: int) -> int:
        assert self.lock.acquire(blocking=False), "two pieces of work have the same state"
        # The first pieces take longest, so that later ones are done before them.
        threading.Event().wait(0.004 if item % THREADS == 0 else 0)
        self.worked_on.append(item)
        self.lock.release()
        return 2 * item


@pytest.fixture
def states() -> list[State]:
    return [State() for _ in range(THREADS)]


@pytest.fixture
def work(states: list[State]) -> Iterator[OrderedWork[State]]:
    with own_pool(THREADS):
        made = OrderedWork(states)
        yield made
        made.close()


def test_results_have_the_order_of_the_work(states, work):
    assert list(work.results(State.doubled, range(40))) == list(range(0, 80, 2))
    assert sorted(item for state in states for item in state.worked_on) == list(range(40))


@pytest.mark.parametrize(("threads", "waiting"), [(THREADS, 2), (THREADS + 1, 0)])
def test_few_pieces_wait_and_only_for_threads_that_have_a_state(threads, waiting, states):
    asked: list[int] = []

    def items() -> Iterator[int]:
        for item in range(40):
            asked.append(item)
            yield item

    with own_pool(threads):
        work = OrderedWork(states)
        most = 0
        for taken, _ in enumerate(work.results(State.doubled, items()), 1):
            most = max(most, len(asked) - taken + 1)
        work.close()
    assert len(asked) == 40
    assert most == THREADS + waiting


@pytest.mark.parametrize("count", [0, 1])
def test_what_comes_alone_is_done_by_who_asks(count, work):
    threads = work.results(lambda _state, _item: threading.current_thread(), range(count))
    assert list(threads) == [threading.current_thread()] * count


def test_one_state_is_for_who_asks():
    work = OrderedWork([State()])
    assert (
        list(work.results(lambda _state, _item: threading.active_count(), range(3)))
        == [threading.active_count()] * 3
    )
    work.close()


def test_a_result_can_lead_to_more_work_in_its_place(work):
    found = []
    for result in work.results(State.doubled, range(12)):
        found += [result, *work.results(State.doubled, [result])]
    assert found == [number for item in range(12) for number in (2 * item, 4 * item)]


def test_errors_are_raised_in_the_place_of_the_result(work):
    def worked(state: State, item: int) -> int:
        if item == 7:
            raise ValueError("no seven")
        return state.doubled(item)

    found: list[int] = []
    with pytest.raises(ValueError, match="no seven"):
        found.extend(work.results(worked, range(40)))
    assert found == list(range(0, 14, 2))
    assert list(work.results(worked, range(5))) == list(range(0, 10, 2))
