from collections.abc import Sequence
from typing import Any

from numpy import int64, uint8
from numpy.typing import NDArray

#: A column with a number per row. Zero, the default value, is not written.
NUMBER: int
#: A list of numbers per row, packed. An empty list is not written.
PACKED: int
#: Fields that are encoded already, as bytes per row.
ENCODED: int

def varint(value: int) -> bytes: ...
def encode_messages(
    number: int, count: int, fields: Sequence[tuple[int, int, NDArray[Any], NDArray[int64] | None]]
) -> tuple[NDArray[uint8], NDArray[int64]]: ...
