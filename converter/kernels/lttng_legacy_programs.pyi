from collections.abc import Sequence

from numpy import int32, int64, uint8
from numpy.typing import NDArray

INTEGER: int
STRING: int
RAW: int
INLINE: int
LOST: int
RECORD_ID: int

class MarkerProgram:
    """How to make the payloads of a marker.

    Operations are (code, bytes, alignment, always big-endian): INTEGER; STRING, with its NUL; RAW bytes; INLINE bits of
    a compact header; LOST, twice, the counts of the next block's header; RECORD_ID, in place of `id`. With `context` a
    pid and a tid stand at the end, with `sized` the header always says the payload's size.
    """

    id: int

    def __init__(
        self, id: int, operations: NDArray[int32], largest: int, context: bool, sized: bool
    ) -> None: ...

class MarkerColumns:
    """A program and its columns in a batch, one an operation: integers, ids of strings, or (offsets, values)."""

    def __init__(
        self,
        program: MarkerProgram,
        columns: Sequence[NDArray[int32] | tuple[NDArray[int64], NDArray[uint8]]],
        length: int,
    ) -> None: ...
