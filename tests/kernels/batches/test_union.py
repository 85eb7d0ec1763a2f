"""Looking up by number, as NumPy's indexing does it, but for what is far below zero."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.kernels.batches.union import (
    DenseUnion,
    looked_up,
    mark,
    positions_of,
    put,
    put_by_class,
    values_by_class,
)


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


@given(st.lists(st.integers(0, 3)))
def test_a_class_has_the_same_places_by_itself(classes):
    class_id = np.array(classes, np.int32)
    row = np.array([classes[:i].count(number) for i, number in enumerate(classes)], np.int32)
    lengths = {number: classes.count(number) for number in range(4)}
    union = DenseUnion(class_id, row, lengths)
    for number, length in lengths.items():
        found = positions_of(number, class_id, row, length)
        assert found.tolist() == np.flatnonzero(class_id == number).tolist()
        assert union.positions(number).tolist() == found.tolist()


@pytest.mark.parametrize("turn", range(3))
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9)), max_size=40))
def test_a_column_is_taken_for_each_class(turn, dtype, events):
    classes = [of for of, _ in events]
    class_id = np.array(classes, np.int32)
    column = np.array([value for _, value in events], dtype) << np.iinfo(dtype).bits - 5
    row = np.array([classes[:i].count(number) for i, number in enumerate(classes)], np.int32)
    union = DenseUnion(class_id, row, {number: classes.count(number) for number in range(4)})
    for i in range(4):
        # Whichever class comes first, and whether its places were asked for before.
        number = (i + turn) % 4
        if i == 2:
            assert union.positions(number).tolist() == np.flatnonzero(class_id == number).tolist()
        taken = union.taken(column, number)
        assert taken.dtype == dtype
        assert taken.tolist() == column[class_id == number].tolist()
        assert union.positions(number).tolist() == np.flatnonzero(class_id == number).tolist()
        if number in classes:
            assert union.first(number) == classes.index(number)
        else:
            with pytest.raises(KeyError):
                union.first(number)


def test_threads_may_ask_at_once():
    class_id = np.arange(1 << 16, dtype=np.int32) % 7
    row = np.arange(1 << 16, dtype=np.int32) // 7
    column = np.arange(1 << 16, dtype=np.int32) * 3
    lengths = {number: int((class_id == number).sum()) for number in range(7)}
    for _ in range(20):
        union = DenseUnion(class_id, row, lengths)
        with ThreadPoolExecutor(4) as pool:
            taken = list(pool.map(union.taken, [column] * 7, range(7)))
        for number, values in enumerate(taken):
            assert np.array_equal(values, column[number::7])


def test_rows_that_no_table_has_are_not_taken():
    class_id, row = np.array([0, 1, 1], np.int32), np.array([0, 0, 2], np.int32)
    union = DenseUnion(class_id, row, {0: 1, 1: 2})
    with pytest.raises(ValueError, match="event 2 is row 2 of class 1"):
        union.taken(row, 1)
    with pytest.raises(KeyError):
        DenseUnion(class_id[:2], row[:2], {0: 1, 1: 1}).positions(2)


def test_each_event_has_the_value_of_its_class():
    class_id, row = np.array([2, 0, 1, 2, 5], np.int32), np.array([1, 0, 0, 0, 3], np.int32)
    columns = {
        0: np.array([7], np.int32),
        2: np.arange(20, 26, dtype=np.int32)[::3],
        5: np.broadcast_to(np.int32(-4), (4,)),
    }
    assert values_by_class(class_id, row, columns).tolist() == [23, 7, 0, 20, -4]
    assert values_by_class(class_id, row, {}).tolist() == [0] * 5


@pytest.mark.parametrize("of_row", [2, -1, 2**31 - 1, -(2**31)])
def test_rows_outside_of_their_class_are_refused(of_row):
    class_id, row = np.array([3, 3], np.int32), np.array([0, of_row], np.int32)
    with pytest.raises(ValueError, match=f"event 1 is row {of_row} of class 3"):
        positions_of(3, class_id, row, 2)
    with pytest.raises(ValueError, match=f"event 1 is row {of_row} of class 3"):
        values_by_class(class_id, row, {3: np.zeros(2, np.int32)})
    with pytest.raises(ValueError, match="differ in length"):
        positions_of(3, class_id, row[:1], 2)
    with pytest.raises(ValueError, match="differ in length"):
        values_by_class(class_id, row[:1], {})
    with pytest.raises(ValueError, match="class -1"):
        values_by_class(class_id, row, {-1: row})


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 9)), max_size=20))
def test_values_are_put_by_class(events):
    class_id = np.array([of for of, _ in events], np.int32)
    column = np.array([value for _, value in events], np.int32)
    # Of class 1 nothing is said, and of those from 4 on not even that.
    values = np.array([-1, 99, 7, 0], np.int32)
    wanted = [[-1, value, 7, 0][of] if of < 4 else value for of, value in events]
    assert put_by_class(column, class_id, values, 99).tolist() == wanted


def test_values_put_by_class_need_columns_of_one_length():
    with pytest.raises(ValueError, match="length"):
        put_by_class(np.zeros(2, np.int32), np.zeros(3, np.int32), np.zeros(1, np.int32), -1)
