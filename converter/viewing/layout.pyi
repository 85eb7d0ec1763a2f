from numpy import int32, int64, uint8
from numpy.typing import NDArray

def rows_of(
    group: NDArray[int32],
    start: NDArray[int64],
    end: NDArray[int64],
    nests: NDArray[uint8],
    most: int,
) -> NDArray[int32]:
    """Return the row of each item within its group, so that those of a row follow each other; -1 where all `most` are
    taken.

    Items are sorted by group, and by start in each. Where a group's `nests` is set, an item is in those that started
    before it and go on: one that has no end (the largest number) gets the earliest of theirs, in `end`. Where it is
    not, it is in the first row that is free. Raises ValueError for columns that differ in length. Releases the GIL.
    """
