from numpy import int8, int64, uint8, uint64
from numpy.typing import NDArray

#: What an event does on its lane: it opens something; it closes what was opened last, or last under its name, where
#: anything has that; it says a value that holds until the next one.
BEGIN: int
END: int
VALUE: int

#: What an end closes: nothing, something that is not wanted, something that is.
UNMATCHED: int
DROPPED: int
KEPT: int

class Stacks:
    """What is open on each lane. Lanes and names are numbers of any 64 bits; name 0 is none."""

    def __init__(self) -> None: ...
    def follow(
        self,
        lane: NDArray[uint64],
        step: NDArray[int8],
        name: NDArray[int64],
        number: NDArray[int64],
        wanted: NDArray[uint8],
    ) -> tuple[NDArray[uint8], NDArray[int64]]:
        """Go on with events, each of which has a number of its own that is not negative.

        Returns:
            Of each end what it closes, and the number of the event that had opened that (-1: none).

        Raises ValueError for columns that differ in length, MemoryError. Releases the GIL.

        """
    def open(self) -> NDArray[int64]:
        """The numbers, ascending, of what is wanted and open, or holds."""
