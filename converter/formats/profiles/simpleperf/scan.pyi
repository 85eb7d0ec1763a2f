from numpy import int64, uint8
from numpy.typing import NDArray

#: Columns of `scan_records`: the offset of a record and its size, with its size field, its kind, the offset and the
#: size of its content.
AT: int
SIZE: int
KIND: int
CONTENT: int
CONTENT_SIZE: int

def scan_records(
    data: memoryview | bytes | NDArray[uint8], start: int, most: int
) -> tuple[NDArray[int64], int, bool]: ...
def with_sizes(
    data: memoryview | bytes | NDArray[uint8], starts: NDArray[int64], sizes: NDArray[int64]
) -> NDArray[uint8]: ...
