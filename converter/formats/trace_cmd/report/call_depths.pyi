from numpy import int32, int64
from numpy.typing import NDArray

class CallDepths:
    def follow(
        self, cpu: NDArray[int32], caller: NDArray[int32], callee: NDArray[int32]
    ) -> NDArray[int64]: ...
