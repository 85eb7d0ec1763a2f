"""How long switches last, and which threads a batch has."""

import numpy as np
import pytest

from converter.formats.chrome.running import running_times


def found(class_id, cpu, ts, thread=None, threads=1):
    """With class 1 of three as switches: what is returned, the durations (0 of others) and the marks."""
    durations = np.zeros(len(ts) + 2, np.int64)
    used = np.zeros(threads + 1, np.uint8)
    result = running_times(
        np.array([0, 1, 0], np.uint8),
        np.array(class_id, np.int32),
        np.array(cpu, np.int32),
        np.array(ts, np.int64),
        np.array([-1] * len(ts) if thread is None else thread, np.int32),
        used,
        durations,
    )
    return (*result, durations[: len(ts)].tolist(), used.tolist())


def test_a_switch_lasts_until_the_next_of_its_cpu():
    latest, firsts, lasts, durations, _ = found(
        [1, 0, 1, 1, 2, 1, 1], [7, 7, 2**31 - 1, 7, 7, -1, 7], [5, 9, 10, 20, 90, 30, 26]
    )
    assert latest == 90
    assert durations == [15, 0, -1, 6, 0, 0, -1]
    assert firsts == [(7, 5), (2**31 - 1, 10)]
    assert lasts == [(2**31 - 1, 10), (7, 26)]


def test_many_cpus_with_times_that_run_backwards_are_told_apart():
    random = np.random.default_rng(3)
    cpu, ts = random.integers(-1, 1000, 20_000), random.integers(-(10**6), 10**6, 20_000)
    _, firsts, lasts, durations, _ = found(np.ones(20_000), cpu, ts)
    last = {}
    expected = np.zeros(20_000, np.int64)
    first = {}
    for i, (number, time) in enumerate(zip(cpu.tolist(), ts.tolist(), strict=True)):
        if number in last:
            expected[last[number]] = max(time - ts[last[number]], 0)
        first.setdefault(number, time)
        last[number] = i
    without = last.pop(-1)
    first.pop(-1)
    expected[without] = 0
    for i in last.values():
        expected[i] = -1
    assert durations == expected.tolist()
    assert dict(firsts) == first
    assert lasts == [(int(cpu[i]), int(ts[i])) for i in sorted(last.values())]


def test_threads_are_marked():
    assert found([0, 0, 1], [0, 0, 0], [1, 2, 3], [2, 0, -1], 3)[-1] == [1, 0, 1, 1]


@pytest.mark.parametrize(
    ("class_id", "thread"), [([3], [0]), ([-1], [0]), ([0], [2]), ([0], [1]), ([0], [-2])]
)
def test_events_are_of_a_class_and_of_a_thread(class_id, thread):
    with pytest.raises(ValueError, match="event 0"):
        found(class_id, [0], [0], thread)


def test_columns_are_as_long_as_each_other():
    with pytest.raises(ValueError, match="length"):
        found([0], [0, 1], [0])
