from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable

def scatter(
    values: NDArray[uint64],
    first: NDArray[int64],
    class_id: NDArray[int32],
    row: NDArray[int32],
    bases: NDArray[int64],
    widths: NDArray[int32],
    out: NDArray[uint64],
) -> None: ...
def gather_texts(
    data: memoryview | bytes | NDArray[uint8], values: NDArray[uint64], strings: StringTable
) -> tuple[NDArray[uint8], NDArray[int64]]: ...
def gather_payloads(
    data: memoryview | bytes | NDArray[uint8], starts: NDArray[uint64], lengths: NDArray[uint64]
) -> tuple[NDArray[uint8], NDArray[int64]]: ...
def gather_arguments(
    data: memoryview | bytes | NDArray[uint8], places: NDArray[uint64], big_endian: bool
) -> tuple[NDArray[uint8], NDArray[int64]]: ...
