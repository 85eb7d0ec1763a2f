from numpy import int64, uint8
from numpy.typing import NDArray

def has_library() -> bool: ...

class ChunkDecompressor:
    def __init__(self) -> None: ...
    def fill(
        self,
        data: memoryview | bytes | NDArray[uint8],
        chunks: NDArray[int64],
        first: int,
        room: NDArray[uint8],
    ) -> tuple[int, int]: ...
