"""Batches in the numbers of another trace's classes, with events behind others."""

from __future__ import annotations

import numpy as np
import pytest

from converter.ir.columns import constant_column, renumbered
from converter.ir.events import Batch, Table
from converter.projection.passes.renumbering import in_classes, with_events_behind


def _batch() -> Batch:
    """Events of the classes 0 and 1, in turn, with values 10, 11, ... in class 0."""
    return Batch(
        ts=np.array([5, 6, 7, 8], np.int64),
        class_id=np.array([0, 1, 0, 1], np.int32),
        row=np.array([0, 0, 1, 1], np.int32),
        tables={0: Table(2, [np.array([10, 11])]), 1: Table(2, [])},
        thread=np.array([3, 4, 3, 4], np.int32),
        cpu=np.array([0, 1, 0, 1], np.int32),
        track=np.array([-1, 2, -1, 2], np.int32),
    )


def test_a_batch_whose_classes_keep_their_numbers_is_itself() -> None:
    batch = _batch()
    assert in_classes(batch, [0, 1, 5]) is batch


def test_classes_get_their_numbers() -> None:
    batch = in_classes(_batch(), [2, 0])
    assert batch.class_id.tolist() == [2, 0, 2, 0]
    assert sorted(batch.tables) == [0, 2]
    column = batch.tables[2].column(0)
    assert isinstance(column, np.ndarray)
    assert column.tolist() == [10, 11]


def test_tables_are_put_in_place_of_the_batchs_own() -> None:
    batch = in_classes(_batch(), [0, 1], {0: Table(2, []), 1: Table(2, [])})
    assert batch.class_id.tolist() == [0, 1, 0, 1]
    assert [batch.tables[number].width for number in (0, 1)] == [0, 0]


def test_events_stand_behind_those_at_their_places() -> None:
    # Two behind the second event, in order, and one behind the last.
    at = np.array([1, 1, 3])
    added = {
        7: (np.array([0, 2]), Table(2, [np.array([70, 71])])),
        8: (np.array([1]), Table(1, [np.array([80])])),
    }
    batch = with_events_behind(_batch(), at, added, constant_column(np.int32(9), 3))
    assert batch.class_id.tolist() == [0, 1, 7, 8, 0, 1, 7]
    assert batch.row.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert batch.ts.tolist() == [5, 6, 6, 6, 7, 8, 8]
    assert batch.thread.tolist() == [3, 4, 4, 4, 3, 4, 4]
    assert batch.cpu.tolist() == [0, 1, 1, 1, 0, 1, 1]
    assert batch.track.tolist() == [-1, 2, 9, 9, -1, 2, 9]


@pytest.mark.parametrize("numbers", [[0, 1, 2], [2, 0, 1]])
@pytest.mark.parametrize(
    "column", [np.array([2, -1, 0], np.int32), constant_column(np.int32(1), 4)]
)
def test_numbers_of_another_table(numbers: list[int], column: np.ndarray) -> None:  # type: ignore[type-arg]
    expected = [-1 if number < 0 else numbers[number] for number in column.tolist()]
    assert renumbered(column, numbers).tolist() == expected


def test_no_thing_is_none_in_any_table() -> None:
    assert renumbered(constant_column(np.int32(-1), 2), []).tolist() == [-1, -1]
    assert renumbered(np.array([-1, -1], np.int32), [3]).tolist() == [-1, -1]
