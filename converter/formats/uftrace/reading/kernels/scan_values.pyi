from numpy import int64, uint64
from numpy.typing import NDArray

def gather_words(
    values: NDArray[uint64], first: NDArray[int64], columns: NDArray[uint64]
) -> None: ...
