from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

class SliceArrows:
    def __init__(self) -> None: ...
    def steps(
        self,
        id: NDArray[uint64],
        terminates: memoryview | bytes | NDArray[uint8],
        order: NDArray[int64],
    ) -> tuple[NDArray[uint8], NDArray[int32]]: ...
