"""Call stacks get the same number if, and only if, they are equal."""

import numpy as np
import pytest

from converter.ir.columns import (
    ListColumn,
    StructColumn,
    TakenColumn,
    TakenListColumn,
    column_from_values,
    take,
    value,
)
from converter.ir.field_classes import ArrayClass, StringClass
from converter.kernels.tables.strings import StringTable
from converter.projection.domain.stack_table import DistinctStacks, StackTable
from converter.projection.timeline_fields import ADDRESSES, FRAME, FRAMES, FUNCTIONS


def frame(function, file, address, line=0):
    values = (function, file, address, b"", line)
    names = ("function", "mapping", "rel_pc", "source", "line")
    return list(zip(names, values, strict=True))


def drawn(kind, rng, constant):
    """Stacks with equal ones among them; of some columns all frames have the same file."""
    pick = rng.integers(0, 2, (200, 4))
    depth = rng.integers(0, 5, 200)

    def one(n, i):
        if kind is FRAMES:
            return frame(b"f%d" % n, b"a" if constant else b"m%d" % (n & i), int(n), int(i % 2))
        return b"f%d" % n if kind is FUNCTIONS else int(n)

    return [
        [one(int(n), i) for i, n in enumerate(row[:size])]
        for row, size in zip(pick, depth, strict=True)
    ]


@pytest.mark.parametrize("kind", [FRAMES, FUNCTIONS, ADDRESSES])
@pytest.mark.parametrize("constant", [False, True])
def test_equal_stacks_have_the_same_number(kind, constant):
    strings, rng = StringTable(), np.random.default_rng(1)
    distinct = DistinctStacks(strings)
    table = StackTable(strings)
    by_stack: dict[str, int] = {}
    for batch in range(3):
        stacks = drawn(kind, rng, constant and batch < 2)
        column = column_from_values(kind.type, stacks, strings)
        numbers, new = distinct.number(column, kind.type.element)
        assert len(set(zip(map(str, stacks), numbers.tolist(), strict=True))) == len(
            set(map(str, stacks))
        )
        first = int(numbers[new].min(initial=1 << 30))
        assert numbers[new].tolist() == sorted({n for n in numbers.tolist() if n >= first})
        for stack, number in zip(
            stacks, table.add(column, kind.type.element).tolist(), strict=True
        ):
            assert by_stack.setdefault(str(stack), number) == number
            assert (number == 0) == (not stack)
    assert len(set(by_stack.values())) == len(by_stack)


def test_frames_of_tables_are_told_apart_by_row_and_origin():
    strings = StringTable()
    distinct, table = DistinctStacks(strings), StackTable(strings)

    def column(frames, origin):
        values = column_from_values(FRAME, [frame(b"f", b"m", n) for n in frames], strings)
        rows = np.array([0, 1, 0, 1, 1], np.int32)
        return ListColumn(np.array([0, 2, 4, 5, 5]), TakenColumn(rows, values, origin))

    for origin, frames in (("a", [1, 2]), ("a", [1, 2, 3]), ("b", [2, 1])):
        taken = column(frames, origin)
        numbers = distinct.number(taken, FRAME)[0].tolist()
        first = 1 if origin == "a" else 4
        assert numbers == [first, first, first + 1, first + 2]
        stacks = table.add(taken, FRAME).tolist()
        assert len({*stacks}) == 3
        plain = ListColumn(taken.offsets, StructColumn(5, taken.values.members))
        assert table.add(plain, FRAME).tolist() == stacks


def test_rows_of_tables_of_stacks_have_a_number_each():
    strings = StringTable()
    distinct, table = DistinctStacks(strings), StackTable(strings)
    whole = column_from_values(FUNCTIONS.type, [[], [b"a"], [b"b", b"a"], [b"c"]], strings)
    expected = {("here", 0): 1, ("here", 2): 2, ("here", 3): 3, ("there", 2): 4}
    known = 0
    for origin, size, rows in (
        ("here", 3, [2, 0, 2]),
        ("here", 4, [3, 2]),
        ("there", 4, [2]),
        *((n, 4, [1]) for n in range(9)),
        # After so many others the first is a new one.
        ("here", 4, [0, 3]),
    ):
        if known == 13:
            del expected["here", 0], expected["here", 3]
        part = take(whole, np.arange(size))
        column = TakenListColumn(np.array(rows, np.int32), part, origin)
        numbers, new = distinct.number(column, StringClass())
        found = dict(zip([(origin, row) for row in rows], numbers.tolist(), strict=True))
        assert all(expected.setdefault(key, number) == number for key, number in found.items())
        assert numbers[new].tolist() == sorted({n for n in numbers.tolist() if n > known})
        known = max(known, *numbers.tolist())
        plain = ListColumn(column.offsets, column.values)
        stacks = table.add(plain, StringClass()).tolist()
        assert table.add(column, StringClass()).tolist() == stacks


def test_a_column_of_a_part_of_its_frames():
    strings = StringTable()
    whole = column_from_values(FUNCTIONS.type, [[b"a"], [b"b", b"a"], [], [b"a"]], strings)
    part = ListColumn(whole.offsets[1:], whole.values)
    numbers, new = DistinctStacks(strings).number(part, StringClass())
    assert numbers.tolist() == [1, 2, 3]
    assert new.tolist() == [0, 1, 2]
    assert value(part, FUNCTIONS.type, 0, strings) == [b"b", b"a"]


def test_no_stacks():
    strings = StringTable()
    empty = column_from_values(ArrayClass(FRAME), [], strings)
    numbers, new = DistinctStacks(strings).number(empty, FRAME)
    assert len(numbers) == len(new) == 0
