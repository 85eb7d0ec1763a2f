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
    """Decodes the rows of one class: nodes as `aix_emit.Emitter.add_program` takes them.

    Raises ValueError for nodes that form no tree.
    """

    #: Rows that read as zero or as nothing somewhere.
    damaged: int

    def __init__(
        self, nodes: Sequence[tuple[int, int, bool, int, int, int]], fields: int
    ) -> None: ...
    def decode(
        self, buffers: Sequence[Any], location: NDArray[int64], size: NDArray[uint32]
    ) -> None:
        """Decode the rows at these locations (``segment << 32 | offset`` in one of `buffers`). Releases the GIL.

        Raises ValueError where damage, or values that are absent, would fill memory.
        """
    def length(self, node: int) -> int:
        """Return the number of values of a node."""
    def main(self, node: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The values of numbers and booleans, flags of optionals, tags of variants; of lists the end of each."""
    def values(self, node: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The bytes of texts, the rows of variants."""
