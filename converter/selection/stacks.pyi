from typing import NamedTuple

from numpy import int8, int32, int64, uint64
from numpy.typing import NDArray

#: The action of an event on its stack: it opens an entry; it closes the entry opened last, or last under its name,
#: where : there is one with that name; it sets a value that holds until the next one.
BEGIN: int
END: int
VALUE: int

#: In place of the owner of what an end closes, which may be nothing.
UNMATCHED: int

class Closed(NamedTuple):
    """For each event that is an end: the owner, the number and the name of the entry that it closes (-1, -1 and 0 for
    nothing), and how much of the range between the two numbers was inside entries that had opened, and closed, in
    between.
    """

    owner: NDArray[int32]
    number: NDArray[int64]
    name: NDArray[int64]
    inside: NDArray[int64]

class Stacks:
    """Open entries of each stack. Stacks and names are numbers of any 64 bits; name 0 is none, owner 0 is nobody."""

    def __init__(self) -> None: ...
    def follow(
        self,
        lane: NDArray[uint64],
        step: NDArray[int8],
        name: NDArray[int64],
        number: NDArray[int64],
        owner: NDArray[int32],
    ) -> Closed:
        """Go on with events, each of which has a number of its own and an owner; neither is negative.

        Raises ValueError for columns that differ in length, MemoryError. Releases the GIL.

        """
    def open(self) -> tuple[NDArray[int64], NDArray[int64]]:
        """The numbers, ascending, and the owners of what somebody has that is open, or holds."""
