"""Values of columns: each once, and for each row which of them it holds."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from converter.ir.distinct_values import counts_of, distinct, map_distinct, values_of


@given(
    st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))),
    st.sampled_from((np.int64, np.uint64, np.int8, np.uint32)),
)
def test_each_row_holds_one_of_the_values(numbers, dtype):
    column = np.array(numbers, np.int64).astype(dtype)
    values, inverse = distinct(column)
    assert values.dtype == column.dtype
    np.testing.assert_array_equal(values[inverse], column)
    assert sorted(values.tolist()) == sorted(set(column.tolist()))
    each = values_of(column)
    assert each.dtype == column.dtype
    assert each.tolist() == sorted(set(column.tolist()))
    doubled = map_distinct(column, lambda number: number % 1000)
    np.testing.assert_array_equal(doubled, [number % 1000 for number in column.tolist()])


@given(
    st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))),
    st.sampled_from((np.int64, np.uint64, np.int8, np.uint32)),
)
def test_values_are_counted(numbers, dtype):
    column = np.array(numbers, np.int64).astype(dtype)
    assert counts_of(column) == Counter(column.tolist())


def test_values_that_lie_far_apart():
    column = np.arange(0, 2**40, 2**25, dtype=np.uint64).repeat(3)
    values, inverse = distinct(column)
    assert len(values) == 2**15
    np.testing.assert_array_equal(values[inverse], column)


def test_the_value_of_a_constant_column():
    assert values_of(np.broadcast_to(np.int32(7), 5)).tolist() == [7]
    assert values_of(np.broadcast_to(np.int32(7), 0)).tolist() == []
