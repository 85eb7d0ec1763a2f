"""Sets of numbers, which are looked for in columns of packets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Numbers:
    """A few small numbers. Finding them costs one look into a table for each number of a column."""

    def __init__(self, *numbers: int) -> None:
        # What lies beyond stands for all that are less, or more, and is not among them.
        self._first = min(numbers) - 1
        self._table = np.zeros(max(numbers) - self._first + 2, np.bool_)
        self._table[np.array(numbers) - self._first] = True

    def among(self, column: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of a column are among these."""
        found: NDArray[np.bool_] = self._table.take(column - self._first, mode="clip")
        return found
