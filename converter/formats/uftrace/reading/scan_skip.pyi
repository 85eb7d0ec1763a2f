import numpy as np
from numpy.typing import NDArray

class OpenEntries:
    """The entries of the functions that a task is in, as its records are passed over.

    Only records that nest as calls do are: without values, each exit that of the innermost function.
    """

    def __init__(self, *, big_endian: bool) -> None: ...
    def places(self) -> list[int]:
        """Return the offsets of the entries in the file, the outermost first."""

    def follow(self, window: NDArray[np.uint8], start: int, until: int) -> int:
        """Go on with the whole records of a window, which starts at `start` of the file, that are before a time.

        Returns how many bytes these are, -1 where another record is among them.
        """

def find_record(data: bytes | NDArray[np.uint8], at: int, time: int, *, big_endian: bool) -> int:
    """The first place from `at` on, in steps of 8 bytes, where four records follow each other, or fewer up to the end.

    Their times rise, the first from `time` on; -1 without such a place.
    """
