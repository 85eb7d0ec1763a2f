"""Call stacks of samples, from tables that say of each stack its innermost function and the stack around that."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import ListColumn
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import ArrayClass, StringClass
from converter.ir.kinds import Kind, Role

#: Frames of a call stack beyond these are left out.
MAX_DEPTH: Final = 1 << 10
#: A sample of functions by their names, innermost first.
SAMPLE: Final = EventClass(
    Kind.SAMPLE, fields=(Field("frames", ArrayClass(StringClass()), Role.FRAMES),)
)


def call_stacks(
    stack: NDArray[np.int64], prefix: NDArray[np.int64], function: NDArray[np.int32]
) -> ListColumn:
    """The functions of each stack: each walks from the innermost frame outwards, all at a time.

    By the number of a stack, `prefix` has the one around it (-1: none) and `function` its innermost function.
    """
    levels: list[NDArray[np.int32]] = []
    rows: list[NDArray[np.int64]] = []
    count = len(stack)
    row = np.arange(count)
    while len(stack) and len(levels) < MAX_DEPTH:
        levels.append(function[stack])
        rows.append(row)
        stack = prefix[stack]
        row, stack = row[stack >= 0], stack[stack >= 0]
    every = np.concatenate([np.zeros(0, np.int64), *rows])
    order = np.argsort(every, kind="stable")
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(every, minlength=count), out=offsets[1:])
    return ListColumn(offsets, np.concatenate([np.zeros(0, np.int32), *levels])[order])
