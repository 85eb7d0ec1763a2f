from numpy import int64, uint8
from numpy.typing import NDArray

class ValueScanner: ...

def end_of_value(
    data: memoryview | bytes | NDArray[uint8], at: int
) -> tuple[int, bytes] | None: ...
def slots_at(slots: NDArray[int64], at: NDArray[int64]) -> NDArray[int64]: ...
def copy_spans(
    text: memoryview | bytes | NDArray[uint8],
    starts: NDArray[int64],
    offsets: NDArray[int64],
    out: NDArray[uint8],
) -> None: ...
