from collections.abc import Sequence
from typing import Any

from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

#: The number of field numbers, from 0 on, for which `decode_messages` counts fields.
COUNTED: int
#: Ways to read a field. VARINT keeps as many low bytes as the column has; SPAN stores (start, size) in two int64.
VARINT: int
ZIGZAG: int
BOOLEAN: int
FIXED64: int
FIXED32: int
SPAN: int

class ListValues: ...

def decode_messages(
    data: memoryview | bytes | NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    fields: tuple[Sequence[int], Sequence[int], Sequence[NDArray[Any]]],
    skipped: Sequence[int] = (),
    undeclared: NDArray[int64] | None = None,
    listed: int = 0,
    offsets: NDArray[int64] | None = None,
) -> tuple[int, NDArray[uint64]]: ...
def lacking(
    data: memoryview | bytes | NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    keys: NDArray[int32],
    wanted: NDArray[uint64],
) -> tuple[NDArray[int64], NDArray[int64], NDArray[int32], NDArray[uint64]]: ...
def decode_repeated(
    data: memoryview | bytes | NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    number: int,
    offsets: NDArray[int64],
) -> NDArray[uint64]: ...
def repeated_spans(
    data: memoryview | bytes | NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    number: int,
    offsets: NDArray[int64],
) -> NDArray[int64]: ...
def message_fields(
    data: memoryview | bytes | NDArray[uint8], start: int, size: int, most: int
) -> tuple[NDArray[int64], int]: ...
