from typing import NamedTuple

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

class Closed(NamedTuple):
    """Of each event, if it is an end: what it closes, the number and the name of that (-1 and 0 for nothing), and how
    much of the way between the two numbers was inside of something that had opened, and closed, in between.
    """

    state: NDArray[uint8]
    number: NDArray[int64]
    name: NDArray[int64]
    inside: NDArray[int64]

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
    ) -> Closed:
        """Go on with events, each of which has a number of its own that is not negative.

        Raises ValueError for columns that differ in length, MemoryError. Releases the GIL.

        """
    def open(self) -> NDArray[int64]:
        """The numbers, ascending, of what is wanted and open, or holds."""
