from numpy import int32, int64, uint64
from numpy.typing import NDArray

class MessageFlows:
    def __init__(self) -> None: ...
    def match(
        self,
        step: NDArray[int32],
        thread: NDArray[int32],
        scope: NDArray[uint64],
        id: NDArray[uint64],
        received: NDArray[int64],
    ) -> NDArray[int64]: ...
