from collections.abc import Sequence
from typing import TypeVar

from numpy import int32, int64, uint32
from numpy.typing import NDArray

from converter.kernels.event_arrays import OutputArrays

_First = TypeVar("_First", int64, int32)
_Second = TypeVar("_Second", uint32, int32)

class Merge:
    """Streams of events merged by time: heads are compared, at equal times the lower stream goes first.

    A stream has a window of events at a time; `fill` stops where one runs out.
    """

    def __init__(self, cpus: Sequence[int], tracks: Sequence[int]) -> None:
        """One stream for each cpu (and track), all empty."""
    def feed(
        self,
        stream: int,
        ts: NDArray[int64],
        class_id: NDArray[int32],
        thread: NDArray[int32],
        start: NDArray[uint32],
        size: NDArray[uint32],
        count: int,
        segment: int,
    ) -> None:
        """Give an empty stream its next `count` events, whose payloads lie in `segment`. The arrays are kept."""
    def move(self, stream: int, cpu: int) -> None:
        """From now on the events of the stream, which is empty, are on this CPU."""
    def renumber(self, stream: int, segment: int) -> None:
        """From now on the stream's window is `segment`."""
    def fill(
        self,
        events: OutputArrays,
        filled: int,
        counts: NDArray[int32],
    ) -> tuple[int, int]:
        """Fill the columns from place `filled` on: (places filled, the stream that ran out or -1).

        The columns are the common ones, of which `track` may be missing, location (int64) and size (uint32). `counts`
        numbers the rows of each class. With -1 the columns are full, or no stream has an event. Raises ValueError for a
        class without an entry in `counts`. Releases the GIL.
        """

def group_by_class(
    class_id: NDArray[int32],
    row: NDArray[int32],
    first: NDArray[int64],
    one: NDArray[_First],
    other: NDArray[_Second],
    grouped_one: NDArray[_First],
    grouped_other: NDArray[_Second],
) -> None:
    """Put event i's values in two columns at place ``first[class] + row``.

    Raises ValueError for an event that has no place. Releases the GIL.
    """
