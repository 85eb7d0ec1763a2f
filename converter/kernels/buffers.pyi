from collections.abc import Sequence

from numpy import uint8
from numpy.typing import NDArray

class HeldColumn:
    """A column: elements of one width; other kernels use it."""

class HeldList:
    """A column of lists; other kernels use it."""

class HeldBuffers:
    """Some contiguous buffers, kept alive."""

    def __init__(self, buffers: Sequence[memoryview | bytes | NDArray[uint8]]) -> None: ...
    def __len__(self) -> int: ...
