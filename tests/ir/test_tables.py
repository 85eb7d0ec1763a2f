"""Columns that are decoded when somebody asks, once, through however many derived tables."""

import numpy as np
import pytest

from converter.ir.tables import Table


def test_a_column_is_decoded_once_when_it_is_asked_for():
    asked = []

    def decoded() -> np.ndarray:
        asked.append("decoded")
        return np.array([5, 6, 7])

    table = Table(3, [decoded, np.array([1, 2, 3])])
    derived = Table(3, table.lazy_columns())
    some = derived.select(np.array([2, 0]))
    assert (len(table), table.width, len(some)) == (3, 2, 2)
    assert asked == []
    assert some.column(0).tolist() == [7, 5]
    assert table.lazy(0)() is table.column(0) is derived.column(0)
    assert some.column(1).tolist() == [3, 1]
    assert asked == ["decoded"]


def test_there_are_only_the_columns_that_there_are():
    table = Table(1, [np.array([1])])
    with pytest.raises(IndexError):
        table.column(1)
    with pytest.raises(IndexError):
        table.lazy(1)()
