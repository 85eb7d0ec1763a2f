"""Columns that are decoded when somebody asks, once, through however many derived tables."""

import numpy as np
import pytest

from converter.ir.tables import Computation, ComputedColumn, Constant, Table, Together


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


def test_a_recipe_makes_columns_of_any_table():
    asked = []

    def added(context, *columns):
        asked.append(context)
        return sum(columns)

    seven = Constant(np.int8(7))
    recipe = (1, seven, Computation(added, (0, Computation(added, (1, seven)))))
    for values in ([1, 2], [3, 4, 5]):
        numbers = np.array(values)
        table = Table(len(values), [lambda numbers=numbers: numbers, 10 * numbers])
        made = table.derived(recipe, len(values))
        assert asked == []
        assert made.stored(0)() is table.column(1)
        assert (made.column(1).tolist(), made.column(1).strides) == ([7] * len(values), (0,))
        assert made.column(2).tolist() == [11 * one + 7 for one in values]
        assert asked == [len(values)] * 2
        asked.clear()


def test_a_table_tells_whether_columns_were_asked_for():
    table = Table(1, [lambda: np.array([1]), lambda: np.array([2])])
    assert table.is_undecoded
    computed = ComputedColumn(lambda _, column: column, (table.lazy(1),), None)
    assert Table(1, [table.lazy(0), computed]).is_undecoded
    computed()
    assert not table.is_undecoded
    assert not Table(1, [np.array([1])]).is_undecoded


def test_columns_that_are_made_together_are_made_once():
    asked = []

    def make():
        asked.append("made")
        return [np.array([5]), np.array([6])]

    together = Together(make)
    table = Table(1, [together.column(1), together.column(0)])
    assert asked == []
    assert [table.column(0)[0], table.column(1)[0]] == [6, 5]
    assert asked == ["made"]
    with pytest.raises(IndexError):
        together.column(2)()
