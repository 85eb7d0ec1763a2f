from numpy import int32, int64, uint8
from numpy.typing import NDArray

class CallTree:
    def __init__(self) -> None: ...
    def add(
        self,
        step: NDArray[int32],
        thread: NDArray[int32],
        track: NDArray[int32],
        name: NDArray[int32],
        ts: NDArray[int64],
        calls: NDArray[int32] | None = None,
    ) -> tuple[NDArray[uint8], NDArray[int64]]: ...
    def close(self, now: int) -> tuple[NDArray[int32], NDArray[int32], NDArray[int64]]: ...
    def calls(self) -> tuple[NDArray[int32], NDArray[int32], NDArray[int32], NDArray[int64]]: ...
    def roots(self) -> tuple[NDArray[int32], NDArray[int32]]: ...
