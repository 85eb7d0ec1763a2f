from collections.abc import Sequence

from numpy import uint8
from numpy.typing import NDArray

class BoundColumns:
    def __init__(self, count: int) -> None: ...

class HeldBuffers:
    def __init__(self, buffers: Sequence[memoryview | bytes | NDArray[uint8]]) -> None: ...
    def __len__(self) -> int: ...
