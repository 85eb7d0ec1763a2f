from numpy import int64, uint64
from numpy.typing import NDArray

def gather_words(values: NDArray[uint64], first: NDArray[int64], rows: NDArray[uint64]) -> None:
    """Copy the words from ``values[first[i]]`` on to row i of `rows` (n x words).

    Raises ValueError for words outside `values`. Releases the GIL.
    """
