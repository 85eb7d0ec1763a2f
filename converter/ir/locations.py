"""Where the undecoded contents of a batch's events lie, by class: readers decode a column when it is asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from converter.kernels.order import group_by_class


class Locations:
    """Locations and sizes of the events of a batch, grouped by class when the first column is asked for.

    `class_id`, `row` (int32), `location` (int64) and `size` (uint32) have an entry for each event, in its order;
    `counts` (int32) has the number of events of each class.
    """

    def __init__(
        self,
        class_id: NDArray[np.int32],
        row: NDArray[np.int32],
        location: NDArray[np.int64],
        size: NDArray[np.uint32],
        counts: NDArray[np.int32],
    ) -> None:
        self.counts = counts
        self._events = (class_id, row)
        self._ungrouped = (location, size)
        self._first = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=self._first[1:])
        self._grouped: tuple[NDArray[np.int64], NDArray[np.uint32]] | None = None

    def of_class(self, id: int) -> Callable[[], tuple[NDArray[np.int64], NDArray[np.uint32]]]:
        """A function that gives the locations (int64) and sizes (uint32) of a class's events, a row each."""

        def located() -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
            if self._grouped is None:
                location, size = self._ungrouped
                grouped = np.empty_like(location), np.empty_like(size)
                group_by_class(*self._events, self._first[:-1], location, size, *grouped)
                self._grouped = grouped
            here = slice(int(self._first[id]), int(self._first[id + 1]))
            return self._grouped[0][here], self._grouped[1][here]

        return located
