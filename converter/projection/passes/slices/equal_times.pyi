from numpy import int64, uint8
from numpy.typing import NDArray

def fates(
    step: memoryview | bytes | NDArray[uint8],
    joins: memoryview | bytes | NDArray[uint8],
    starts: NDArray[int64],
) -> NDArray[uint8]: ...
