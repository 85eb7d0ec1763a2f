import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.analysis.viewing.layout import rows_of

OPEN = np.iinfo(np.int64).max


def laid(items, *, nests, most=100, group=None):
    """Rows and ends of items, which are pairs of a start and an end."""
    start = np.array([item[0] for item in items], np.int64)
    end = np.array([item[1] for item in items], np.int64)
    groups = np.zeros(len(items), np.int32) if group is None else np.array(group, np.int32)
    kinds = np.full(int(groups.max(initial=0)) + 1, nests, np.uint8)
    return rows_of(groups, start, end, kinds, most).tolist(), end.tolist()


def test_what_nests_stands_below_what_it_is_in():
    rows, _ = laid([(0, 100), (10, 50), (20, 30), (40, 45), (60, 70), (100, 110)], nests=True)
    assert rows == [0, 1, 2, 2, 1, 0]


def test_what_overlaps_takes_the_first_row_that_is_free():
    rows, _ = laid([(0, 100), (10, 200), (20, 30), (40, 150), (110, 120)], nests=False)
    assert rows == [0, 1, 2, 2, 0]


def test_what_has_no_end_ends_with_what_it_is_in():
    rows, ends = laid([(0, 100), (10, 50), (20, OPEN), (60, OPEN), (70, OPEN)], nests=True)
    assert rows == [0, 1, 2, 1, 2]
    assert ends == [100, 50, 50, 100, 100]
    assert laid([(0, OPEN), (5, OPEN), (7, 9)], nests=True) == ([0, 1, 2], [OPEN, OPEN, 9])
    assert laid([(0, OPEN), (5, OPEN)], nests=False) == ([0, 1], [OPEN, OPEN])


def test_groups_have_rows_of_their_own():
    assert laid([(0, 9), (1, 9), (0, 9), (1, 9)], nests=True, group=[0, 0, 1, 1])[0] == [0, 1, 0, 1]


@pytest.mark.parametrize("nests", [True, False])
def test_rows_are_bounded(nests):
    items = [(i, 1000) for i in range(10)]
    assert laid(items, nests=nests, most=4)[0] == [0, 1, 2, 3, *[-1] * 6]


def test_what_is_refused():
    one = np.zeros(1, np.int64)
    kinds = np.zeros(1, np.uint8)
    for group, start, most in [
        (np.array([1], np.int32), one, 1),
        (np.array([-1], np.int32), one, 1),
        (np.zeros(1, np.int32), np.zeros(2, np.int64), 1),
        (np.zeros(1, np.int32), one, 0),
    ]:
        with pytest.raises(ValueError, match=r"columns differ|no such group"):
            rows_of(group, start, one.copy(), kinds, most)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=40), st.booleans())
def test_items_of_a_row_follow_each_other(drawn, nests):
    items = sorted((start, start + length) for start, length in drawn)
    rows, ends = laid(items, nests=nests)
    over = {}
    for (start, _), row, end in zip(items, rows, ends, strict=True):
        assert over.get(row, 0) <= start
        over[row] = end
