from collections.abc import Sequence
from typing import TypeAlias

from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

from converter.kernels.strings import StringTable

#: A literal; a number a row, in decimal; or strings (ids, or offsets and characters) with the bytes that are replaced
#: by "_" in them.
Part: TypeAlias = (
    bytes
    | NDArray[int64]
    | NDArray[uint64]
    | tuple[NDArray[int32] | tuple[NDArray[int64], NDArray[uint8]], bytes]
)

def join_texts(
    count: int, parts: Sequence[Part], strings: StringTable
) -> tuple[NDArray[int64], NDArray[uint8], int]:
    """`count` texts, each all parts end to end: offsets, characters, and how many bytes were replaced.

    Columns are contiguous. Raises ValueError for one that has not a text for each row. Releases the GIL.
    """
