"""Looking up by number, as NumPy's indexing does it, but for what is far below zero."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.kernels.union import looked_up, mark


@given(st.lists(st.integers(-1, 4)))
def test_numbers_are_looked_up(numbers):
    table = np.array([10, 20, 30, 40, 50], np.int32)
    column = np.array(numbers, np.int32)
    assert looked_up(table, column).tolist() == table[column].tolist()
    marks = np.zeros(5, np.uint8)
    mark(marks, column)
    assert np.flatnonzero(marks).tolist() == sorted({number % 5 for number in numbers})


def test_a_column_may_be_constant():
    column = np.broadcast_to(np.int32(-1), (3,))
    assert looked_up(np.array([7, 8], np.int32), column).tolist() == [8, 8, 8]


@pytest.mark.parametrize("number", [2, -2, -3, 2**31 - 1, -(2**31)])
def test_numbers_outside_are_refused(number):
    column = np.array([0, number], np.int32)
    with pytest.raises(ValueError, match=f"number {number} of a table of 2"):
        looked_up(np.zeros(2, np.int32), column)
    with pytest.raises(ValueError, match=f"number {number} of 2"):
        mark(np.zeros(2, np.uint8), column)
    with pytest.raises(ValueError, match="of a table of 0"):
        looked_up(np.zeros(0, np.int32), column)
