from numpy import int32, uint64
from numpy.typing import NDArray

def number_values(column: NDArray[uint64]) -> tuple[NDArray[uint64], NDArray[int32]]:
    """The distinct values of a column in the order in which they first occur, and for each row which of them it holds.

    Raises ValueError for more than 2^30 rows, MemoryError. Releases the GIL.
    """
