"""Wakeups divided: whatever the columns are, nothing outside of them is read."""

import numpy as np
import pytest

from converter.projection.running_threads import RunningThreads, renumber_divided

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
    division = divided(COLUMNS[dtype])
    # Rows of a class stand in any order in the batch.
    assert division.tolist() == [0, 0, 3, 2, 1]
    numbers = np.array([[9, -1, -1, -1], [-1, 4, 5, 6]], np.int32)
    class_id, row = renumber_divided(
        EVENTS["class_id"], EVENTS["row"], EVENTS["first"], division, numbers
    )
    assert class_id.tolist() == [9, 5, 6, 9, 4]
    assert row.tolist() == [0, 0, 0, 1, 0]


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


def test_divisions_are_those_of_the_rows():
    with pytest.raises(ValueError, match="not every row"):
        renumber_divided(
            EVENTS["class_id"],
            EVENTS["row"],
            EVENTS["first"],
            np.zeros(4, np.uint8),
            np.zeros((2, 4), np.int32),
        )
