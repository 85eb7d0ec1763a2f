from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable

def generic_signatures(
    data: memoryview | bytes | NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    signatures: StringTable,
    ids: NDArray[int32],
) -> None: ...
def generic_values(
    data: memoryview | bytes | NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    index: int,
    values: NDArray[int64],
) -> None: ...
