from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

class FlowIdentities:
    def __init__(self) -> None: ...
    def ids(
        self,
        step: memoryview | bytes | NDArray[uint8],
        id: NDArray[uint64],
        is_text: memoryview | bytes | NDArray[uint8],
        name: NDArray[int32],
        category: NDArray[int32],
        order: NDArray[int64],
    ) -> tuple[NDArray[uint64], NDArray[uint8]]: ...
    def names(
        self,
        step: memoryview | bytes | NDArray[uint8],
        id: NDArray[uint64],
        name: NDArray[int32],
        category: NDArray[int32],
        order: NDArray[int64],
    ) -> NDArray[int32]: ...
