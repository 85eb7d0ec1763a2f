from numpy import int64, uint8
from numpy.typing import NDArray

class Kept:
    first: int
    last: int
    def __init__(self, first: int, last: int) -> None: ...
    def ranges(self) -> NDArray[int64]: ...

def gather(
    block: memoryview | bytes | NDArray[uint8],
    offset: int,
    ranges: NDArray[int64],
    first: int,
    out: NDArray[uint8],
) -> int: ...
