from numpy import int32, int64, uint64
from numpy.typing import NDArray

def group_names(
    class_id: NDArray[int32],
    row: NDArray[int32],
    first: NDArray[int64],
    name: NDArray[int32],
    category: NDArray[int32],
    grouped_name: NDArray[int32],
    grouped_category: NDArray[int32],
) -> None:
    """Put event i's name and category at place ``first[class] + row``.

    Raises ValueError for an event that has no place. Releases the GIL.
    """

def gather_words(values: NDArray[uint64], first: NDArray[int64], rows: NDArray[uint64]) -> None:
    """Copy the words from ``values[first[i]]`` on to row i of `rows` (n x words).

    Raises ValueError for words outside `values`. Releases the GIL.
    """
