from numpy import int32, int64, uint8
from numpy.typing import NDArray

def rows_of(
    group: NDArray[int32],
    start: NDArray[int64],
    end: NDArray[int64],
    nests: memoryview | bytes | NDArray[uint8],
    most: int,
) -> NDArray[int32]: ...
