from numpy import int32, uint8
from numpy.typing import NDArray

class CpuState:
    def __init__(self, cpus: int) -> None: ...
    def begin(self, cpu: int, thread: int) -> None: ...
    def follow(
        self,
        roles: memoryview | bytes | NDArray[uint8],
        class_id: NDArray[int32],
        cpu: NDArray[int32],
        thread: NDArray[int32],
        value: NDArray[int32],
        threads: int,
    ) -> None: ...
