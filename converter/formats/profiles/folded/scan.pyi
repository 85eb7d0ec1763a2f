from numpy import float64, int32, int64, uint8
from numpy.typing import NDArray

from converter.kernels.io.output import Block
from converter.kernels.tables.strings import StringTable

LINE_BLANK: int
LINE_STACK: int
LINE_COMMENT: int
LINE_OTHER: int
HAS_TWO: int
HAS_FRACTION: int

def count_lines(data: memoryview | bytes | NDArray[uint8]) -> tuple[int, int]: ...

class Lines:
    kind: NDArray[uint8]
    counts: NDArray[uint8]
    start: NDArray[int64]
    size: NDArray[int64]
    weight: NDArray[int64]
    before: NDArray[int64]
    weight_value: NDArray[float64]
    before_value: NDArray[float64]
    offsets: NDArray[int64]
    name_start: NDArray[int64]
    name_size: NDArray[int64]
    def __init__(self, data: memoryview | bytes | NDArray[uint8]) -> None: ...

class LinePrinter:
    def __init__(self, strings: StringTable) -> None: ...
    def lines(
        self,
        offsets: NDArray[int64],
        names: NDArray[int32],
        counts: memoryview | bytes | NDArray[uint8],
        weight: NDArray[int64],
        before: NDArray[int64],
        weight_value: NDArray[float64],
        before_value: NDArray[float64],
    ) -> Block: ...
