"""What columns take of memory."""

import numpy as np
import pytest

from converter.ir.columns import (
    ListColumn,
    NullColumn,
    OptionalColumn,
    StructColumn,
    TakenColumn,
    TakenListColumn,
    UnionColumn,
    bytes_held,
    concatenate,
    constant_column,
    take,
)

FOUR = np.arange(4, dtype=np.int32)


@pytest.mark.parametrize(
    ("column", "size"),
    [
        (FOUR, 16),
        (constant_column(np.int64(7), 1000), 8),
        (NullColumn(9), 0),
        (ListColumn(np.array([0, 1, 4]), FOUR), 24 + 16),
        (StructColumn(4, (FOUR, NullColumn(4), FOUR.astype(np.uint8))), 16 + 4),
        (TakenColumn(FOUR, StructColumn(9, (np.arange(9),)), None), 16),
        (TakenListColumn(FOUR, ListColumn(np.arange(5), FOUR), None), 16),
        (UnionColumn(np.zeros(4, np.int16), FOUR, (FOUR, NullColumn(0))), 8 + 16 + 16),
        (OptionalColumn(np.ones(4, bool), FOUR), 4 + 16),
    ],
)
def test_bytes_held(column, size):
    assert bytes_held(column) == size


def test_rows_of_a_table_are_taken_as_rows():
    table = StructColumn(4, (np.array([7, 8, 9, 9]), constant_column(np.int32(5), 4)))
    column = TakenColumn(np.array([3, 0, 0, 2], np.int32), table, "here")
    lists = take(ListColumn(np.array([0, 1, 3, 4]), column), np.array([1, 0, 1]))
    taken = take(lists.values, np.array([2, 1]))
    for part, values in ((column, [9, 7, 7, 9]), (lists.values, [7, 7, 9, 7, 7]), (taken, [9, 7])):
        assert (part.length, part.table, part.origin) == (len(values), table, "here")
        assert [list(one) for one in part.members] == [values, [5] * len(values)]
    assert list(concatenate([column, taken]).members[0]) == [9, 7, 7, 9, 9, 7]


def test_lists_of_a_table_are_taken_as_rows():
    table = ListColumn(np.array([0, 0, 2, 3]), np.array([7, 8, 9]))
    column = TakenListColumn(np.array([2, 1, 0, 1], np.int32), table, "here")
    taken = take(column, np.array([3, 0]))
    for part, rows, offsets, values in (
        (column, [2, 1, 0, 1], [0, 1, 3, 3, 5], [9, 7, 8, 7, 8]),
        (taken, [1, 2], [0, 2, 3], [7, 8, 9]),
    ):
        assert (len(part), part.table, part.origin) == (len(rows), table, "here")
        assert part.rows.tolist() == rows
        assert (part.offsets.tolist(), part.values.tolist()) == (offsets, values)
    assert concatenate([taken, column]).offsets.tolist() == [0, 2, 3, 4, 6, 6, 8]
