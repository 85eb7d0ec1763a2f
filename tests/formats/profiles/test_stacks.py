"""Call stacks as a tree of frames."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from converter.ir.columns import ListColumn, StructColumn
from converter.ir.field_classes import IntegerClass, StringClass
from converter.kernels.tables.strings import StringTable
from converter.projection.domain.stack_table import StackTable
from converter.projection.timeline_fields import FRAME

STACKS = st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=12)


def column(stacks, values):
    offsets = np.cumsum([0, *map(len, stacks)])
    return ListColumn(offsets.astype(np.int64), values)


def walked(table, stack):
    """The frames of a stack, innermost first."""
    stacks = table.stacks
    frames = []
    while stack:
        frames.append(int(stacks[stack]["frame"]))
        stack = int(stacks[stack]["outer"])
    return frames


@given(STACKS, STACKS)
def test_each_stack_is_in_the_tree_once(first, second):
    table = StackTable(StringTable())
    seen = {}
    for stacks in (first, second, first):
        addresses = np.array([one for stack in stacks for one in stack], np.uint64)
        numbers = table.add(column(stacks, addresses), IntegerClass(64)).tolist()
        for stack, number in zip(stacks, numbers, strict=True):
            assert [int(table.frames[one]["address"]) for one in walked(table, number)] == stack
            assert seen.setdefault(tuple(stack), number) == number
    assert all(number == 0 for stack, number in seen.items() if not stack)
    tails = {stack[at:] for stack in seen for at in range(len(stack))}
    assert len(table.stacks) == 1 + len(tails)


def test_frames_are_functions_with_all_that_is_known_of_them():
    strings = StringTable()
    names = [strings.intern(name) for name in ("main", "libc.so", "main.c")]
    frames = StructColumn(
        2,
        (
            np.array([names[0], 0], np.int32),
            np.array([names[1], 0], np.int32),
            np.array([0x10, 0], np.uint64),
            np.array([names[2], 0], np.int32),
            np.array([7, 0], np.uint32),
        ),
    )
    table = StackTable(strings)
    assert table.add(column([["main"], [], ["unknown"]], frames), FRAME).tolist() == [1, 0, 2]
    assert table.frames[1].tolist() == (names[0], names[1], 0x10, names[2], 7)
    # A frame of which nothing is known is a frame.
    assert table.frames[2].tolist() == (0, 0, 0, 0, 0)
    assert table.new_stacks(2).tolist() == [(0, 2)]
    assert len(table.new_frames(3)) == 0


def test_a_part_of_a_column_has_its_own_offsets():
    strings = StringTable()
    ids = np.array([strings.intern(name) for name in "abcd"], np.int32)
    table = StackTable(strings)
    part = ListColumn(np.array([1, 2, 4], np.int64), ids)
    found = table.add(part, StringClass())
    texts = [[table.frames[one]["function"] for one in walked(table, each)] for each in found]
    assert texts == [[ids[1]], [ids[2], ids[3]]]
