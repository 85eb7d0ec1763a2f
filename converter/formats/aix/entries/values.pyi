from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import int64, uint32
from numpy.typing import NDArray

NUMBER: int
BOOLEAN: int
NULL_VALUE: int
STRING: int
BYTES: int
ARRAY: int
STRUCTURE: int
OPTIONAL: int
VARIANT: int

class Columns:
    #: Rows that read as zero or as nothing somewhere.
    damaged: int
    def __init__(
        self, nodes: Sequence[tuple[int, int, bool, int, int, int]], fields: int
    ) -> None: ...
    def decode(
        self, buffers: Sequence[Any], location: NDArray[int64], size: NDArray[uint32]
    ) -> None: ...
    def length(self, node: int) -> int: ...
    def main(self, node: int, dtype: np.dtype[Any]) -> NDArray[Any]: ...
    def values(self, node: int, dtype: np.dtype[Any]) -> NDArray[Any]: ...
