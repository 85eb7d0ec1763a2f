"""Calls of kernels that hardly any input leads to, in the way that Python makes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def events_of_one_time() -> None:
    """Begins, ends, complete slices and flows in groups of one time."""
    from converter.projection.passes.slices import equal_times

    step = np.array([1, 2, 3, 4, 5, 1, 1, 2, 2, 0, 5, 3], np.uint8)
    joins = np.array([0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], np.uint8)
    equal_times.fates(step, joins, np.array([0, 5, 9, 9, 12], np.int64))


def rows_of_a_page() -> None:
    """Slices in rows: of one group in each other, of the other side by side."""
    from converter.analysis.viewing import layout

    group = np.array([0, 0, 0, 1, 1, 1], np.int32)
    start = np.array([0, 10, 20, 0, 5, 30], np.int64)
    end = np.array([100, 2**63 - 1, 30, 10, 20, 40], np.int64)
    layout.rows_of(group, start, end, np.array([1, 0], np.uint8), 4)


def memory_set_aside() -> None:
    """Memory for errors."""
    from converter.kernels.io import reserve

    reserve.set_aside(1 << 20)
    reserve.set_aside(1 << 12)
    reserve.give_back()
    reserve.give_back()


EXAMPLES: tuple[Callable[[], None], ...] = (events_of_one_time, rows_of_a_page, memory_set_aside)
