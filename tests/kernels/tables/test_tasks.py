"""The table of tasks, at every size at which it grows."""

import pytest

from converter.kernels.tables.tasks import TaskTable

SIZES = [n for bits in range(7, 14) for n in (2**bits - 1, 2**bits, 2**bits + 1)]


def _table(count: int) -> TaskTable:
    table = TaskTable()
    for pid in range(count):
        table.add(pid)
        table.assign(pid, pid + 1000)
    return table


@pytest.mark.parametrize("count", [0, 1, 2, *SIZES])
def test_tasks_keep_what_they_have_when_one_that_is_there_is_named_again(count: int) -> None:
    table = _table(count)
    for pid in range(min(count, 3)):
        table.assign(pid, pid + 1000)
        table.add(pid)
    assert len(table) == count
    assert [table.thread_of(pid) for pid in range(count)] == [pid + 1000 for pid in range(count)]
    assert table.thread_of(count) == -1


@pytest.mark.parametrize("count", [0, 1, 2, *SIZES])
def test_tables_absorb_each_other_at_any_size(count: int) -> None:
    table = _table(count)
    table.absorb(_table(count))
    assert [table.thread_of(pid) for pid in range(count)] == [pid + 1000 for pid in range(count)]
    more = TaskTable()
    more.add(count)
    table.absorb(more)
    assert [pid for pid, *_ in table.tasks()] == list(range(count + 1))
    table.absorb(table)
    assert len(table) == count + 1
