"""What events call tasks: the latest name counts, at any size of the table."""

import numpy as np
import pytest

from converter.kernels.tables.strings import StringTable
from converter.kernels.tables.task_names import TaskNames

SIZES = [n for bits in range(7, 12) for n in (2**bits - 1, 2**bits, 2**bits + 1)]


def noted(*rows: tuple[int, int, int], dtype: type = np.int32) -> dict[int, int]:
    """The names after rows of a tid, a name and a time."""
    names = TaskNames()
    tids, ids, ts = np.array(rows, np.int64).reshape(-1, 3).T
    strings = StringTable()
    for number in range(max(ids, default=0)):
        strings.intern(f"name {number}")
    names.note_columns(tids.astype(dtype), ids.astype(np.int32), ts, strings)
    assert len(names) == len(dict(names.names()))
    return dict(names.names())


def test_the_latest_name_of_each_task_counts_whatever_the_order():
    assert noted((7, 1, 10), (7, 2, 5), (8, 3, 0), (7, 1, 9)) == {7: 1, 8: 3}
    assert noted((7, 1, 10), (7, 2, 11)) == noted((7, 2, 11), (7, 1, 10)) == {7: 2}


def test_of_names_at_one_time_the_last_counts():
    assert noted((7, 1, 10), (7, 2, 10)) == {7: 2}


def test_a_name_that_is_repeated_is_as_late_as_its_last_event():
    assert noted((7, 1, 1), (7, 1, 9), (7, 2, 5)) == {7: 1}


def test_the_idle_task_keeps_the_first_of_its_names():
    assert noted((0, 1, 1), (0, 2, 9), (1, 1, 1), (1, 2, 9)) == {0: 1, 1: 2}


def test_empty_names_and_unknown_tasks_say_nothing():
    assert noted((7, 0, 1), (-1, 3, 1)) == {}
    assert noted((7, 2, 1), (7, 0, 2)) == {7: 2}
    assert noted() == {}


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64, np.int16])
def test_tids_of_any_width_are_taken(dtype):
    assert noted((7, 1, 1), (0, 2, 1), dtype=dtype) == {7: 1, 0: 2}


@pytest.mark.parametrize("count", SIZES)
def test_names_stay_where_the_table_grows(count):
    assert noted(*((tid, tid + 1, 5) for tid in range(count))) == {
        tid: tid + 1 for tid in range(count)
    }


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="length"):
        TaskNames().note_columns(
            np.zeros(2, np.int32), np.zeros(1, np.int32), np.zeros(2, np.int64), StringTable()
        )


def test_names_that_are_none_of_the_strings_are_refused():
    with pytest.raises(ValueError, match="strings"):
        TaskNames().note_columns(
            np.zeros(1, np.int32), np.ones(1, np.int32), np.zeros(1, np.int64), StringTable()
        )


def test_what_tools_print_for_an_unknown_name_is_none():
    assert texts((7, b"a", 5), (7, b"<...>", 6), (8, b"<...>", 1)) == {7: b"a"}
    names, strings = TaskNames(), StringTable()
    ids = np.array(
        [strings.intern("<...>"), strings.intern("a"), strings.intern("<...>")], np.int32
    )
    names.note_columns(np.array([0, 0, 0], np.int32), ids, np.array([1, 2, 3], np.int64), strings)
    assert dict(names.names()) == {0: ids[1]}


def test_tasks_that_share_the_last_bits_of_their_numbers_are_told_apart():
    rows = [(tid, 1 + tid % 7, turn) for turn in range(3) for tid in range(3, 3 + 64 * 5, 64)]
    assert noted(*rows) == {tid: 1 + tid % 7 for tid, _, _ in rows}


def texts(*rows: tuple[int, bytes, int], offsets: list[int] | None = None) -> dict[int, bytes]:
    """The names after rows of a tid, a text and a time."""
    names, strings = TaskNames(), StringTable()
    ends = np.cumsum([0, *(len(text) for _, text, _ in rows)]) if offsets is None else offsets
    data = np.frombuffer(b"".join(text for _, text, _ in rows), np.uint8)
    tids, ts = (np.array([row[i] for row in rows], np.int64) for i in (0, 2))
    names.note_texts(tids, np.array(ends, np.int64), data, ts, strings)
    return {tid: strings[name] for tid, name in names.names()}


def test_names_that_are_texts_are_kept_as_strings():
    assert texts((7, b"a", 5), (8, b"", 5), (7, b"b" * 17, 6), (7, b"c", 4)) == {7: b"b" * 17}
    assert texts() == {}


@pytest.mark.parametrize("offsets", [[0, 4], [-1, 2], [2, 1], [4, 5]])
def test_texts_outside_the_data_are_refused(offsets):
    with pytest.raises(ValueError, match="outside"):
        texts((7, b"abc", 5), offsets=offsets)
