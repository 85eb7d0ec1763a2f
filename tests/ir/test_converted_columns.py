"""Columns as kernels take them: as they are where they have the type, otherwise converted."""

import numpy as np
import pytest

from converter.ir.columns import ListColumn
from converter.ir.events import Table
from converter.ir.tables import ConvertedColumn, WholeColumn

WANTED = np.dtype(np.int32)


def _converted(column):
    return "converted", column


@pytest.mark.parametrize(
    "column",
    [
        np.arange(3, dtype=np.dtype(np.int32).newbyteorder("S")),
        np.arange(3, dtype=np.uint32),
        np.arange(3, dtype=np.float32),
        ListColumn(np.arange(4), np.zeros(3, np.uint8)),
    ],
    ids=["byte order", "unsigned", "float", "list"],
)
def test_what_is_of_another_type_is_converted(column):
    get = ConvertedColumn(WholeColumn(1), WANTED, _converted)
    kind, given = get(Table(3, [np.zeros(3), column]))
    assert kind == "converted"
    assert given is column


def test_what_is_of_the_type_is_given_as_it_is():
    column = np.arange(3, dtype=np.int32)
    get = ConvertedColumn(WholeColumn(0), WANTED, _converted)
    assert get(Table(3, [lambda: column])) is column


def test_without_a_type_all_is_converted():
    get = ConvertedColumn(WholeColumn(0), None, _converted)
    assert get(Table(3, [np.arange(3)]))[0] == "converted"


def test_a_table_lacks_the_column():
    with pytest.raises(IndexError):
        WholeColumn(2)(Table(3, [np.arange(3)]))


def test_all_columns_are_decoded_once():
    calls = []
    table = Table(1, [lambda: calls.append(1) or np.zeros(1), np.ones(1)])
    assert [column.tolist() for column in table.columns()] == [[0], [1]]
    assert [column.tolist() for column in table.columns()] == [[0], [1]]
    assert calls == [1]
