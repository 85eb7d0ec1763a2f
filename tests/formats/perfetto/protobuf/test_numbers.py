"""Sets of numbers."""

from __future__ import annotations

import numpy as np

from converter.formats.perfetto.protobuf.numbers import Numbers


def test_numbers_are_found_and_none_beyond() -> None:
    """Neither numbers between those of a set nor beyond it are in it, however far."""
    column = np.array([-(1 << 62), -2, -1, 0, 1, 2, 3, 4, 1 << 62])
    found = Numbers(-1, 0, 3).isin(column)
    assert column[found].tolist() == [-1, 0, 3]
