from typing import Any

from numpy import int64, signedinteger, uint8
from numpy.typing import NDArray

def scan(
    data: bytes | bytearray | memoryview | NDArray[uint8],
    start: int,
    final: bool,
    heading: Any,
    rows: NDArray[int64],
) -> tuple[int, int, bool]: ...
def numbers(
    data: bytes | bytearray | memoryview | NDArray[uint8],
    starts: NDArray[signedinteger[Any]],
    sizes: NDArray[signedinteger[Any]],
    key: bytes,
    base: int,
    out: NDArray[int64],
    *,
    before: bool = False,
) -> None: ...
def words(
    data: bytes | bytearray | memoryview | NDArray[uint8],
    starts: NDArray[signedinteger[Any]],
    sizes: NDArray[signedinteger[Any]],
    key: bytes,
    until: bytes,
    found_starts: NDArray[int64],
    found_sizes: NDArray[int64],
) -> None: ...
def copy_spans(
    data: bytes | bytearray | memoryview | NDArray[uint8],
    starts: NDArray[signedinteger[Any]],
    sizes: NDArray[signedinteger[Any]],
    offsets: NDArray[int64],
    out: NDArray[uint8],
) -> None: ...
