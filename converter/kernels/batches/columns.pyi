from collections.abc import Sequence

from numpy import uint8
from numpy.typing import NDArray

class BoundColumns:
    """The columns that the program of a class takes in one batch, kept alive; other kernels use it.

    What `bind` is given for an operation: an array of its width; for texts an array of int32 ids, or (uint8 values,
    int64 offsets); for bytes (values, offsets); for lists int64 offsets; for what may be missing an array of a byte
    each; for unions (int16 types, int32 rows). It raises ValueError for any other, and for fewer than `rows` rows.
    """

class HeldBuffers:
    """Some contiguous buffers, kept alive."""

    def __init__(self, buffers: Sequence[memoryview | bytes | NDArray[uint8]]) -> None: ...
    def __len__(self) -> int: ...
