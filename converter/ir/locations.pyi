from collections.abc import Callable

from numpy import int32, int64, uint32
from numpy.typing import NDArray

class Locations:
    """Locations and sizes of the events of a batch, grouped by class when the first column is asked for.

    `class_id`, `row` (int32), `location` (int64) and `size` (uint32) have an entry for each event, in its order;
    `counts` (int32) has the number of events of each class.
    """

    counts: NDArray[int32]
    def __init__(
        self,
        class_id: NDArray[int32],
        row: NDArray[int32],
        location: NDArray[int64],
        size: NDArray[uint32],
        counts: NDArray[int32],
    ) -> None: ...
    def of_class(self, id: int) -> Callable[[], tuple[NDArray[int64], NDArray[uint32]]]:
        """A function that returns the locations (int64) and sizes (uint32) of a class's events, a row each."""
