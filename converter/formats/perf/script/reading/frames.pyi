from numpy import int32, int64, uint8, uint32, uint64
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable

class StackTexts:
    #: Of a frame: strings, the address as it is printed, the distance to the function (-1: none), the line.
    function: NDArray[int32]
    mapping: NDArray[int32]
    source: NDArray[int32]
    address: NDArray[uint64]
    offset: NDArray[int64]
    line: NDArray[uint32]
    #: Of a stack: where its frames begin in `frames`, and the string of the lines that are none, -1 for none.
    first: NDArray[int64]
    frames: NDArray[int32]
    rest: NDArray[int32]
    #: Some function of a stack has a distance.
    distant: NDArray[uint8]
    def __init__(self, strings: StringTable) -> None: ...
    def reserve(self, lines: int) -> None: ...
