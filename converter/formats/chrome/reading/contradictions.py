"""Events whose arguments contradict their ``arg_types``, because a file was edited or is damaged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from converter.formats.chrome.reading.classes import Part, Plan
from converter.formats.chrome.reading.columns import Positions, Scanned, class_of_node, is_by_value
from converter.ir.columns import Column
from converter.kernels.tables.strings import StringTable


def is_checked(part: Part) -> bool:
    """Return True if an argument's declaration differs from its text's class and is cheap to check.

    The class of an event must be known before its arguments are requested. Those that are converted value by value
    are not checked: a caller that does not request them must not wait for them.
    """
    return part.declared is not None and not is_by_value(class_of_node(part.node), part.declared)


def checked(
    plan: Plan, scanned: Scanned, starts: Positions, strings: StringTable
) -> tuple[NDArray[np.bool_] | None, dict[int, Column]]:
    """Return the rows that contradict their declaration (None where none does), and the columns decoded for that."""
    columns: dict[int, Column] = {}
    for index, part in enumerate(plan.parts):
        if not is_checked(part):
            continue
        column = part.column(scanned, starts, strings)
        if column is None:
            return _contradicting(plan, scanned, starts, strings), {}
        columns[index] = column
    return None, columns


def _contradicting(
    plan: Plan, scanned: Scanned, starts: Positions, strings: StringTable
) -> NDArray[np.bool_]:
    found = np.zeros(len(starts), np.bool_)
    for part in plan.parts:
        if is_checked(part):
            found |= _contradicting_rows(part, scanned, starts, strings)
    return found


def _contradicting_rows(
    part: Part, scanned: Scanned, starts: Positions, strings: StringTable
) -> NDArray[np.bool_]:
    """Return the rows with such an argument. They are usually few: a half without one is checked once."""
    found = np.zeros(len(starts), np.bool_)
    waiting = [(0, len(starts))]
    while waiting:
        begin, end = waiting.pop()
        if part.column(scanned, starts[begin:end], strings) is not None:
            continue
        if end - begin == 1:
            found[begin] = True
        else:
            middle = (begin + end) // 2
            waiting += [(begin, middle), (middle, end)]
    return found
