"""Wakeups divided: whatever the columns are, nothing outside of them is read."""

import numpy as np
import pytest

from converter.projection.domain.scheduling.running_threads import ReadyThreads, RunningThreads

EVENTS = {
    "class_id": np.array([0, 1, 1, 0, 1], np.int32),
    "row": np.array([0, 1, 0, 1, 2], np.int32),
    "thread": np.array([0, 0, -1, 0, -1], np.int32),
    "step": np.array([1, 2], np.uint8),
    "first": np.array([0, 2, 5], np.int64),
}
#: From 5 to 7, then from 7 to 5; 7, 5 and 7 are woken, the first two of which run.
COLUMNS = {
    dtype: [np.array(values, dtype) for values in ([5, 7], [7, 5], [7, 7, 7])]
    for dtype in ("i4", "u8")
}


def divided(columns, **changed):
    given = EVENTS | changed
    return RunningThreads().divided(*given.values(), [*columns, None])


@pytest.mark.parametrize("dtype", COLUMNS)
def test_rows_are_divided_by_who_runs_and_who_wakes(dtype):
    part, row, rows = divided(COLUMNS[dtype])
    # Rows of a class stand in any order in the batch: those of a part stand in that of its events.
    assert part.tolist() == [0, 6, 7, 0, 5]
    assert row.tolist() == [0, 0, 0, 1, 0]
    assert {number: chosen.tolist() for number, chosen in rows.items()} == {5: [2], 6: [1], 7: [0]}


@pytest.mark.parametrize(("order", "rows"), [([0, 1, 2], None), ([0, 2, 1], [0, 2, 1])])
def test_rows_of_one_part_are_taken_as_they_are_where_they_are_in_order(order, rows):
    row = np.array([0, order[0], order[1], 1, order[2]], np.int32)
    woken = np.array([1, 2, 3])
    part, row, chosen = divided([*COLUMNS["i4"][:2], woken], row=row, thread=np.zeros(5, np.int32))
    assert part.tolist() == [0, 4, 4, 0, 4]
    assert row.tolist() == [0, 0, 1, 1, 2]
    found = chosen[4]
    assert (found if found is None else found.tolist()) == rows


@pytest.mark.parametrize(
    "changed",
    [
        {"class_id": np.array([0, 1, 2, 0, 1], np.int32)},
        {"row": np.array([0, 1, 0, 2, 2], np.int32)},
        {"row": np.array([0, 1, -1, 1, 2], np.int32)},
        {"thread": np.zeros(4, np.int32)},
        {"first": np.array([0, 3, 5], np.int64)},
        {"first": np.array([0, 2, 1], np.int64)},
        {"first": np.array([1, 2, 5], np.int64)},
        {"first": np.array([0, 2], np.int64)},
        {"step": np.array([1, 1], np.uint8)},
    ],
)
def test_what_does_not_fit_is_refused(changed):
    with pytest.raises(ValueError):  # noqa: PT011 - whichever check finds it
        divided(COLUMNS["i4"], **changed)


def test_a_class_has_no_more_events_than_rows():
    with pytest.raises(ValueError, match="event 3"):
        divided(
            COLUMNS["i4"],
            class_id=np.ones(5, np.int32),
            row=np.zeros(5, np.int32),
            thread=np.zeros(5, np.int32),
        )


def inconsistent(*events, **changed):
    """Contradictions: events are a thread that wakes, or two of a switch and a state, with a CPU that is not 0."""
    cpus = [one[3] if len(one) == 4 else 0 for one in events]
    events = [one[:3] for one in events]
    switches, wakeups = (
        [one for one in events if len(one) == 3],
        [one for one in events if len(one) == 1],
    )
    given = {
        "class_id": np.array([0 if len(one) == 3 else 1 for one in events], np.int32),
        "row": np.array(
            [sum(len(other) == len(one) for other in events[:i]) for i, one in enumerate(events)],
            np.int32,
        ),
        "cpu": np.array(cpus, np.int32),
        "step": np.array([1, 2], np.uint8),
        "rows": np.array([len(switches), len(wakeups)], np.int64),
        "columns": [
            *(np.array([one[i] for one in switches], np.int64) for i in range(3)),
            np.array([one[0] for one in wakeups], np.uint64),
            None,
            None,
        ],
        **changed,
    }
    return ReadyThreads().inconsistent(*given.values(), 1, 4)


def woken_again(*events, **changed):
    """The wakeups of threads that do not sleep."""
    return inconsistent(*events, **changed)[:2]


@pytest.mark.parametrize(
    ("state", "found"), [(0, 1), (1, 1), (2, 0), (3, 0), (4, 1), (5, 1), (6, 1)]
)
def test_a_wakeup_is_of_a_sleeper_or_changes_nothing(state, found):
    assert woken_again((5, 7, state), (5,)) == (found, 1 if found else -1)


def test_wakeups_of_threads_that_run_or_were_woken():
    assert woken_again((5, 7, 3), (7,)) == (1, 1)
    assert woken_again((5,)) == (0, -1)
    assert woken_again((5,), (5,), (5,)) == (2, 1)
    assert woken_again((5,), (1, 5, 3), (5, 1, 3), (5,)) == (0, -1)


@pytest.mark.parametrize(
    ("events", "found"),
    [
        # The thread that was first switched away from may have run.
        ([(5, 7, 0), (7, 5, 0)], 0),
        ([(5, 7, 0, 0), (5, 8, 0, 1)], 1),
        ([(5, 7, 0, 0), (7, 8, 0, 1)], 1),
        # Importers end what it did before.
        ([(5, 7, 0, 0), (6, 7, 0, 1)], 0),
        ([(0, 7, 0), (7,), (7, 0, 3)], 0),
        ([(7,), (7, 0, 3)], 1),
        # Its CPU runs another, whose time has no end then; of the idle thread that is not shown.
        ([(5, 7, 0), (6, 6, 0)], 1),
        ([(5, 7, 0, 0), (6, 6, 0, 1)], 0),
        ([(5, 0, 0), (6, 6, 0)], 0),
        # Each CPU has the idle thread.
        ([(0, 7, 0, 0), (0, 8, 0, 1), (7, 0, 3, 0), (8, 0, 3, 1)], 0),
    ],
)
def test_switches_of_threads_that_are_not_on_the_cpu(events, found):
    assert inconsistent(*events)[2:] == (found, len(events) - 1 if found else -1)


@pytest.mark.parametrize(
    "changed",
    [
        {"class_id": np.array([0, 2], np.int32)},
        {"row": np.array([0, 1], np.int32)},
        {"row": np.array([0], np.int32)},
        {"rows": np.array([1], np.int64)},
        {"columns": [None] * 6},
        {"columns": [np.array([1])] * 5},
    ],
)
def test_columns_of_wakeups_are_checked(changed):
    with pytest.raises(ValueError, match=r"differ in length|does not exist|without its threads"):
        woken_again((5, 7, 3), (7,), **changed)
