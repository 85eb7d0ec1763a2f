from collections.abc import Sequence
from typing import TypeAlias

from numpy import bool_, int32, int64, uint8, uint64
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable

#: A row of parsed markers: phase uint8 (an ASCII letter, 0 for other text), tgid int64 (-1 for none), name int32,
#: track int32 (ids, 0 for none), value int64 (of a counter, or a cookie), further uint8 (1 if viewers ignore a rest).
Markers: TypeAlias = tuple[
    NDArray[uint8], NDArray[int64], NDArray[int32], NDArray[int32], NDArray[int64], NDArray[uint8]
]
#: A literal; a number a row, in decimal; or strings (ids, or offsets and characters) with the bytes that are replaced
#: by "_" in them.
Part: TypeAlias = (
    bytes
    | NDArray[int64]
    | NDArray[uint64]
    | tuple[NDArray[int32] | tuple[NDArray[int64], NDArray[uint8]], bytes]
)

class Columns:
    def __init__(self, count: int) -> None: ...

def parse_marker_ids(strings: StringTable, ids: NDArray[int32]) -> Markers: ...
def parse_marker_texts(
    strings: StringTable, values: memoryview | bytes | NDArray[uint8], offsets: NDArray[int64]
) -> Markers: ...
def plain_marker_ids(strings: StringTable, ids: NDArray[int32]) -> NDArray[bool_]: ...
def plain_marker_texts(
    values: memoryview | bytes | NDArray[uint8], offsets: NDArray[int64]
) -> NDArray[bool_]: ...
def join_texts(
    count: int, parts: Sequence[Part], strings: StringTable
) -> tuple[NDArray[int64], NDArray[uint8], int]: ...
