"""Looking up by number, as NumPy's indexing does it, but for what is far below zero."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.kernels.union import looked_up, mark, put


@given(st.lists(st.integers(-1, 4)))
def test_numbers_are_looked_up(numbers):
    table = np.array([10, 20, 30, 40, 50], np.int32)
    column = np.array(numbers, np.int32)
    assert looked_up(table, column).tolist() == table[column].tolist()
    marks = np.zeros(5, np.uint8)
    mark(marks, column)
    assert np.flatnonzero(marks).tolist() == sorted({number % 5 for number in numbers})


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-(2**31), 2**31 - 1))))
def test_values_are_put_at_positions(pairs):
    column, expected = np.arange(5, dtype=np.int32), np.arange(5, dtype=np.int32)
    positions, values = np.array(pairs, np.int32).reshape(-1, 2).T
    put(column, positions, values)
    expected[positions] = values
    assert column.tolist() == expected.tolist()
    put(column, positions, np.broadcast_to(np.int32(-7), len(pairs)))
    expected[positions] = -7
    assert column.tolist() == expected.tolist()


@pytest.mark.parametrize("position", [2, -1, 2**31 - 1, -(2**31)])
def test_positions_outside_are_refused(position):
    with pytest.raises(ValueError, match=f"position {position} of 2"):
        put(np.zeros(2, np.int32), np.array([0, position], np.int32), np.zeros(2, np.int32))
    with pytest.raises(ValueError, match="differ in number"):
        put(np.zeros(2, np.int32), np.zeros(2, np.int32), np.zeros(1, np.int32))


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
