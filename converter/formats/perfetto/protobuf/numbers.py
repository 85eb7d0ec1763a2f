"""Sets of numbers, for searching columns of packets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Numbers:
    """A few small numbers. A search costs one table lookup for each number of a column."""

    def __init__(self, *numbers: int) -> None:
        # The table has an entry at each end, for smaller and larger numbers, which are not in the set.
        self._first = min(numbers) - 1
        self._table = np.zeros(max(numbers) - self._first + 2, np.bool_)
        self._table[np.array(numbers) - self._first] = True

    def isin(self, column: NDArray[Any]) -> NDArray[np.bool_]:
        """Return a mask of the entries of a column that are in the set."""
        found: NDArray[np.bool_] = self._table.take(column - self._first, mode="clip")
        return found
